package rest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"agentlink/node"
)

// fieldsOf lists the names in details.fields.
func (a answer) fieldsOf(t *testing.T) []string {
	t.Helper()
	var names []string
	list, _ := a.details(t)["fields"].([]any)
	for _, entry := range list {
		names = append(names, entry.(map[string]any)["field"].(string))
	}
	return names
}

func message1(text string) string {
	return `{"connectionId":"` + connectionID + `","text":` + text + `}`
}

// TestBadBodies: what is not exactly a request is refused with the names of the
// fields, and nothing behind the door hears of it.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	const (
		messages  = "/v1/agent/messages"
		tasks     = "/v1/agent/tasks"
		proposals = "/v1/agent/tasks/" + taskUID + "/proposals"
		responses = "/v1/agent/tasks/" + taskUID + "/responses"
		connect   = "/v1/agent/connections"
		asks      = "/v1/agent/approvals"
		starts    = "/v1/agent/actions"
	)
	task := func(more string) string {
		return `{"connectionId":"` + connectionID + `","type":"dinner.coordination","title":"Dinner"` + more + `}`
	}
	deep := strings.Repeat(`{"a":`, 16) + "1" + strings.Repeat("}", 16)
	cases := []struct {
		name, path, body string
		fields           []string
	}{
		{"no JSON", messages, `text`, nil},
		{"a list", messages, `[]`, []string{"(body)"}},
		{"null", messages, `null`, []string{"(body)"}},
		{"a string", messages, `"text"`, []string{"(body)"}},
		{"nothing", messages, ``, []string{"connectionId", "text"}},
		{"an empty object", messages, `{}`, []string{"connectionId", "text"}},
		{"two values", messages, message1(`"a"`) + `{}`, nil},
		{"trailing text", messages, message1(`"a"`) + `x`, nil},
		{"unknown member", messages, `{"connectionId":"` + connectionID + `","text":"a","approved":true}`, []string{"approved"}},
		{"two unknown members", messages, `{"connectionId":"` + connectionID + `","text":"a","mode":"autonomous","grants":[]}`, []string{"grants", "mode"}},
		{"a decision", messages, `{"connectionId":"` + connectionID + `","text":"a","decision":"approve"}`, []string{"decision"}},
		{"wrong case", messages, `{"connectionId":"` + connectionID + `","Text":"a"}`, []string{"Text", "text"}},
		{"duplicate member", messages, `{"connectionId":"` + connectionID + `","text":"a","text":"b"}`, []string{"text"}},
		{"duplicate deep inside", proposals, `{"fields":{"date":"a","date":"b"}}`, []string{"fields.date"}},
		{"null text", messages, message1("null"), []string{"text"}},
		{"a number for a text", messages, message1("7"), []string{"text"}},
		{"empty text", messages, message1(`""`), []string{"text"}},
		{"text too long", messages, message1(`"` + strings.Repeat("é", 8001) + `"`), []string{"text"}},
		{"bad UTF-8", messages, message1("\"\xff\""), nil},
		{"lone surrogate", messages, message1(`"\ud800"`), nil},
		{"connection is no id", messages, `{"connectionId":"1","text":"a"}`, []string{"connectionId"}},
		{"connection in capitals", messages, `{"connectionId":"` + strings.ToUpper(adaID) + `","text":"a"}`, []string{"connectionId"}},
		{"everything wrong", messages, `{"connectionId":1,"text":"","x":1}`, []string{"connectionId", "text", "x"}},

		{"unknown type", tasks, `{"connectionId":"` + connectionID + `","type":"war","title":"Dinner"}`, []string{"type"}},
		{"title too long", tasks, `{"connectionId":"` + connectionID + `","type":"dinner.coordination","title":"` + strings.Repeat("x", 201) + `"}`, []string{"title"}},
		{"0 hours", tasks, task(`,"expiresInHours":0`), []string{"expiresInHours"}},
		{"721 hours", tasks, task(`,"expiresInHours":721`), []string{"expiresInHours"}},
		{"half an hour", tasks, task(`,"expiresInHours":1.5`), []string{"expiresInHours"}},
		{"hours as text", tasks, task(`,"expiresInHours":"72"`), []string{"expiresInHours"}},
		{"null hours", tasks, task(`,"expiresInHours":null`), []string{"expiresInHours"}},
		{"null proposal", tasks, task(`,"proposal":null`), []string{"proposal"}},
		{"proposal is a list", tasks, task(`,"proposal":[]`), []string{"proposal"}},
		{"a deadline", tasks, task(`,"deadline":"2026-03-08T00:00:00Z"`), []string{"deadline"}},

		{"no fields", proposals, `{}`, []string{"fields"}},
		{"fields is a text", proposals, `{"fields":"x"}`, []string{"fields"}},
		{"uid in the body", proposals, `{"fields":{},"uid":"` + taskUID + `"}`, []string{"uid"}},
		{"version 0", proposals, `{"fields":{},"basedOnVersion":0}`, []string{"basedOnVersion"}},
		{"2^53", proposals, `{"fields":{"partySize":9007199254740992}}`, []string{"fields.partySize"}},
		{"-2^53", proposals, `{"fields":{"partySize":-9007199254740992}}`, []string{"fields.partySize"}},
		{"too large to be finite", proposals, `{"fields":{"partySize":1e999}}`, []string{"fields.partySize"}},
		{"too deep", proposals, `{"fields":` + deep + `}`, nil},

		{"no such decision", responses, `{"version":1,"decision":"approve"}`, []string{"decision"}},
		{"digest in capitals", responses, `{"version":1,"decision":"accept","digest":"` + strings.ToUpper(digest) + `"}`, []string{"digest"}},
		{"reason too long", responses, `{"version":1,"decision":"reject","reason":"` + strings.Repeat("x", 501) + `"}`, []string{"reason"}},

		{"neither address nor invitation", connect, `{"note":"hello"}`, []string{"(body)"}},
		{"both", connect, `{"address":"a@b","invitation":"x"}`, []string{"(body)"}},
		{"note too long", connect, `{"address":"a@b","note":"` + strings.Repeat("x", 501) + `"}`, []string{"note"}},

		{"no parameters", asks, `{"action":"reservation.book"}`, []string{"parameters"}},
		{"onApproval at once", asks, `{"action":"reservation.book","parameters":{},"onApproval":"now"}`, []string{"onApproval"}},
		{"neither action nor approval", starts, `{}`, []string{"(body)"}},
		{"action without parameters", starts, `{"action":"reservation.book"}`, []string{"parameters"}},
		{"parameters without action", starts, `{"approvalId":"` + approvalID + `","parameters":{}}`, []string{"action"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.ask("POST", c.path, c.body)
			if a.status != 400 || a.code(t) != node.BadRequest {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if got := a.fieldsOf(t); !slices.Equal(got, c.fields) {
				t.Errorf("fields %q, want %q", got, c.fields)
			}
			if w.behind.calls() != 0 || len(w.db.kept) != 0 {
				t.Errorf("something behind the door heard of it: %v", w.behind.called)
			}
		})
	}
}

