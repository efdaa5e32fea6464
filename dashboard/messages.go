package dashboard

import (
	"encoding/json"
	"net/url"

	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
)

func (d *Dashboard) messageRoutes() []route {
	return []route{
		get("/messages", (*visit).messages), get("/messages/:connection", (*visit).thread), post("/messages/:connection", (*visit).sendText),
	}
}

// messages lists threads by contact, or with ?status= the messages of ours that
// are held, failed or rejected.
func (v *visit) messages() error {
	list := coordination.Page{Limit: pageSize + 1}
	if err := v.before(&list.BeforeAt, &list.BeforeID); err != nil {
		return err
	}
	page := view.MessagesPage{Status: v.c.Query("status")}
	read := v.readThreads
	switch coordination.MessageStatus(page.Status) {
	case "":
	case coordination.MsgPendingApproval, coordination.MsgFailed, coordination.MsgRejected:
		read = v.readUnsent
	default:
		return node.BadFields(node.Field{Field: "status", Problem: "must be pending_approval, failed or rejected"})
	}
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Messages", "/messages"); err != nil {
			return err
		}
		return read(tx, &page, list)
	})
	if err != nil {
		return err
	}
	return v.show(view.Messages(page))
}

func (v *visit) readThreads(tx node.Tx, page *view.MessagesPage, list coordination.Page) error {
	names, err := v.d.agentNames(tx)
	if err != nil {
		return err
	}
	latest, err := v.d.Coordination.LatestChat(tx, list)
	latest, page.Older = cutMessages("/messages", url.Values{}, latest)
	for _, m := range latest {
		c, err := v.d.Coordination.Connection(tx, "", m.ConnectionID)
		if err != nil {
			return err
		}
		row := view.ThreadRow{
			URL: threadURL(c.ID) + "#latest", Contact: c.Contact, Agent: names[c.AgentID], From: writer(m, c, names[c.AgentID]), Text: chatText(m), At: m.CreatedAt,
		}
		if m.Status != coordination.MsgDelivered && m.Status != coordination.MsgReceived {
			row.Meaning, row.Word = arrival(m)
		}
		page.Threads = append(page.Threads, row)
	}
	return err
}

func (v *visit) readUnsent(tx node.Tx, page *view.MessagesPage, list coordination.Page) error {
	names, err := v.d.agentNames(tx)
	if err != nil {
		return err
	}
	titles, query := map[string]string{}, url.Values{"status": {page.Status}}
	unsent, err := v.d.Coordination.Unsent(tx, coordination.MessageStatus(page.Status), list)
	unsent, page.Older = cutMessages("/messages", query, unsent)
	for _, m := range unsent {
		c, err := v.d.Coordination.Connection(tx, "", m.ConnectionID)
		if err != nil {
			return err
		}
		title, err := v.taskTitle(tx, titles, m.TaskUID)
		if err != nil {
			return err
		}
		row := view.UnsentRow{URL: threadURL(c.ID), What: unsentWords(m, c, names[c.AgentID], title), Why: why(m.Code), At: m.CreatedAt}
		if m.Status == coordination.MsgPendingApproval {
			row.URL, row.Why = "/approvals/"+m.ApprovalID, "your decision is needed"
		}
		page.Unsent = append(page.Unsent, row)
	}
	return err
}

// cutMessages keeps what a page shows of a list that was read with one entry
// more, and gives the address of the next page.
func cutMessages(path string, query url.Values, list []coordination.Message) (shown []coordination.Message, older string) {
	if len(list) <= pageSize {
		return list, ""
	}
	last := list[pageSize-1]
	return list[:pageSize], olderURL(path, query, last.CreatedAt, last.ID)
}

// chatText is what a chat message says.
func chatText(m coordination.Message) string {
	var content struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &content)
	return content.Text
}

// arrival says whether a message of ours has arrived, or that we rejected theirs.
func arrival(m coordination.Message) (view.Meaning, string) {
	switch m.Status {
	case coordination.MsgPendingApproval:
		return view.Waits, "Waits for you"
	case coordination.MsgQueued:
		return view.Neutral, "On its way"
	case coordination.MsgDelivered:
		return view.OK, "Delivered"
	case coordination.MsgFailed:
		return view.No, "Failed"
	case coordination.MsgRejected:
		if m.Code == string(node.ReasonApprovalExpired) { // nobody said no
			return view.Ended, "Expired"
		}
		return view.No, "Rejected"
	}
	return view.Neutral, ""
}

func threadURL(connectionID string) string { return "/messages/" + connectionID }
