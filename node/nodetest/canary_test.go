package nodetest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/backup"
	"agentlink/node/nodetest"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// canary is a text that is found nowhere but where people and agents read it.
type canary struct {
	kind, text string
	home       *nodetest.Node // the node that has it in the clear: the handle of an agent of its own
	// named: the audit log says so by its purpose: who it was, and what a rule became.
	named bool
}

// aviary is two nodes and what was said to them.
type aviary struct {
	t           *testing.T
	ada, ben    *cage
	scout, juno *nodetest.Agent
	toJuno      socket.Connection
	toScout     socket.Connection
	all         []canary
	uid         string // of the task that is booked
}

// cage is a node and everything that it has logged.
type cage struct {
	*nodetest.Node
	name, url string
	log       *lines
}

type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) content() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.text.Bytes())
}

// canary makes one for a kind of field.
func (v *aviary) canary(kind string) string {
	text := fmt.Sprintf("canary-%02d-zq7x", len(v.all))
	v.all = append(v.all, canary{kind: kind, text: text})
	return text
}

// named makes one that the audit log names.
func (v *aviary) named(kind string) string {
	text := v.canary(kind)
	v.all[len(v.all)-1].named = true
	return text
}

// secret adds one that the node has made.
func (v *aviary) secret(kind, text string) {
	v.t.Helper()
	if len(text) < 8 {
		v.t.Fatalf("%s is no secret: %q", kind, text)
	}
	v.all = append(v.all, canary{kind: kind, text: text})
}

// TestCanaries (G7): texts of every kind that people and agents write, and every
// secret that a node gives out, go through two nodes; none is found in the database,
// in a backup beneath its encryption, in the log at its most talkative, or in the
// audit log as it is shown and exported.
func TestCanaries(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		v := &aviary{t: t}
		v.ada, v.ben = v.cage("ada", fresh(t).URL), v.cage("ben", fresh(t).URL)
		v.agents()
		v.messages()
		v.tasks()
		v.actions()
		v.rules()
		v.secrets()
		kinds := map[string]bool{}
		for _, c := range v.all {
			kinds[c.kind] = true
		}
		t.Logf("%d canaries of %d kinds", len(v.all), len(kinds))
		if len(v.all) < 50 || len(kinds) < 40 {
			t.Errorf("only %d canaries of %d kinds", len(v.all), len(kinds))
		}
		v.areRead()
		for _, c := range []*cage{v.ada, v.ben} {
			v.search(c)
		}
	})
}

func (v *aviary) cage(name, url string) *cage {
	c := &cage{name: name, url: url, log: &lines{}}
	c.Node = nodetest.Start(v.t, nodetest.Options{DatabaseURL: url, Owner: v.canary("name of an owner"), Log: c.log})
	return c
}

// agents makes the agents and their contact.
func (v *aviary) agents() {
	handles := [2]string{v.named("handle of an agent"), v.named("handle of an agent")}
	v.scout, v.juno = v.ada.CreateAgent(handles[0], policy.Assisted), v.ben.CreateAgent(handles[1], policy.Assisted)
	v.all[len(v.all)-2].home, v.all[len(v.all)-1].home = v.ada.Node, v.ben.Node
	nodetest.Owner[socket.Agent](v.ada.Node, socket.AgentCreate, socket.CreateAgent{Handle: "spare", Name: v.canary("name of an agent")})
	nodetest.Owner[socket.Sent](v.ada.Node, socket.ConnectionRequest, socket.RequestConnection{
		Agent: v.scout.ID, Address: v.juno.Address, Note: v.canary("note of a request to connect"),
	})
	incoming := v.ben.ConnectionWith(v.scout.Address, "pending_incoming")
	v.toScout = nodetest.Owner[socket.Connection](v.ben.Node, socket.ConnectionAccept, socket.ByID{ID: incoming.ID})
	v.toJuno = v.ada.ConnectionWith(v.juno.Address, "active")
	other := v.ben.CreateAgent(v.named("handle of another agent"), policy.Assisted)
	v.all[len(v.all)-1].home = v.ben.Node
	v.scout.Post("/v1/agent/connections", map[string]any{"address": other.Address, "note": v.canary("note of a held request")}).Want(http.StatusAccepted)
}

