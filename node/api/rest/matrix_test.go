package rest

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node/api/agent"
)

var update = flag.Bool("update", false, "write the goldens")

// example is a request that the route takes from the agent whose things it names.
type example struct {
	query, body, contentType string
}

// examples has one for every route; TestMatrix fails where one is missing.
var examples = map[string]example{
	"GET /v1/agent/me":                     {},
	"GET /v1/agent/capabilities":           {query: "connection=" + connectionID},
	"GET /v1/agent/connections":            {query: "limit=2"},
	"POST /v1/agent/connections":           {body: `{"address":"eve@away.example","note":"Dinner?"}`},
	"GET /v1/agent/connections/{id}":       {},
	"GET /v1/agent/messages":               {query: "connection=" + connectionID},
	"POST /v1/agent/messages":              {body: `{"connectionId":"` + connectionID + `","text":"Good evening"}`},
	"GET /v1/agent/tasks":                  {query: "status=negotiating"},
	"POST /v1/agent/tasks":                 {body: `{"connectionId":"` + connectionID + `","type":"dinner.coordination","title":"Dinner","proposal":{"date":"2026-03-08"},"expiresInHours":24}`},
	"GET /v1/agent/tasks/{uid}":            {},
	"POST /v1/agent/tasks/{uid}/proposals": {body: `{"fields":{"date":"2026-03-09"},"basedOnVersion":1}`},
	"POST /v1/agent/tasks/{uid}/responses": {body: `{"version":1,"decision":"accept","digest":"` + digest + `"}`},
	"POST /v1/agent/tasks/{uid}/cancel":    {body: `{"reason":"No longer needed"}`},
	"POST /v1/agent/approvals":             {body: `{"action":"reservation.book","parameters":{"partySize":2},"taskUid":"` + taskUID + `","onApproval":"run"}`},
	"GET /v1/agent/approvals/{id}":         {},
	"POST /v1/agent/actions":               {body: `{"approvalId":"` + approvalID + `"}`},
	"GET /v1/agent/actions/{runId}":        {},
	"GET /v1/agent/events":                 {},
	"POST /oauth/token":                    {body: "grant_type=client_credentials&client_id=ada&client_secret=" + adaKey, contentType: formType},
	"GET /healthz":                         {},
	"GET /readyz":                          {},
	"GET /openapi.json":                    {},
}

// objects are ada's, by the path that shows them or writes to them.
var objects = map[string]string{
	"/v1/agent/connections/{id}": connectionID, "/v1/agent/approvals/{id}": approvalID, "/v1/agent/actions/{runId}": runID,
	"/v1/agent/tasks/{uid}": taskUID, "/v1/agent/tasks/{uid}/proposals": taskUID, "/v1/agent/tasks/{uid}/responses": taskUID, "/v1/agent/tasks/{uid}/cancel": taskUID,
}

// callers are the kinds of caller. Each gives the header Authorization.
var callers = []struct {
	name  string
	bears func(w *world) string
}{
	{"nobody", func(*world) string { return "" }},
	{"garbage", func(*world) string { return "Bearer garbage" }},
	{"basic", func(*world) string { return "Basic YWRhOmFkYQ==" }},
	{"expired", func(w *world) string {
		compact, _, err := w.tokens.Issue(adaID, 1, w.clock.Now().Add(-16*time.Minute))
		if err != nil {
			w.t.Fatal(err)
		}
		return "Bearer " + compact
	}},
	{"old key", func(w *world) string {
		compact, _, err := w.tokens.Issue(adaID, 0, w.clock.Now())
		if err != nil {
			w.t.Fatal(err)
		}
		return "Bearer " + compact
	}},
	{"disabled", func(w *world) string { return w.bearer(offID) }},
	{"unknown", func(w *world) string { return w.bearer(nobodyID) }},
	{"other", func(w *world) string { return w.bearer(bobID) }},
	{"agent", func(w *world) string { return w.bearer(adaID) }},
}

func (e example) ask(w *world, authorization, method, path, query string) answer {
	if query != "" {
		path += "?" + query
	}
	r := newRequest(method, path, e.body, authorization, e.contentType)
	return w.serve(r)
}

