package oauth_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	door "agentlink/node/api/oauth"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

var update = flag.Bool("update", false, "write the golden")

// bodies are what each route is sent, right but for the secrets in it.
var bodies = map[string]struct{ kind, body string }{
	"POST /oauth/register": {"application/json", `{"redirect_uris":["https://a.example/x"]}`},
	"POST /oauth/token":    {formType, "grant_type=refresh_token&client_id=nobody&refresh_token=alr_x"},
	"POST /oauth/revoke":   {formType, "client_id=nobody&token=alr_x"},
}

const formType = "application/x-www-form-urlencoded"

// callers are the kinds of caller; the golden has a column for each.
var callers = []struct {
	name  string
	shape func(w *world, r *http.Request)
}{
	{"nobody", func(*world, *http.Request) {}},
	{"agent", func(w *world, r *http.Request) { r.Header.Set("Authorization", "Bearer "+w.agentToken) }},
	{"program", func(w *world, r *http.Request) { r.Header.Set("Authorization", "Bearer "+w.tokens.Access) }},
	{"owner", func(w *world, r *http.Request) {
		for _, cookie := range w.cookies {
			r.AddCookie(cookie)
		}
	}},
	{"another site", func(_ *world, r *http.Request) {
		r.Header.Set("Origin", "https://elsewhere.example")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	}},
}

// world is a node with a program that was let in.
type world struct {
	t          *testing.T
	clock      *node.FakeClock
	node       *nodetest.Node
	agentToken string
	scout      *nodetest.Agent
	program    *nodetest.Client
	tokens     tokens
	cookies    []*http.Cookie
	owner      *nodetest.Visitor
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: node.NewFakeClock(noon)}
	w.node = nodetest.Start(t, nodetest.Options{Clock: w.clock})
	w.scout = w.node.CreateAgent("scout", policy.Autonomous)
	w.agentToken = w.scout.Token()
	w.program = w.node.RegisterClient("A program", "https://program.example/callback")
	w.owner = w.node.SignIn()
	w.cookies = w.owner.Cookies()
	w.tokens = tokensOf(t, w.program.Redeem(w.program.Approve(w.owner, nil, w.scout).Query().Get("code")))
	return w
}

// do sends a request of a route.
func (w *world) do(row string, shape func(*world, *http.Request)) (*http.Response, string) {
	w.t.Helper()
	method, path, _ := strings.Cut(row, " ")
	sent := bodies[row]
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.node.DashboardURL()+path, strings.NewReader(sent.body))
	if err != nil {
		w.t.Fatal(err)
	}
	if sent.kind != "" {
		r.Header.Set("Content-Type", sent.kind)
	}
	shape(w, r)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer, string(body)
}

// TestMatrix calls every route as every kind of caller: none of them has more
// rights here than another, and a browser may read each answer without cookies.
func TestMatrix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rows := door.Routes()
	for _, row := range door.Routes() {
		_, path, _ := strings.Cut(row, " ")
		for _, method := range []string{http.MethodOptions, http.MethodPut, http.MethodDelete, http.MethodGet, http.MethodPost} {
			if other := method + " " + path; !slices.Contains(rows, other) {
				rows = append(rows, other)
			}
		}
	}
	slices.Sort(rows)
	var out strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&out, "%-60s", row)
		for _, caller := range callers {
			w.clock.Advance(60 * 1e9) // the limits are another test's
			answer, body := w.do(row, caller.shape)
			w.safe(row+" as "+caller.name, answer, body)
			fmt.Fprintf(&out, " %s %d", strings.ReplaceAll(caller.name, " ", "-"), answer.StatusCode)
		}
		out.WriteString("\n")
	}
	golden(t, out.String())
}

func (w *world) safe(what string, answer *http.Response, body string) {
	w.t.Helper()
	h := answer.Header
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Set-Cookie": "",
	} {
		if got := h.Get(name); got != want {
			w.t.Errorf("%s: %s is %q, want %q", what, name, got, want)
		}
	}
	if !strings.Contains(h.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		w.t.Errorf("%s: a browser cannot see WWW-Authenticate", what)
	}
	if answer.StatusCode != http.StatusNoContent && !json.Valid([]byte(body)) {
		w.t.Errorf("%s: the answer is no JSON: %s", what, body)
	}
}

func golden(t *testing.T, got string) {
	t.Helper()
	path := filepath.Join("testdata", "matrix.golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-golden +now; -update writes it):\n%s", path, diff)
	}
}

// TestTokenOpensNothingElse: what a program gets opens /mcp; every route of the
// agents' API, and every page of the dashboard, refuses it.
func TestTokenOpensNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if !opens(t, w.node, w.tokens.Access) {
		t.Fatal("the token does not open /mcp")
	}
	if opens(t, w.node, w.tokens.Refresh) {
		t.Error("a refresh token opens /mcp")
	}
	_, document := w.do("GET /openapi.json", func(*world, *http.Request) {})
	var api struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal([]byte(document), &api); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for path, methods := range api.Paths {
		if !strings.HasPrefix(path, "/v1/") {
			continue
		}
		for method := range methods {
			if method == "parameters" {
				continue
			}
			tried++
			row := strings.ToUpper(method) + " " + strings.NewReplacer("{", "", "}", "").Replace(path)
			answer, body := w.do(row, func(w *world, r *http.Request) {
				r.Header.Set("Authorization", "Bearer "+w.tokens.Access)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Idempotency-Key", "01890a5d-ac96-774b-bcce-b302099a8057")
			})
			if answer.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s answers %d: %s", row, answer.StatusCode, body)
			}
		}
	}
	if tried < 15 {
		t.Errorf("only %d routes were tried", tried)
	}
	for _, bearer := range []string{w.tokens.Access, w.tokens.Refresh} {
		answer, _ := w.do("GET /agents", func(_ *world, r *http.Request) { r.Header.Set("Authorization", "Bearer "+bearer) })
		if answer.Request.URL.Path != "/login" {
			t.Errorf("the dashboard answers at %s", answer.Request.URL)
		}
	}
}
