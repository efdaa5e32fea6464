package dashboard

import (
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/api/problem"
	"agentlink/node/owner"
)

func (d *Dashboard) entryRoutes() []route {
	return []route{
		get("/login", (*visit).signInPage).with(anybody), post("/login", (*visit).signIn).with(anybody),
		get("/login/recovery", (*visit).recoveryPage).with(anybody), post("/login/recovery", (*visit).recover).with(anybody),
		get(owner.SignInPath+":secret", (*visit).linkPage).with(anybody), post(owner.SignInPath+":secret", (*visit).useLink).with(anybody),
		get("/confirm", (*visit).confirmPage), post("/confirm", (*visit).confirm),
		post("/logout", (*visit).signOut).with(settingUp),
	}
}

// site is the address under which the browser has come; Handler has looked
// that there is one.
func (v *visit) site() owner.Site {
	site, _ := v.d.Entry.Site(v.host())
	return site
}

// client is what the browser says of itself.
func (v *visit) client() owner.Client {
	return owner.Client{UserAgent: v.c.Get(fiber.HeaderUserAgent), IP: v.c.IP(), Cookie: v.cookie()}
}

// enter gives the browser its session and goes on.
func (v *visit) enter(cookie, next string) error {
	v.c.Append(fiber.HeaderSetCookie, v.site().Cookie(cookie).String())
	return v.goTo(next)
}

// next is where the owner wanted to go: a path of this dashboard and nothing else.
func (v *visit) next() string {
	next := v.c.Query("next")
	if v.c.Method() == fiber.MethodPost {
		next = v.field("next")
	}
	return localPath(next)
}

func localPath(text string) string {
	parsed, err := url.Parse(text)
	if err != nil || parsed.IsAbs() || parsed.Host != "" || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsRune(text, '\\') {
		return "/"
	}
	return parsed.RequestURI()
}

// again shows a form once more with what was refused, as what the owner can set
// right; anything else is the page's failure.
func (v *visit) again(err error, form func(problem string) (templ.Component, error)) error {
	refused, ok := node.AsError(err)
	if !ok || refused.Code == node.Internal || refused.Code == node.Unavailable {
		return err
	}
	page, formErr := form(refused.Message)
	if formErr != nil {
		return formErr
	}
	if after := problem.RetryAfter(err); after != "" {
		v.c.Set(fiber.HeaderRetryAfter, after)
	}
	v.c.Status(problem.Status(refused.Code))
	return v.show(page)
}

func (v *visit) signInPage() error {
	if v.identify() == nil {
		return v.goTo(v.next())
	}
	page, err := v.signInForm("")
	if err != nil {
		return err
	}
	return v.show(page)
}

func (v *visit) signInForm(refused string) (page templ.Component, err error) {
	p := view.SignInPage{Problem: refused, Next: v.next()}
	done := false
	err = v.read(func(tx node.Tx) error {
		state, err := v.d.Entry.SetUp(tx)
		if done = state.Done(); err != nil || !done {
			return err
		}
		if p.Password, err = v.d.Owner.HasPassword(tx); err != nil {
			return err
		}
		p.Passkey, err = options(v.d.Entry.BeginSignIn(tx, v.site()))
		return err
	})
	if !done {
		return view.NotSetUp(), err
	}
	return view.SignIn(p), err
}

// options are what a browser asks an authenticator for; "" where there is no
// passkey for this address, or none can be.
func options(raw []byte, err error) (string, error) {
	if code := node.CodeOf(err); err != nil && (code == node.NotFound || code == node.BadRequest) {
		return "", nil
	}
	return string(raw), err
}

// signIn takes a passkey's answer or a password.
func (v *visit) signIn() error {
	var cookie string
	var err error
	if answer := v.field("answer"); answer != "" {
		cookie, _, err = v.d.Entry.SignInByPasskey(v.ctx(), v.site(), v.client(), []byte(answer))
	} else {
		cookie, _, err = v.d.Entry.SignInByPassword(v.ctx(), v.client(), v.field("password"))
	}
	if err != nil {
		return v.again(err, v.signInForm)
	}
	return v.enter(cookie, v.next())
}

func (v *visit) recoveryPage() error {
	return v.show(view.Recovery(view.SignInPage{Next: v.next()}))
}

func (v *visit) recover() error {
	cookie, _, err := v.d.Entry.SignInByRecoveryCode(v.ctx(), v.client(), v.field("code"))
	if err != nil {
		return v.again(err, func(refused string) (templ.Component, error) {
			return view.Recovery(view.SignInPage{Problem: refused, Next: v.next()}), nil
		})
	}
	return v.enter(cookie, "/settings?done=recovered") // where the next way in is made
}

// linkPage shows a button: looking at a link uses nothing up.
func (v *visit) linkPage() error {
	err := v.read(func(tx node.Tx) error {
		_, err := v.d.Entry.Link(tx, owner.LinkSignIn, v.c.Params("secret"))
		return err
	})
	if err != nil {
		return v.again(err, linkForm)
	}
	return v.show(view.SignInLink(view.LinkPage{Action: v.c.Path()}))
}

func linkForm(refused string) (templ.Component, error) {
	return view.SignInLink(view.LinkPage{Problem: refused}), nil
}

func (v *visit) useLink() error {
	cookie, _, err := v.d.Entry.SignInByLink(v.ctx(), v.client(), v.c.Params("secret"))
	if err != nil {
		return v.again(err, linkForm)
	}
	return v.enter(cookie, "/")
}

func (v *visit) signOut() error {
	err := v.write(func(tx node.Tx) error { return v.d.Entry.EndSession(tx, v.actor(""), v.visitor.SessionID) })
	if err != nil && node.CodeOf(err) != node.NotFound { // it may have ended elsewhere meanwhile
		return err
	}
	return v.left()
}

// left takes the cookie away of a session that has ended, and what the browser has
// kept of its pages.
func (v *visit) left() error {
	v.c.Append(fiber.HeaderSetCookie, v.site().NoCookie().String())
	v.c.Set("Clear-Site-Data", `"cache", "storage"`)
	return v.goTo("/login")
}

func (v *visit) confirmPage() error {
	if v.visitor.Fresh {
		return v.goTo(v.next())
	}
	page, err := v.confirmForm("")
	if err != nil {
		return err
	}
	return v.show(page)
}

func (v *visit) confirmForm(refused string) (page templ.Component, err error) {
	p := view.SignInPage{Problem: refused, Next: v.next(), CSRF: v.visitor.CSRF}
	err = v.read(func(tx node.Tx) error {
		s, err := v.session(tx)
		if err != nil {
			return err
		}
		if p.Password, err = v.d.Owner.HasPassword(tx); err != nil {
			return err
		}
		p.Passkey, err = options(v.d.Entry.BeginConfirm(tx, v.site(), s))
		return err
	})
	return view.Confirm(p), err
}

// session is the visitor's session in full.
func (v *visit) session(tx node.Tx) (owner.Session, error) {
	return v.d.Entry.Still(tx, owner.Session{ID: v.visitor.SessionID})
}

func (v *visit) confirm() error {
	var s owner.Session
	err := v.read(func(tx node.Tx) (err error) {
		s, err = v.session(tx)
		return err
	})
	if err != nil {
		return err
	}
	if answer := v.field("answer"); answer != "" {
		err = v.d.Entry.ConfirmByPasskey(v.ctx(), v.site(), s, []byte(answer))
	} else {
		err = v.d.Entry.ConfirmByPassword(v.ctx(), s, v.field("password"))
	}
	if err != nil {
		return v.again(err, v.confirmForm)
	}
	return v.goTo(v.next())
}