// routerRows are the routes as fiber's router has them.
func routerRows(w *world) []string {
	var rows []string
	for _, r := range w.parts.fiber(w.routes).GetRoutes(true) {
		path := r.Path
		for _, name := range r.Params {
			path = strings.ReplaceAll(path, ":"+name, "{"+name+"}")
		}
		rows = append(rows, r.Method+" "+path)
	}
	slices.Sort(rows)
	return rows
}

// instance fills the names of a path in.
func instance(path string) string {
	filled := path
	for _, name := range []string{"{id}", "{uid}", "{runId}"} {
		filled = strings.ReplaceAll(filled, name, objects[path])
	}
	return filled
}

// TestMatrix calls every route as every kind of caller and compares with the
// golden. Rows come from the router, so that a new route cannot be forgotten.
func TestMatrix(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	fmt.Fprintf(&table, "%-40s", "")
	for _, caller := range callers {
		fmt.Fprintf(&table, " %-9s", caller.name)
	}
	table.WriteString("\n")
	for _, row := range routerRows(newWorld(t)) {
		e, ok := examples[row]
		if !ok {
			t.Errorf("no example for %s", row)
			continue
		}
		method, path, _ := strings.Cut(row, " ")
		fmt.Fprintf(&table, "%-40s", row)
		w := newWorld(t)
		for _, caller := range callers {
			w.behind.called = nil
			a := e.ask(w, caller.bears(w), method, instance(path), e.query)
			fmt.Fprintf(&table, " %-9d", a.status)
			if w.waits(row) {
				waited := e.ask(w, caller.bears(w), method, instance(path), strings.Trim(e.query+"&wait=0", "&"))
				if waited.status != a.status || waited.body != a.body {
					t.Errorf("%s as %s: fiber answers %d, net/http %d", row, caller.name, a.status, waited.status)
				}
			}
			if a.status >= 400 && w.behind.calls() > 0 && caller.name != "other" && strings.HasPrefix(path, agent.Prefix) {
				t.Errorf("%s as %s: the services were asked: %v", row, caller.name, w.behind.called)
			}
		}
		table.WriteString("\n")
	}
	golden(t, "matrix.golden", strings.ReplaceAll(table.String(), " \n", "\n"))
}

func (w *world) waits(row string) bool {
	for _, r := range w.routes {
		if r.Method+" "+r.Path == row {
			return r.Waits
		}
	}
	return false
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	lines := strings.Split(got, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	got = strings.Join(lines, "\n")
	file := filepath.Join("testdata", name)
	if *update {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI writes no goldens")
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; -update writes it\n%s", name, diff)
	}
}

// TestForeignIsMissing: another agent's object, one that nobody has and a text
// that is no id at all give the same 404, byte for byte.
func TestForeignIsMissing(t *testing.T) {
	t.Parallel()
	for _, row := range routerRows(newWorld(t)) {
		method, path, _ := strings.Cut(row, " ")
		own, named := objects[path]
		if !named {
			continue
		}
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e, bob := examples[row], w.bearer(bobID)
			foreign := e.ask(w, bob, method, instance(path), e.query)
			if foreign.status != http.StatusNotFound {
				t.Fatalf("another agent's: %d %s", foreign.status, foreign.body)
			}
			for _, id := range []string{nobodyID, "no-id-at-all"} {
				missing := e.ask(w, bob, method, strings.ReplaceAll(instance(path), own, id), e.query)
				if diff := cmp.Diff(foreign.body, missing.body); diff != "" || missing.status != foreign.status {
					t.Errorf("%s: %d %s", id, missing.status, diff)
				}
			}
		})
	}
}

// TestForeignFilterIsMissing: the same for a contact that a query names.
func TestForeignFilterIsMissing(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/capabilities", "/messages", "/tasks"} {
		w := newWorld(t)
		foreign := w.askAs(w.bearer(bobID), "GET", agent.Prefix+path+"?connection="+connectionID, "")
		missing := w.askAs(w.bearer(bobID), "GET", agent.Prefix+path+"?connection="+nobodyID, "")
		if foreign.status != http.StatusNotFound || foreign.body != missing.body {
			t.Errorf("%s: %d %s, %d %s", path, foreign.status, foreign.body, missing.status, missing.body)
		}
	}
}
