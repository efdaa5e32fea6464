package dashboard

import (
	"net/url"
	"time"

	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
)

func (d *Dashboard) contactRoutes() []route {
	return []route{
		get("/contacts", (*visit).contacts),
		get("/contacts/invite", (*visit).inviteForm), post("/contacts/invite", (*visit).invite),
		get("/contacts/connect", (*visit).connectForm), post("/contacts/connect", (*visit).connect),
		get("/contacts/:id", (*visit).contact), post("/contacts/:id", (*visit).answerContact),
		post("/contacts/:id/structured", (*visit).structured),
		get("/contacts/:id/key", (*visit).contactKey).with(fresh), post("/contacts/:id/key", (*visit).decideKey).with(fresh),
		get("/contacts/:id/revoke", (*visit).revokeForm), post("/contacts/:id/revoke", (*visit).revoke),
	}
}

// contacts lists contacts; who asks to connect stands first.
func (v *visit) contacts() error {
	list := coordination.Page{Limit: pageSize + 1}
	if err := v.before(&list.BeforeAt, &list.BeforeID); err != nil {
		return err
	}
	var page view.ContactsPage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Contacts", "/contacts"); err != nil {
			return err
		}
		names, err := v.d.agentNames(tx)
		if err != nil {
			return err
		}
		if list.BeforeID == "" {
			if page.Asking, err = v.asking(tx, names); err != nil {
				return err
			}
		}
		known, err := v.d.Coordination.Contacts(tx, list)
		known, page.Older = cutConnections("/contacts", known)
		for _, c := range known {
			if c.Status != coordination.PendingIncoming {
				page.Rows = append(page.Rows, contactRow(names, c))
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.Contacts(page))
}

// asking lists every request that waits for the owner, up to maxCounted.
func (v *visit) asking(tx node.Tx, names map[string]string) (rows []view.ContactRow, err error) {
	incoming, err := v.d.Coordination.Incoming(tx, coordination.Page{Limit: maxCounted})
	for _, c := range incoming {
		rows = append(rows, contactRow(names, c))
	}
	return rows, err
}

// cutConnections keeps what a page shows of a list that was read with one entry
// more, and gives the address of the next page.
func cutConnections(path string, list []coordination.Connection) (shown []coordination.Connection, older string) {
	if len(list) <= pageSize {
		return list, ""
	}
	last := list[pageSize-1]
	return list[:pageSize], olderURL(path, url.Values{}, last.CreatedAt, last.ID)
}

// standing is how a connection is shown by its status. means goes on after "we
// and they".
type standing struct {
	meaning          view.Meaning
	word, means, why string
}

var standings = map[coordination.ConnectionStatus]standing{
	coordination.PendingOwner:    {view.Waits, "Waits for you", "are not connected: your agent asks to ask them", "your agent wants to ask them, since"},
	coordination.PendingOutgoing: {view.Neutral, "Asked", "are not connected yet: their owner decides", "their owner decides, since"},
	coordination.PendingIncoming: {view.Waits, "Asks", "are not connected yet: you decide", "asked"},
	coordination.ConnActive:      {view.OK, "Connected", "are connected", "known since"},
	coordination.ConnRejected:    {view.Ended, "Rejected", "are not connected: the request was rejected", "rejected"},
	coordination.ConnRevoked:     {view.Ended, "Ended", "are no longer connected", "ended"},
}

func standingOf(c coordination.Connection) standing {
	s := standings[c.Status]
	switch {
	case c.Status != coordination.ConnActive:
	case c.KeyChanged:
		s.meaning, s.word, s.means = view.No, "Key changed", "were connected, until the key of their node changed"
	case c.Offer != nil:
		s.meaning, s.word = view.Waits, "New key"
	}
	return s
}

func contactRow(names map[string]string, c coordination.Connection) view.ContactRow {
	s := standingOf(c)
	return view.ContactRow{
		URL: contactURL(c.ID), Contact: c.Contact, Agent: names[c.AgentID], Meaning: s.meaning, Word: s.word, Why: s.why, At: sinceOf(c),
	}
}

// sinceOf is when a connection was first asked for, or when it ended.
func sinceOf(c coordination.Connection) time.Time {
	if c.Status.Ended() {
		return c.UpdatedAt
	}
	return c.CreatedAt
}

func contactURL(id string) string { return "/contacts/" + id }