// messages sends by each way that a message has.
func (v *aviary) messages() {
	for range 5 {
		v.scout.Post("/v1/agent/messages", map[string]any{"connectionId": v.toJuno.ID, "text": v.canary("message of an agent")}).Want(http.StatusCreated)
	}
	nodetest.Owner[socket.Sent](v.ada.Node, socket.MessageSend, socket.SendMessage{Connection: v.toJuno.ID, Text: v.canary("message of an owner")})
	v.scout.Do("POST", "/v1/agent/messages", map[string]any{"connectionId": v.toJuno.ID, "text": v.canary("message with a key")},
		map[string]string{"Idempotency-Key": v.canary("Idempotency-Key")}).Want(http.StatusCreated)
	v.ben.Grant(v.juno, "", "message.send", policy.Ask)
	for _, approve := range []bool{true, false} {
		v.juno.Post("/v1/agent/messages", map[string]any{"connectionId": v.toScout.ID, "text": v.canary("held message")}).Want(http.StatusAccepted)
		waits := v.ben.Pending()
		nodetest.Owner[socket.Effect](v.ben.Node, socket.ApprovalDecide, socket.DecideApproval{
			ID: waits.ID, Hash: waits.Hash, Approve: approve, Note: v.canary("note of a decision"),
		})
	}
	v.scout.Do("POST", "/v1/agent/messages?"+url.Values{"q": {v.canary("query that nobody knows")}}.Encode(), map[string]any{"connectionId": v.toJuno.ID, "text": "x"}, nil).Want(http.StatusBadRequest)
	v.scout.Post("/v1/agent/messages", map[string]any{"connectionId": v.toJuno.ID, v.canary("member that nobody knows"): "x"}).Want(http.StatusBadRequest)
	v.scout.Get("/v1/agent/tasks/" + v.canary("id that is none")).Want(http.StatusNotFound)
}

// tasks settles one, rejects and cancels another.
func (v *aviary) tasks() {
	for _, n := range []*nodetest.Agent{v.scout, v.juno} {
		for _, capability := range []string{"disclose.availability", "disclose.preferences", "disclose.dietary", "disclose.notes", "disclose.budget"} {
			map[*nodetest.Agent]*cage{v.scout: v.ada, v.juno: v.ben}[n].Grant(n, "", capability, policy.Allow)
		}
	}
	fields := func() map[string]any {
		return map[string]any{
			"date": "2031-05-09", "time": "20:00", "timezone": "Europe/Rome", "partySize": 2, "cuisine": v.canary("cuisine"), "notes": v.canary("notes of a plan"),
			"venue":        map[string]any{"name": v.canary("name of a venue"), "area": v.canary("area of a venue")},
			"dietaryNotes": []string{v.canary("dietary note"), v.canary("dietary note")},
		}
	}
	start := func() (uid string) {
		uid = v.scout.Post("/v1/agent/tasks", map[string]any{
			"connectionId": v.toJuno.ID, "type": "dinner.coordination", "title": v.canary("title of a task"), "proposal": fields(),
		}).Want(http.StatusCreated).Text("taskUid")
		nodetest.Eventually(v.t, "the task arrives", func() bool { return v.juno.Get("/v1/agent/tasks/"+uid).Status == http.StatusOK })
		return uid
	}
	other := start()
	v.juno.Post("/v1/agent/tasks/"+other+"/responses", map[string]any{"version": 1, "decision": "reject", "reason": v.canary("reason of a rejection")}).Want(http.StatusCreated)
	v.juno.Post("/v1/agent/tasks/"+other+"/proposals", map[string]any{"fields": fields()}).Want(http.StatusCreated)
	v.juno.Post("/v1/agent/tasks/"+other+"/cancel", map[string]any{"reason": v.canary("reason of a cancel")}).Want(http.StatusCreated)
	v.uid = start()
	v.juno.Post("/v1/agent/tasks/"+v.uid+"/responses", map[string]any{"version": 1, "decision": "accept", "reason": v.canary("reason of an acceptance")}).Want(http.StatusCreated)
	nodetest.Eventually(v.t, "it is agreed", func() bool { return v.scout.Get("/v1/agent/tasks/"+v.uid).Text("status") == "agreed" })
}