// TestBadQueries: the query is as strict as a body.
func TestBadQueries(t *testing.T) {
	t.Parallel()
	cases := []struct{ path, field string }{
		{"/tasks?limit=0", "limit"}, {"/tasks?limit=101", "limit"}, {"/tasks?limit=-1", "limit"}, {"/tasks?limit=+5", "limit"},
		{"/tasks?limit=5.0", "limit"}, {"/tasks?limit=05", "limit"}, {"/tasks?limit=", "limit"}, {"/tasks?limit=99999999999999999999", "limit"},
		{"/tasks?limit=5&limit=5", "limit"}, {"/tasks?Limit=5", "Limit"}, {"/tasks?owner=1", "owner"}, {"/tasks?wait=5", "wait"},
		{"/tasks?status=held", "status"}, {"/tasks?status=", "status"}, {"/tasks?connection=1", "connection"}, {"/tasks?cursor=", "cursor"},
		{"/tasks?cursor=" + strings.Repeat("x", 513), "cursor"}, {"/tasks?cursor=abc", "cursor"}, {"/tasks?a=%zz", "(query)"}, {"/tasks?a;b", "(query)"},
		{"/tasks/" + taskUID + "?wait=61", "wait"}, {"/tasks/" + taskUID + "?wait=-1", "wait"}, {"/tasks/" + taskUID + "?wait=x", "wait"},
		{"/tasks/" + taskUID + "?uid=" + taskUID, "uid"}, {"/me?id=1", "id"}, {"/events?after=x", "after"}, {"/events?cursor=x", "cursor"},
	}
	for _, c := range cases {
		t.Run(c.path, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.ask("GET", "/v1/agent"+c.path, "")
			if a.status != 400 || !slices.Equal(a.fieldsOf(t), []string{c.field}) {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	w := newWorld(t)
	if a := w.ask("POST", "/v1/agent/messages?dry=1", message1(`"a"`)); a.status != 400 || w.behind.calls() != 0 {
		t.Errorf("a query on a POST: %d %s", a.status, a.body)
	}
	if a := w.ask("GET", "/v1/agent/me", "{}"); a.status != 400 {
		t.Errorf("a body on a GET: %d %s", a.status, a.body)
	}
}

// TestBadHeaders: what two parsers could read in two ways goes no further.
func TestBadHeaders(t *testing.T) {
	t.Parallel()
	body := message1(`"a"`)
	cases := []struct {
		name   string
		header []string
		field  string
	}{
		{"gzip", []string{"Content-Encoding", "gzip"}, "Content-Encoding"},
		{"identity", []string{"Content-Encoding", "identity"}, "Content-Encoding"},
		{"two tokens", []string{"Authorization", "Bearer x"}, "Authorization"},
		{"two keys", []string{"Idempotency-Key", "a", "Idempotency-Key", "b"}, "Idempotency-Key"},
		{"two kinds", []string{"Content-Type", "application/json"}, "Content-Type"},
		{"key with a space", []string{"Idempotency-Key", "a b"}, "Idempotency-Key"},
		{"key too long", []string{"Idempotency-Key", strings.Repeat("k", 256)}, "Idempotency-Key"},
		{"key beyond ASCII", []string{"Idempotency-Key", "schlüssel"}, "Idempotency-Key"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.ask("POST", "/v1/agent/messages", body, c.header...)
			if a.status != 400 || !slices.Equal(a.fieldsOf(t), []string{c.field}) || w.behind.calls() != 0 {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "application/jsonx", ";"} {
		w := newWorld(t)
		a := w.serve(newRequest("POST", "/v1/agent/messages", body, w.bearer(adaID), kind))
		if a.status != 400 || !slices.Equal(a.fieldsOf(t), []string{"Content-Type"}) {
			t.Errorf("%s: %d %s", kind, a.status, a.body)
		}
	}
	w := newWorld(t)
	if a := w.serve(newRequest("POST", "/v1/agent/messages", body, w.bearer(adaID), "application/json; charset=UTF-8")); a.status != 201 {
		t.Errorf("JSON with its charset: %d %s", a.status, a.body)
	}
}

// TestGzipBomb: a compressed body is refused before anything inflates it.
func TestGzipBomb(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(bytes.Repeat([]byte(" "), 8<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	a := w.ask("POST", "/v1/agent/messages", bomb.String(), "Content-Encoding", "gzip")
	if a.status != 400 || a.code(t) != node.BadRequest {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestSize: 64 KiB and not a byte more, whatever the request says of its length.
func TestSize(t *testing.T) {
	t.Parallel()
	fields := func(size int) string {
		const frame = `{"fields":{"notes":""}}`
		return `{"fields":{"notes":"` + strings.Repeat("x", size-len(frame)) + `"}}`
	}
	for _, c := range []struct{ size, status int }{{64 << 10, 201}, {64<<10 + 1, 413}, {4 << 20, 413}} {
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := newRequest("POST", "/v1/agent/tasks/"+taskUID+"/proposals", fields(c.size), w.bearer(adaID), "")
			r.ContentLength = -1 // as chunked bodies have it
			a := w.serve(r)
			if a.status != c.status {
				t.Errorf("%d %.200s", a.status, a.body)
			}
			if a.status == 413 && a.code(t) != node.TooLarge {
				t.Errorf("code %s", a.code(t))
			}
		})
	}
}

// TestTextIsData: control and bidirectional characters reach the service as they
// are, and come back as they are.
func TestTextIsData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := "a\u202eb\u2066c\u0000d\u200be<script>\U0001f600"
	if a := w.ask("POST", "/v1/agent/messages", message1(`"a\u202eb\u2066c\u0000d\u200be<script>\ud83d\ude00"`)); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if !slices.Contains(w.behind.called, "SendMessage "+text) {
		t.Errorf("%q", w.behind.called)
	}
	w.behind.setTask(func(task *taskOf) { task.Copy.Title = text })
	a := w.ask("GET", "/v1/agent/tasks/"+taskUID, "")
	if got := a.member(t, "content").(map[string]any)["title"]; got != text {
		t.Errorf("%q", got)
	}
}

// TestNoSuchRoute: unknown addresses and methods are problems like any other,
// and paths that two routers could read differently lead nowhere.
func TestNoSuchRoute(t *testing.T) {
	t.Parallel()
	cases := []struct{ method, path string }{
		{"GET", "/"}, {"GET", "/v1"}, {"GET", "/v1/agent"}, {"GET", "/v1/agent/"}, {"GET", "/v1/agent/grants"}, {"POST", "/v1/agent/grants"},
		{"GET", "/v1/agent/me/"}, {"GET", "/V1/agent/me"}, {"GET", "/v1/agent//me"}, {"GET", "/v1/agent/./me"}, {"GET", "/v1/agent/tasks/../me"},
		{"GET", "/v1/agent/%6de"}, {"GET", "/v1/agent/tasks/a%2fb"}, {"GET", "/v1/agent/me;x"}, {"GET", "/v1/agent/tasks/" + taskUID + "/cancel"},
		{"DELETE", "/v1/agent/me"}, {"PUT", "/v1/agent/messages"}, {"PATCH", "/v1/agent/tasks/" + taskUID}, {"HEAD", "/v1/agent/me"}, {"OPTIONS", "/v1/agent/me"},
		{"POST", "/v1/agent/approvals/" + approvalID}, {"POST", "/v1/agent/approvals/" + approvalID + "/approve"}, {"GET", "/oauth/token"}, {"TRACE", "/v1/agent/me"},
	}
	for _, c := range cases {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.ask(c.method, c.path, "")
			if a.status != 404 || a.code(t) != node.NotFound {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	w := newWorld(t)
	if a := w.ask("DELETE", "/v1/agent/me", ""); !strings.Contains(a.body, "GET") {
		t.Errorf("the methods that there are: %s", a.body)
	}
}

// TestKeepAliveKeepsStrings: what one request said does not change when the next
// ones come over the same connection.
func TestKeepAliveKeepsStrings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := httptest.NewServer(w.handler)
	t.Cleanup(server.Close)
	for _, text := range []string{"first of them", "2nd", "the third and longest of them"} {
		r := newRequest("POST", server.URL+"/v1/agent/messages", message1(`"`+text+`"`), w.bearer(adaID), "")
		r.RequestURI = ""
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != 201 {
			t.Fatalf("%d %v", response.StatusCode, err)
		}
	}
	want := []string{"SendMessage first of them", "SendMessage 2nd", "SendMessage the third and longest of them"}
	if !slices.Equal(w.behind.called, want) {
		t.Errorf("%q", w.behind.called)
	}
}
