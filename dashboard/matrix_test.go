package dashboard_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/dashboard"
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

var update = flag.Bool("update", false, "write the goldens")

// door is a real node with what its callers bring.
type door struct {
	t     *testing.T
	node  *nodetest.Node
	clock *node.FakeClock
	agent string // an agent's token
}

func newDoor(t *testing.T) *door {
	t.Helper()
	clock := node.NewFakeClock(noon)
	d := &door{t: t, clock: clock, node: nodetest.Start(t, nodetest.Options{Clock: clock})}
	d.agent = d.node.CreateAgent("scout", policy.Autonomous).Token()
	return d
}

// session is a signed-in owner's browser: its cookie, and the token that its
// forms carry.
type session struct{ cookie, csrf string }

func (d *door) signIn() session {
	d.t.Helper()
	v := d.node.SignIn()
	for _, path := range []string{"/", "/settings"} {
		if csrf := v.Get(path).Field("csrf"); csrf != "" {
			return session{cookie: cookieOf(v.Cookies()), csrf: csrf}
		}
	}
	d.t.Fatal("no page has a form with a token")
	return session{}
}

func cookieOf(all []*http.Cookie) string {
	var parts []string
	for _, c := range all {
		parts = append(parts, c.Name+"="+c.Value)
	}
	return strings.Join(parts, "; ")
}

// caller is a kind of caller.
type caller struct {
	name string
	// come makes what it brings; it is done again for each route that ends a session.
	come  func(d *door) session
	shape func(d *door, r *http.Request, form url.Values)
}

func sameOrigin(_ *door, r *http.Request, _ url.Values) {
	r.Header.Set("Sec-Fetch-Site", "same-origin")
}

// callers are the kinds of caller; the golden has a column for each.
var callers = []caller{
	{"nobody", nil, sameOrigin},
	{"agent", nil, func(d *door, r *http.Request, form url.Values) {
		sameOrigin(d, r, form)
		r.Header.Set("Authorization", "Bearer "+d.agent)
	}},
	{"stale", func(d *door) session {
		s := d.signIn()
		d.clock.Advance(13 * time.Hour)
		return s
	}, sameOrigin},
	{"no csrf", (*door).signIn, func(d *door, r *http.Request, form url.Values) {
		sameOrigin(d, r, form)
		form.Del("csrf")
	}},
	{"cross-site", (*door).signIn, func(_ *door, r *http.Request, _ url.Values) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Origin", "https://elsewhere.example")
	}},
	{"not fresh", func(d *door) session {
		s := d.signIn()
		d.clock.Advance(6 * time.Minute)
		return s
	}, sameOrigin},
	{"owner", (*door).signIn, sameOrigin},
}

// unrouted are served before the router.
var unrouted = []string{"GET /live", "GET " + view.AssetURL("style.css"), "POST " + view.AssetURL("style.css"), "GET /nowhere", "POST /nowhere"}

// TestMatrix calls every route as every kind of caller and compares with the
// golden. Each answer of each of them has the headers that keep a page safe.
func TestMatrix(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	rows := slices.Concat(dashboard.Routes(), unrouted)
	slices.Sort(rows)
	cells := map[string][]string{}
	for _, c := range callers {
		comes := session{}
		if c.come != nil {
			comes = c.come(d)
		}
		for _, row := range rows {
			cells[row] = append(cells[row], d.call(row, c, comes))
			if c.come != nil && !strings.HasPrefix(row, "GET") && d.ended(comes) && c.name != "stale" {
				comes = c.come(d)
			}
		}
	}
	compare(t, "matrix.golden", table(rows, cells))
}

func (d *door) ended(s session) bool {
	d.t.Helper()
	r := d.request("GET /", s.cookie, nil)
	r.Header.Set("Sec-Fetch-Site", "none")
	answer, _ := d.do(r)
	return answer.StatusCode != http.StatusOK
}