// actions books, holds a time, and asks for what is rejected.
func (v *aviary) actions() {
	for _, action := range []map[string]any{
		{"action": "reservation.book", "parameters": map[string]any{"venue": v.canary("venue of a booking"), "date": "2031-05-09", "time": "20:00", "partySize": 2, "taskUid": v.uid, "notes": v.canary("notes of a booking")}},
		{"action": "calendar.hold", "parameters": map[string]any{"title": v.canary("title of a hold"), "date": "2031-05-09", "time": "20:00", "durationMinutes": 60}},
	} {
		v.scout.Post("/v1/agent/actions", action).Want(http.StatusForbidden)
		id := v.scout.Post("/v1/agent/approvals", action).Want(http.StatusCreated).Text("approvalId")
		waits := nodetest.Owner[socket.Approval](v.ada.Node, socket.ApprovalShow, socket.ByID{ID: id})
		nodetest.Owner[socket.Effect](v.ada.Node, socket.ApprovalDecide, socket.DecideApproval{
			ID: id, Hash: waits.Hash, Approve: true, Override: true, Note: v.canary("note of an approval"),
		})
		ran := v.scout.Post("/v1/agent/actions", map[string]any{"approvalId": id}).Want(http.StatusCreated)
		v.secret("confirmation code", ran.Text("result.code"))
		v.secret("receipt", ran.Text("receipt"))
		v.secret("salt", ran.Text("salt"))
	}
}

// rules are what the owner sets.
func (v *aviary) rules() {
	nodetest.Owner[socket.GrantChange](v.ada.Node, socket.GrantSet, socket.SetGrant{
		Agent: v.scout.ID, Contact: v.juno.Address, Capability: "disclose.preferences", Mode: policy.Allow,
		Constraints: &policy.Constraints{AllowedValues: map[string][]any{"cuisine": {v.named("value that a rule allows")}}},
	})
	nodetest.Owner[socket.Overlay](v.ada.Node, socket.OverlaySet, socket.SetOverlay{
		Source: "package overlay\n\n# " + v.canary("rules of the owner's own") + "\ndecision := \"keep\"\n",
	})
}

// secrets are what the nodes give out.
func (v *aviary) secrets() {
	browser := v.ada.Visitor()
	browser.UserAgent = v.canary("browser")
	link := v.ada.SignInLink()
	browser.Open(link)
	v.secret("link that signs in", link[strings.LastIndex(link, "/")+1:])
	for _, cookie := range browser.Cookies() {
		v.secret("cookie", cookie.Value)
	}
	export := browser.Post("/activity/export", url.Values{"csrf": {browser.Get("/settings").Field("csrf")}}).Want(http.StatusOK)
	v.logWithout("the export of ada's log", []byte(export.Body))
	v.secret("password", nodetest.Password)
	v.secret("key of an agent", v.scout.Key)
	v.secret("access token", v.scout.Token())
	invitation := nodetest.Owner[socket.Invitation](v.ada.Node, socket.ConnectionInvite, socket.AgentRef{Agent: v.scout.ID}).Link
	v.secret("invitation", invitation[strings.LastIndexAny(invitation, "/#=")+1:])
	program := v.ada.RegisterClient(v.named("name of a program"), "http://localhost:1/"+v.canary("address of a program"))
	code := program.Approve(browser, nil, v.scout).Query().Get("code")
	v.secret("code of a program", code)
	tokens := program.Redeem(code).Want(http.StatusOK)
	v.secret("token of a program", tokens.Text("access_token"))
	v.secret("token that renews", tokens.Text("refresh_token"))
}

