package dashboard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agentlink/coordination"
	"agentlink/dashboard"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// note appends rows to the log, each with its own subject.
func (b *bundle) note(count int, change func(i int, e *audit.Event)) {
	b.t.Helper()
	b.in(func(tx node.Tx) error {
		for i := range count {
			event := audit.Event{Type: audit.MessageReceived, Actor: node.Actor{Kind: node.ActorNode}, Subject: fmt.Sprintf("subject-%d.", i)}
			change(i, &event)
			if err := b.audit.Append(tx, event); err != nil {
				return err
			}
		}
		return nil
	})
}

// positions are those of the rows that a page lists, in order.
func (p page) positions() (all []string) {
	for part := range strings.SplitSeq(p.Body, `<a class="ask entry" href="/activity/`) {
		position, _, found := strings.Cut(part, `"`)
		if found && !strings.HasPrefix(part, "<!doctype") {
			all = append(all, position)
		}
	}
	return all
}

// head is the position of the last row.
func (b *bundle) head() (position int64) {
	b.t.Helper()
	b.in(func(tx node.Tx) error {
		head, err := b.store.AuditHead(tx)
		position = head.Position
		return err
	})
	return position
}

// TestActivityPages: newest first, 50 a page, each row once.
func TestActivityPages(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.note(120, func(int, *audit.Event) {})
	last := int(b.head())
	var all []string
	for path := "/activity"; path != ""; {
		p := b.get(path).want(http.StatusOK)
		all = append(all, p.positions()...)
		if path = ""; strings.Contains(p.Body, ">Older</a>") {
			path = p.link("Older")
		}
	}
	if len(all) != last || all[0] != fmt.Sprint(last) || all[last-1] != "1" {
		t.Fatalf("%d rows are listed of %d: %v", len(all), last, all)
	}
	for i := range all {
		if all[i] != fmt.Sprint(last-i) {
			t.Fatalf("row %s stands at place %d", all[i], i)
		}
	}
}

// TestActivityFilters: by type, agent, contact and task, alone and together.
func TestActivityFilters(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner", terms(nil))
	count := func(query string) int { return len(d.get("/activity?" + query).want(http.StatusOK).positions()) }
	for query, want := range map[string]func(audit.Row) bool{
		"type=task.proposed":     func(r audit.Row) bool { return r.Type == audit.TaskProposed },
		"type=policy.decided":    func(r audit.Row) bool { return r.Type == audit.PolicyDecided },
		"agent=" + d.scout.ID:    func(r audit.Row) bool { return r.AgentID == d.scout.ID },
		"task=" + d.uid:          func(r audit.Row) bool { return r.TaskUID == d.uid },
		"contact=" + d.ofJuno.ID: func(r audit.Row) bool { return r.ConnectionID == d.ofJuno.ID },
		"type=task.started&agent=" + d.juno.ID + "&task=" + d.uid + "&contact=" + d.ofJuno.ID: func(r audit.Row) bool {
			return r.Type == audit.TaskStarted && r.AgentID == d.juno.ID
		},
		"task=" + node.RandomIDs{}.New(): func(audit.Row) bool { return false },
	} {
		wanted := 0
		d.in(func(tx node.Tx) error {
			rows, err := d.store.AuditRows(tx, audit.Filter{Limit: 1000})
			for _, row := range rows {
				if want(row) {
					wanted++
				}
			}
			return err
		})
		if got := count(query); got != min(wanted, 50) {
			t.Errorf("%s lists %d rows, want %d", query, got, wanted)
		}
	}
	d.get("/activity?contact="+d.ofScout.ID).says("Decisions name a contact", "q=juno%40node.example")
	if n := count("type=policy.decided&agent=" + d.scout.ID + "&q=" + url.QueryEscape(address(d.juno))); n == 0 {
		t.Error("no decision names the contact")
	}
	for _, query := range []string{"type=gone", "agent=x", "contact=x", "task=x", "before=0", "before=x"} {
		d.get("/activity?" + query).want(http.StatusBadRequest)
	}
	d.get("/activity?contact=" + node.RandomIDs{}.New()).want(http.StatusNotFound)
}

