package dashboard

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/dashboard/view"
	"agentlink/node"
)

func (v *visit) thread() error { return v.showThread("", "") }

// showThread shows everything that was said over a connection, with what the
// owner typed and why it did not do.
func (v *visit) showThread(text, wrong string) error {
	list := coordination.Page{Limit: pageSize + 1}
	if err := v.before(&list.BeforeAt, &list.BeforeID); err != nil {
		return err
	}
	page := view.ThreadPage{ID: v.c.Params("connection"), Text: text}
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Messages", "/messages"); err != nil {
			return err
		}
		return v.readThread(tx, &page, list)
	})
	if err != nil {
		return err
	}
	if wrong != "" {
		page.Frame.Problem = wrong
	}
	return v.show(view.Thread(page))
}

func (v *visit) readThread(tx node.Tx, page *view.ThreadPage, list coordination.Page) error {
	c, err := v.d.Coordination.Connection(tx, "", page.ID)
	if err != nil {
		return err
	}
	names, err := v.d.agentNames(tx)
	if err != nil {
		return err
	}
	s := standingOf(c)
	page.Contact, page.Agent, page.ContactURL, page.Meaning, page.Word = c.Contact, names[c.AgentID], contactURL(c.ID), s.meaning, s.word
	page.Open = c.Status == coordination.ConnActive && !c.KeyChanged
	messages, err := v.d.Coordination.Thread(tx, c.ID, list)
	if err != nil {
		return err
	}
	messages, page.Older = cutMessages(threadURL(c.ID), url.Values{}, messages)
	if page.Items, err = v.threadItems(tx, c, page.Agent, messages); err != nil {
		return err
	}
	page.Earlier, err = v.earlier(tx, c, names, threadURL)
	return err
}

// threadItems shows messages, which come newest first, with the latest last.
func (v *visit) threadItems(tx node.Tx, c coordination.Connection, agent string, messages []coordination.Message) ([]view.ThreadItem, error) {
	titles := map[string]string{}
	items := make([]view.ThreadItem, 0, len(messages))
	for _, m := range slices.Backward(messages) {
		title, err := v.taskTitle(tx, titles, m.TaskUID)
		if err != nil {
			return nil, err
		}
		items = append(items, threadItem(m, c, agent, title))
	}
	return items, nil
}

// taskTitle reads the title of a task once; "" where there is no copy of it.
func (v *visit) taskTitle(tx node.Tx, titles map[string]string, uid string) (string, error) {
	if title, known := titles[uid]; known || uid == "" {
		return title, nil
	}
	task, err := v.d.Coordination.Task(tx, "", uid)
	titles[uid] = task.Copy.Title
	return titles[uid], ignoreNotFound(err)
}

func threadItem(m coordination.Message, c coordination.Connection, agent, title string) view.ThreadItem {
	item := view.ThreadItem{
		Ours: m.Direction == coordination.Out, From: writer(m, c, agent), ByOwner: m.Author == wire.AuthorOwner && m.Direction == coordination.In, At: m.CreatedAt,
	}
	if m.Type == wire.Message {
		item.Text = chatText(m)
	}
	if item.Text == "" {
		item.What, item.Quote = deed(m, title)
	}
	if item.Meaning, item.Word = arrival(m); item.Word != "" && m.Code != "" {
		item.Why = why(m.Code)
	}
	switch {
	case m.Status == coordination.MsgPendingApproval:
		item.URL, item.URLName = "/approvals/"+m.ApprovalID, "Decide"
	case m.TaskUID != "" && title != "":
		item.URL, item.URLName = taskURL(m.AgentID, m.TaskUID), "Task"
	}
	return item
}

// writer names who wrote a message.
func writer(m coordination.Message, c coordination.Connection, agent string) string {
	switch {
	case m.Direction == coordination.In:
		return c.Contact
	case m.Author == wire.AuthorOwner:
		return "You"
	}
	return agent
}

// deed says in words what a message that is no chat did, and what free text
// came with it.
func deed(m coordination.Message, title string) (what view.Sentence, quote string) {
	var content struct {
		Version  int            `json:"version"`
		Decision string         `json:"decision"`
		Reason   string         `json:"reason"`
		Note     string         `json:"note"`
		Code     string         `json:"code"`
		Title    string         `json:"title"`
		Proposal *wire.Proposal `json:"proposal"`
	}
	_ = json.Unmarshal(m.Content, &content)
	if title == "" {
		title = content.Title
	}
	version := "version " + strconv.Itoa(content.Version)
	switch m.Type {
	case wire.TaskCreate:
		what = view.Sentence{view.Plain("started "), view.Bold(title)}
		if content.Proposal != nil {
			what = append(what, view.Plain(" with a first proposal"))
		}
	case wire.TaskPropose:
		what = view.Sentence{view.Plain("proposed " + version + " of "), view.Bold(title)}
	case wire.TaskRespond:
		verb := map[string]string{wire.Accept: "accepted ", wire.Reject: "rejected "}[content.Decision]
		what = view.Sentence{view.Plain(verb + version + " of "), view.Bold(title)}
	case wire.TaskCancel:
		what = view.Sentence{view.Plain("cancelled "), view.Bold(title)}
	case wire.TaskConfirm:
		what = view.Sentence{view.Plain("confirmed "), view.Bold(title)}
		if content.Code != "" {
			what = append(what, view.Plain(" with the code "), view.Bold(content.Code))
		}
	default:
		what = view.Sentence{view.Plain(plainDeeds[m.Type])}
	}
	return what, content.Reason + content.Note
}

// plainDeeds are what messages without an object do.
var plainDeeds = map[wire.Type]string{
	wire.TaskVoid: "took back an earlier message", wire.ConnectionRequest: "asked to connect", wire.ConnectionAccept: "accepted the connection",
	wire.ConnectionReject: "rejected the connection", wire.ConnectionRevoke: "ended the connection", wire.KeyRotate: "announced a new key of the node",
	wire.KeyAnswer: "answered the new key of the other node", wire.Message: "sent something that cannot be read",
}

// unsentWords says what a message of ours would have said.
func unsentWords(m coordination.Message, c coordination.Connection, agent, title string) view.Sentence {
	said := held{Recipient: c.Contact, Type: m.Type, Content: m.Content}
	return append(view.Sentence{view.Bold(writer(m, c, agent)), view.Plain(" ")}, messageWords(said, title)...)
}

// sendText sends what the owner wrote, as the owner.
func (v *visit) sendText() error {
	id, text := v.c.Params("connection"), unixLines(v.c.FormValue("text"))
	err := v.write(func(tx node.Tx) error {
		c, err := v.d.Coordination.Connection(tx, "", id)
		if err == nil {
			_, err = v.d.Coordination.SendMessage(tx, v.actor(c.AgentID), id, text)
		}
		return err
	})
	if err != nil {
		if problem, ok := v.correctable(err); ok {
			return v.showThread(text, problem)
		}
		return err
	}
	return v.goTo(threadURL(id) + "?done=sent#latest")
}
