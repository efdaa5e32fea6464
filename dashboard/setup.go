package dashboard

import (
	"github.com/a-h/templ"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/owner"
)

// setUpRoutes are the steps of the set-up. Each can be left and come back to:
// /setup leads to the first that is not done.
func (d *Dashboard) setUpRoutes() []route {
	return []route{
		get("/setup", (*visit).setUp).with(settingUp), post("/setup", (*visit).firstWayIn).with(settingUp),
		get("/setup/codes", (*visit).setUpCodes), post("/setup/codes", (*visit).makeFirstCodes).with(fresh),
		get("/setup/agent", (*visit).setUpAgent),
		get(owner.SetUpPath+":secret", (*visit).setUpLink).with(anybody), post(owner.SetUpPath+":secret", (*visit).beginSetUp).with(anybody),
	}
}

// setUpLink is where the printed link leads.
func (v *visit) setUpLink() error {
	page, err := v.nameForm("")
	if err != nil {
		return v.again(err, noSetUp)
	}
	return v.show(page)
}

func (v *visit) nameForm(refused string) (templ.Component, error) {
	p := view.SetUpPage{Problem: refused, Action: v.c.Path()}
	err := v.read(func(tx node.Tx) error {
		if _, err := v.d.Entry.Link(tx, owner.LinkSetUp, v.c.Params("secret")); err != nil {
			return err
		}
		state, err := v.d.Entry.SetUp(tx)
		p.Name = state.Owner.Name
		return err
	})
	return view.SetUpName(p), err
}

func noSetUp(refused string) (templ.Component, error) {
	return view.SetUpName(view.SetUpPage{Problem: refused}), nil
}

func (v *visit) beginSetUp() error {
	cookie, _, err := v.d.Entry.BeginSetUp(v.ctx(), v.client(), v.c.Params("secret"), v.field("name"))
	switch {
	case err == nil:
		return v.enter(cookie, "/setup")
	case node.CodeOf(err) == node.BadRequest: // the name; the link is still good
		return v.again(err, v.nameForm)
	}
	return v.again(err, noSetUp)
}

// setUp leads to the step that comes next.
func (v *visit) setUp() error {
	if v.visitor.SettingUp {
		page, err := v.wayForm("")
		if err != nil {
			return err
		}
		return v.show(page)
	}
	next := "/"
	err := v.read(func(tx node.Tx) error {
		state, err := v.d.Entry.SetUp(tx)
		if err != nil {
			return err
		}
		agents, err := v.d.Policy.Agents(tx)
		switch {
		case !state.Codes:
			next = "/setup/codes"
		case len(agents) == 0:
			next = "/setup/agent"
		}
		return err
	})
	if err != nil {
		return err
	}
	return v.goTo(next)
}

func (v *visit) wayForm(refused string) (templ.Component, error) {
	p := view.SetUpPage{Problem: refused, CSRF: v.visitor.CSRF, PasskeyName: "This device"}
	if !v.site().Passkeys() {
		return view.SetUpWay(p), nil
	}
	raw, err := v.beginPasskey()
	p.Passkey = string(raw)
	return view.SetUpWay(p), err
}

func (v *visit) beginPasskey() (raw []byte, err error) {
	err = v.write(func(tx node.Tx) error {
		s, err := v.session(tx)
		if err != nil {
			return err
		}
		raw, err = v.d.Entry.BeginPasskey(tx, v.site(), s)
		return err
	})
	return raw, err
}

// firstWayIn takes a passkey or a password.
func (v *visit) firstWayIn() error {
	err := v.addWayIn()
	if err != nil {
		return v.again(err, v.wayForm)
	}
	return v.goTo("/setup")
}

func (v *visit) addWayIn() error {
	if v.field("answer") != "" {
		return v.addPasskey()
	}
	return v.setPassword()
}

func (v *visit) addPasskey() error {
	return v.write(func(tx node.Tx) error {
		s, err := v.session(tx)
		if err != nil {
			return err
		}
		_, err = v.d.Entry.AddPasskey(tx, v.site(), s, v.field("passkey"), []byte(v.field("answer")))
		return err
	})
}

func (v *visit) setPassword() error {
	password := v.field("password")
	if password != v.field("again") {
		return node.Errorf(node.BadRequest, "The two passwords are not the same. Type both again.")
	}
	var s owner.Session
	err := v.read(func(tx node.Tx) (err error) {
		s, err = v.session(tx)
		return err
	})
	if err != nil {
		return err
	}
	return v.d.Entry.SetPassword(v.ctx(), s, v.field("current"), password)
}

func (v *visit) setUpCodes() error {
	return v.show(view.SetUpCodes(view.SetUpPage{CSRF: v.visitor.CSRF}))
}

func (v *visit) makeFirstCodes() error { return v.makeCodes(false) }

// makeCodes shows them in the answer itself: they are kept nowhere to be shown on
// another page.
func (v *visit) makeCodes(settings bool) error {
	p := view.SetUpPage{Settings: settings}
	err := v.write(func(tx node.Tx) (err error) {
		p.Codes, err = v.d.Entry.MakeRecoveryCodes(tx, owner.Session{ID: v.visitor.SessionID})
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.Codes(p))
}

func (v *visit) setUpAgent() error {
	return v.show(view.SetUpAgent(view.SetUpPage{CSRF: v.visitor.CSRF, Host: v.d.Info.Host}))
}