// areRead: the canaries are alive where they belong; else their absence says nothing.
func (v *aviary) areRead() {
	v.t.Helper()
	nodetest.Eventually(v.t, "the messages arrive", func() bool {
		return bytes.Contains(v.juno.Get("/v1/agent/messages").Body, []byte("canary-")) && v.juno.Get("/v1/agent/tasks/"+v.uid).Text("status") == "confirmed"
	})
	read := slices.Concat(v.scout.Get("/v1/agent/tasks/"+v.uid).Body, v.juno.Get("/v1/agent/tasks/"+v.uid).Body, v.juno.Get("/v1/agent/messages?limit=50").Body)
	alive := 0
	for _, c := range v.all {
		if bytes.Contains(read, []byte(c.text)) {
			alive++
		}
	}
	if alive < 15 {
		v.t.Errorf("only %d canaries are read by agents", alive)
	}
}

// search looks everywhere where a node leaves something.
func (v *aviary) search(c *cage) {
	v.t.Helper()
	content := c.Backup()
	v.without(c.name+"'s backup", c, content)
	var values cells
	if _, err := backup.Read(bytes.NewReader(content), &values); err != nil || len(values.all) < 10<<10 {
		v.t.Fatalf("%d bytes in %s's backup: %v", len(values.all), c.name, err)
	}
	v.without("what "+c.name+"'s backup holds", c, values.all)
	events, err := json.Marshal(nodetest.Owner[[]socket.Event](c.Node, socket.AuditTail, socket.Tail{After: new(int64), Types: audit.Types, Limit: 100}))
	if err != nil {
		v.t.Fatal(err)
	}
	v.logWithout(c.name+"'s audit log", events)
	v.without(c.name+"'s database", c, rob(v.t, c.Node, c.url).dump())
	v.files(c) // with what the database has not put in its place yet
	c.Stop()
	v.files(c)
	if log := c.log.content(); len(log) < 500 {
		v.t.Errorf("%s logs only %d bytes", c.name, len(log))
	} else {
		v.without(c.name+"'s log", c, log)
	}
}

func (v *aviary) files(c *cage) {
	v.t.Helper()
	err := filepath.WalkDir(c.DataDir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		v.without(path, c, content)
		return err
	})
	if err != nil {
		v.t.Fatal(err)
	}
}

// without wants none of the canaries in a content: as it is, or in base64.
func (v *aviary) without(what string, c *cage, content []byte) {
	v.t.Helper()
	v.lacks(what, content, func(bird canary) bool { return bird.home == c.Node })
}

// logWithout is without for the audit log as its owner has it.
func (v *aviary) logWithout(what string, content []byte) {
	v.t.Helper()
	v.lacks(what, content, func(bird canary) bool { return bird.named })
}

func (v *aviary) lacks(what string, content []byte, may func(canary) bool) {
	v.t.Helper()
	for _, bird := range v.all {
		if may(bird) {
			continue
		}
		for _, form := range formsOf(bird.text) {
			if at := bytes.Index(content, []byte(form)); at >= 0 {
				v.t.Errorf("%s holds %s (%s): …%q…", what, bird.text, bird.kind, content[max(0, at-60):min(len(content), at+len(form)+20)])
			}
		}
	}
}

// formsOf are a text as it is and as it looks in base64, wherever it begins there.
func formsOf(text string) []string {
	forms := []string{text}
	for skip := range 3 {
		whole := text[skip:]
		forms = append(forms, base64.RawURLEncoding.EncodeToString([]byte(whole[:len(whole)/3*3])))
	}
	return forms
}

// cells collects the values that an archive holds.
type cells struct {
	backup.Nowhere
	all []byte
}

// Row implements backup.Target.
func (b *cells) Row(row []any) error {
	for _, value := range row {
		switch value := value.(type) {
		case []byte:
			b.all = append(b.all, value...)
		case string:
			b.all = append(b.all, value...)
		}
		b.all = append(b.all, '\n')
	}
	return nil
}
