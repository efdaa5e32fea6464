package dashboard

import (
	"github.com/a-h/templ"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/owner"
)

func (v *visit) passkeyPage() error {
	page, err := v.passkeyForm("")
	if err != nil {
		return v.again(err, v.settingsProblem)
	}
	return v.show(page)
}

// settingsProblem says on a page of its own why a form cannot be shown.
func (v *visit) settingsProblem(refused string) (templ.Component, error) {
	return view.Failed(refused, "", false), nil
}

func (v *visit) passkeyForm(refused string) (templ.Component, error) {
	p := view.AddPasskeyPage{Name: "This device"}
	raw, err := v.beginPasskey()
	if err != nil {
		return nil, err
	}
	p.Passkey = string(raw)
	p.Frame, err = v.formFrame("Add a passkey")
	p.Frame.Problem = refused
	return view.AddPasskey(p), err
}

func (v *visit) passkeyAdd() error {
	if err := v.addPasskey(); err != nil {
		return v.again(err, v.passkeyForm)
	}
	return v.goTo("/settings?done=passkey")
}

func (v *visit) passkeyRemovePage() error {
	page, err := v.passkeyRemoveForm("")
	if err != nil {
		return err
	}
	return v.show(page)
}

func (v *visit) passkeyRemoveForm(refused string) (templ.Component, error) {
	var p view.FormPage
	err := v.read(func(tx node.Tx) (err error) {
		if p.Frame, err = v.frame(tx, "Remove a passkey", "/settings"); err != nil {
			return err
		}
		p.Frame.Problem = refused
		passkeys, err := v.d.Entry.Passkeys(tx)
		if err != nil {
			return err
		}
		for _, passkey := range passkeys {
			if passkey.ID == v.c.Params("id") {
				p.Passkey = v.passkeyRow(passkey)
				return nil
			}
		}
		return node.Errorf(node.NotFound, "There is no such passkey, or it is gone already.")
	})
	return view.RemovePasskey(p), err
}

func (v *visit) passkeyRemove() error {
	err := v.write(func(tx node.Tx) error {
		return v.d.Entry.RemovePasskey(tx, owner.Session{ID: v.visitor.SessionID}, v.c.Params("id"))
	})
	if err != nil {
		return v.again(err, v.passkeyRemoveForm)
	}
	return v.goTo("/settings?done=removed")
}

func (v *visit) passwordPage() error {
	page, err := v.passwordForm("")
	if err != nil {
		return err
	}
	return v.show(page)
}

func (v *visit) passwordForm(refused string) (templ.Component, error) {
	frame, err := v.formFrame("Password")
	if err != nil {
		return nil, err
	}
	frame.Problem = refused
	p := view.FormPage{Frame: frame}
	err = v.read(func(tx node.Tx) (err error) {
		p.Current, err = v.d.Entry.NeedsCurrentPassword(tx, owner.Session{ID: v.visitor.SessionID})
		return err
	})
	return view.ChangePassword(p), err
}

func (v *visit) passwordSet() error {
	if err := v.setPassword(); err != nil {
		return v.again(err, v.passwordForm)
	}
	return v.goTo("/settings?done=password")
}

func (v *visit) codesPage() error {
	var p view.FormPage
	err := v.read(func(tx node.Tx) (err error) {
		if p.Frame, err = v.frame(tx, "Recovery codes", "/settings"); err != nil {
			return err
		}
		codes, err := v.d.Entry.RecoveryCodes(tx)
		p.Left = codes.Left
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.MakeCodes(p))
}

func (v *visit) codesMake() error { return v.makeCodes(true) }

func (v *visit) endSession() error {
	id := v.c.Params("id")
	if id == v.visitor.SessionID {
		return v.signOut()
	}
	err := v.write(func(tx node.Tx) error { return v.d.Entry.EndSession(tx, v.actor(""), id) })
	if err != nil {
		return err
	}
	return v.goTo("/settings?done=ended")
}

func (v *visit) endOthers() error {
	err := v.write(func(tx node.Tx) error {
		_, err := v.d.Entry.EndOtherSessions(tx, v.actor(""), v.visitor.SessionID)
		return err
	})
	if err != nil {
		return err
	}
	return v.goTo("/settings?done=ended")
}