// TestActivitySearch: all that a row shows can be searched for, as far back as the
// page says.
func TestActivitySearch(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout := b.agent("scout", policy.Manual)
	b.note(2300, func(i int, e *audit.Event) {
		if i%40 == 0 {
			e.Data = map[string]any{"code": fmt.Sprintf("Needle %d.", i)}
		}
		e.AgentID = scout.ID
	})
	first := b.get("/activity?q=needle").want(http.StatusOK)
	if got := first.positions(); len(got) != 50 {
		t.Fatalf("%d rows, want 50", len(got))
	}
	first.says("Looked at 19", "There are older ones.")
	rest := b.get(first.link("Older"))
	if got := rest.positions(); len(got) != 8 {
		t.Errorf("%d rows on the second page, want 8: %v", len(got), got)
	}
	rest.says("back to the beginning")
	far := b.get("/activity?q="+url.QueryEscape("needle 0.")).says("Looked at 2000 rows", "There is none.")
	if got := b.get(far.link("Older")).positions(); len(got) != 1 {
		t.Errorf("further back there are %v", got)
	}
	for _, text := range []string{"subject-2299.", "#2301", "message.received", "a message CAME in", "scout"} {
		if got := b.get("/activity?q=" + url.QueryEscape(text)).positions(); len(got) == 0 {
			t.Errorf("%q is not found", text)
		}
	}
	if got := b.get("/activity?q=needle&type=agent.created").positions(); len(got) != 0 {
		t.Errorf("a filter does not count beside a search: %v", got)
	}
}

// TestActivityDecision: a decision is explained by its facts, its reasons and the
// grant that won, also where that has been removed since.
func TestActivityDecision(t *testing.T) {
	d := newDinner(t)
	deny := d.grant(d.scout, address(d.juno), "disclose.dietary", policy.Deny)
	d.in(func(tx node.Tx) error {
		result, err := d.coordination.StartTask(tx, d.actor(d.scout), coordination.StartTask{
			ConnectionID: d.ofScout.ID, Type: "dinner.coordination", Title: "Dinner", Proposal: terms(map[string]any{"dietaryNotes": []string{"no nuts"}, "budgetPerPerson": 40.5}),
		})
		if result.Status != coordination.StatusRefused {
			t.Errorf("the status is %s", result.Status)
		}
		return err
	})
	row := d.get("/activity?type=policy.decided&agent="+d.scout.ID).says("disclose.dietary", "refused").positions()[0]
	page := d.get("/activity/"+row).want(http.StatusOK).says("a grant denies it", "deny ", "disclose.dietary", address(d.juno), "autonomous",
		"no nuts", "40.5 (budgetPerPerson)", "The grant that decided", "/agents/"+d.scout.ID, "Hash of the row before")
	page.lacks("removed since")
	d.in(func(tx node.Tx) error {
		_, err := d.policy.RemoveGrant(tx, d.ownerOf(d.scout), deny.ID)
		return err
	})
	d.get("/activity/"+row).says("removed since", deny.ID)
}

// TestActivityEntry: a row with all that it holds, and where it leads.
func TestActivityEntry(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner", terms(nil))
	d.respond(d.juno, 1, "accept", "")
	d.deliver()
	approval := d.book()
	row := d.get("/activity?type=approval.requested").positions()[0]
	d.get("/activity/"+row).want(http.StatusOK).says("You were asked", "/approvals/"+approval.ID, "/tasks/"+d.uid, "/contacts/"+d.ofScout.ID, "reservation.book", "Row before")
	d.run(approval)
	row = d.get("/activity?type=action.executed").positions()[0]
	d.get("/activity/" + row).says("/approvals/" + approval.ID)
	d.get("/activity/1").want(http.StatusOK).says("Row after").lacks("Row before")
	last := fmt.Sprint(d.head())
	d.get("/activity/" + last).want(http.StatusOK).lacks("Row after")
	for _, path := range []string{"/activity/0", "/activity/x", "/activity/-1", "/activity/" + fmt.Sprint(d.head()+1), "/activity/verify"} {
		d.get(path).want(http.StatusNotFound)
	}
}

// tampered is a log whose second row does not open.
type tampered struct{ audit.Store }

func (s tampered) AuditRows(tx node.Tx, filter audit.Filter) ([]audit.Row, error) {
	rows, err := s.Store.AuditRows(tx, filter)
	for _, row := range rows {
		if row.Position == 2 && !filter.Hashes {
			return nil, &node.Error{Code: node.Internal, Err: &audit.UnopenedError{Position: 2}}
		}
	}
	return rows, err
}

// TestActivityTampered: a row whose data was changed is said to be, and keeps
// nobody from the others.
func TestActivityTampered(t *testing.T) {
	t.Parallel()
	whole := newBundle(t)
	whole.note(3, func(_ int, e *audit.Event) { e.Data = map[string]any{"code": "too_late"} })
	whole.post("/activity/verify", nil).want(http.StatusOK).says("The log is whole: 3 rows.", "was not opened")
	whole.post("/activity/verify", url.Values{"deep": {"yes"}}).says("The log is whole: 3 rows.", "opened and compared")

	b := newBundle(t, func(c *dashboard.Config) {
		c.Events = tampered{c.Events}
		c.Audit = audit.New(c.Events, bytes.Repeat([]byte{1}, 32))
	})
	b.note(3, func(_ int, e *audit.Event) { e.Data = map[string]any{"code": "too_late"} })
	b.get("/activity").want(http.StatusOK).says("was changed from outside", "/activity/3")
	b.get("/activity?q=subject").want(http.StatusOK).says("was changed from outside", "/activity/3")
	b.get("/activity/2").want(http.StatusOK).says("does not open")
	b.get("/activity/1").want(http.StatusOK).lacks("does not open")
	b.post("/activity/verify", nil).says("The log is whole")
	b.post("/activity/verify", url.Values{"deep": {"yes"}}).want(http.StatusOK).says("The log is NOT whole: the data of row 2 does not open.")
}

