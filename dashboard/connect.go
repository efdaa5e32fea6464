package dashboard

import (
	"strings"

	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/api/problem"
)

func (v *visit) connectForm() error {
	return v.showConnect(view.ConnectPage{Agent: v.c.Query("agent")})
}

// showConnect shows the form, with what was typed and why it did not do.
func (v *visit) showConnect(page view.ConnectPage) error {
	wrong := page.Frame.Problem
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Ask to connect", "/contacts"); err != nil {
			return err
		}
		page.Agents, err = v.d.choices(tx)
		return err
	})
	if err != nil {
		return err
	}
	page.Frame.Problem = wrong
	return v.show(view.Connect(page))
}

// connect asks to connect as the owner. The contact's node is looked up first,
// outside of any transaction.
func (v *visit) connect() error {
	page := view.ConnectPage{Agent: v.c.FormValue("agent"), To: v.c.FormValue("to"), FreeNote: v.c.FormValue("note")}
	id, err := v.askToConnect(page)
	if err != nil {
		problem, ok := v.correctable(err)
		if !ok {
			return err
		}
		page.Frame.Problem = problem
		return v.showConnect(page)
	}
	return v.goTo(contactURL(id) + "?done=requested")
}

func (v *visit) askToConnect(page view.ConnectPage) (id string, err error) {
	request := coordination.ConnectRequest{Note: unixLines(page.FreeNote)}
	if to := strings.TrimSpace(page.To); strings.Contains(to, "://") {
		request.Invitation = to
	} else {
		request.Address = strings.ToLower(to)
	}
	actor := v.actor(page.Agent)
	prepared, err := v.d.Coordination.PrepareConnect(v.ctx(), v.d.Directory, actor, request)
	if err != nil {
		return "", err
	}
	err = v.write(func(tx node.Tx) error {
		result, err := v.d.Coordination.Connect(tx, actor, prepared)
		if err != nil {
			return err
		}
		id, err = v.liveWith(tx, page.Agent, prepared.Contact.String(), result.ID)
		return err
	})
	return id, err
}

// liveWith finds the connection that a request came to. Where the contact had
// asked before, that request is accepted and ours is over.
func (v *visit) liveWith(tx node.Tx, agentID, contact, requested string) (string, error) {
	known, err := v.d.Coordination.ConnectionsWith(tx, agentID, contact)
	for _, c := range known {
		if !c.Status.Ended() {
			return c.ID, err
		}
	}
	return requested, err
}

// correctable says whether the owner can do something about an error in the form
// itself, and what to tell them. It sets the answer's status.
func (v *visit) correctable(err error) (text string, ok bool) {
	switch node.CodeOf(err) {
	case node.BadRequest, node.Conflict, node.TooLarge, node.RateLimited, node.Unavailable:
		shown := problem.Of(err, "")
		v.c.Status(problem.Status(shown.Code))
		return shown.Message, true
	}
	return "", false
}

// unixLines ends lines as everybody but a browser's form does.
func unixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