// call gives what a cell of the table says.
func (d *door) call(row string, c caller, s session) string {
	d.t.Helper()
	form := url.Values{"csrf": {s.csrf}}
	r := d.request(row, s.cookie, nil)
	c.shape(d, r, form)
	d.fill(r, form)
	answer, body := d.do(r)
	d.safe(row+" as "+c.name, answer)
	return said(answer, body)
}

// request makes a request of a route. Names in its path are filled with what
// is nowhere.
func (d *door) request(row, cookie string, form url.Values) *http.Request {
	d.t.Helper()
	method, path, _ := strings.Cut(row, " ")
	path = names.ReplaceAllString(path, "/01890a5d-ac96-774b-bcce-b302099a8057")
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.node.DashboardURL()+path, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	d.fill(r, form)
	return r
}

var names = regexp.MustCompile(`/:\w+`)

func (d *door) fill(r *http.Request, form url.Values) {
	if form == nil || r.Method == http.MethodGet {
		return
	}
	encoded := form.Encode()
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(encoded)), int64(len(encoded))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
}

// direct follows nothing.
var direct = http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (d *door) do(r *http.Request) (*http.Response, string) {
	d.t.Helper()
	answer, err := direct.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.Header.Get("Content-Type") == "text/event-stream" {
		return answer, "a stream" // which does not end by itself
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer, string(body)
}

// said is short: the status, and where it leads.
func said(answer *http.Response, body string) string {
	text := fmt.Sprint(answer.StatusCode)
	if to, err := url.Parse(answer.Header.Get("Location")); err == nil && to.Path != "" {
		text += " " + names.ReplaceAllString(to.Path, "")
	}
	if strings.Contains(body, "This form did not come from a page of yours") {
		text += " foreign"
	}
	return text
}

// safe checks the headers that every answer has.
func (d *door) safe(what string, answer *http.Response) {
	d.t.Helper()
	h := answer.Header
	referrer := "same-origin"
	if strings.Contains(what, ":secret") { // its address is told to nobody
		referrer = "strict-origin"
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": referrer,
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := h.Get(name); got != want {
			d.t.Errorf("%s: %s is %q, want %q", what, name, got, want)
		}
	}
	policy := h.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "object-src 'none'", "form-action 'self'"} {
		if !strings.Contains(policy, part) {
			d.t.Errorf("%s: the policy lacks %s", what, part)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		d.t.Errorf("%s: the policy is %s", what, policy)
	}
	if caching := h.Get("Cache-Control"); caching != "no-store" && !strings.Contains(caching, "immutable") {
		d.t.Errorf("%s: Cache-Control is %q", what, caching)
	}
	for _, c := range answer.Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" {
			d.t.Errorf("%s: a cookie is not kept to this site: %s", what, c)
		}
		if c.MaxAge < 0 && h.Get("Clear-Site-Data") != `"cache", "storage"` {
			d.t.Errorf("%s: signing out leaves in the browser what it has kept: %q", what, h.Get("Clear-Site-Data"))
		}
	}
	if h.Get("Access-Control-Allow-Origin") != "" || h.Get("Server") != "" {
		d.t.Errorf("%s: headers that say too much: %v", what, h)
	}
}

func table(rows []string, cells map[string][]string) string {
	var out strings.Builder
	line := func(name string, columns []string) {
		text := fmt.Sprintf("%-44s", name)
		for _, column := range columns {
			text += fmt.Sprintf(" %-13s", column)
		}
		out.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	var head []string
	for _, c := range callers {
		head = append(head, c.name)
	}
	line("", head)
	for _, row := range rows {
		line(hashed.ReplaceAllString(row, "-HASH."), cells[row])
	}
	return out.String()
}

// hashed is the part of an asset's address that changes with its content.
var hashed = regexp.MustCompile(`-[0-9a-f]{12}\.`)

func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (write it with -update)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-golden +now; -update writes it):\n%s", path, diff)
	}
}