// TestActivityExport: the file that comes is the whole log and verifies, and the
// log says that it was taken. Without a fresh sign-in there is none.
func TestActivityExport(t *testing.T) {
	d := newDinner(t)
	d.start("<Dinner>", terms(nil))
	before := d.head()
	d.visitor.Fresh = false
	r := formRequest("/activity/export", url.Values{"csrf": {d.visitor.CSRF}})
	r.Header.Set("Referer", "http://"+host+"/activity")
	d.send(r).leadsTo("/confirm?next=%2Factivity")
	d.visitor.Fresh = true
	d.send(formRequest("/activity/export", nil)).want(http.StatusForbidden)
	if d.head() != before {
		t.Error("a refused export stands in the log")
	}
	file := d.post("/activity/export", nil).want(http.StatusOK)
	if got := file.Header.Get("Content-Disposition"); got != `attachment; filename="agentlink-log-20260501-120002.jsonl"` {
		t.Errorf("the file is %s", got)
	}
	if got := file.Header.Get("Content-Type"); got != "application/jsonl; charset=utf-8" || len(file.Header.Values("Content-Type")) != 1 {
		t.Errorf("the type is %v", file.Header.Values("Content-Type"))
	}
	if file.Header.Get("Agentlink-Stream") != "" {
		t.Error("a header of the node's own leaves it")
	}
	head, report, err := audit.VerifyExport(strings.NewReader(file.Body))
	if err != nil || !report.OK() || report.Rows != before+1 || head.Fingerprint != d.identity.Signer.Fingerprint() {
		t.Errorf("the export gives %+v, %+v, %v", head, report, err)
	}
	lines := strings.Split(strings.TrimSpace(file.Body), "\n")
	var last struct{ Type, Actor, Via string }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Type != "log.exported" || last.Actor != "owner" || last.Via == "" {
		t.Errorf("the last line is %+v, %v", last, err)
	}
	if strings.Contains(file.Body, "Dinner") {
		t.Error("the export holds what a message says")
	}
}

// TestActivityForeign: nothing of an agent or a peer is markup, or hides.
func TestActivityForeign(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.note(1, func(_ int, e *audit.Event) {
		e.Subject, e.Actor.Via = "<script>alert(1)</script>", "\u202evia<b>"
		e.Data = map[string]any{"code": "<i>\u202e", "<script>": "<img src=x>", "handle": "<u>\u200b"}
	})
	last := fmt.Sprint("/activity/", b.head())
	for _, path := range []string{"/activity", last, "/activity?q=" + url.QueryEscape("<script>")} {
		b.get(path).want(http.StatusOK).lacks("<script>alert", "<i>\u202e", "<img src=x>", "<u>", "\u202e", "\u200b", "<b>via")
	}
	b.get(last).says("&lt;script&gt;alert(1)", `\u{202E}via`, "&lt;img src=x&gt;")
}

// TestActivityChart: each of the last 30 days by outcome, in words too.
func TestActivityChart(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout := b.agent("scout", policy.Autonomous)
	for i, outcome := range []policy.Outcome{policy.Allowed, policy.Held, policy.Refused, policy.Allowed, policy.Allowed} {
		b.in(func(tx node.Tx) error {
			record := policy.Record{OwnerID: scout.OwnerID, AgentID: scout.ID, At: noon.AddDate(0, 0, -7*i)}
			record.ID, record.Outcome = node.RandomIDs{}.New(), outcome
			return b.store.InsertDecision(tx, record)
		})
	}
	chart := b.get("/activity").says("in the last 30 days: 3 allowed, 1 held for you, 1 refused; most on 3 April, 1.", `role="img"`, `<th scope="row">3 Apr 2026</th>`)
	for class, want := range map[string]int{`<rect class="allow"`: 3, `<rect class="hold"`: 1, `<rect class="refuse"`: 1} {
		if got := strings.Count(chart.Body, class); got != want {
			t.Errorf("%d of %s, want %d", got, class, want)
		}
	}
	b.clock.Advance(2 * 24 * 3600 * 1e9)
	b.get("/activity").says("2 allowed, 1 held for you, 1 refused")
}

// TestActivityTypes: each type can be chosen.
func TestActivityTypes(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	page := b.get("/activity")
	for _, kind := range audit.Types {
		page.says(`<option value="` + string(kind) + `">`)
	}
}
