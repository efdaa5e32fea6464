package app_test

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"
	"testing"

	"agentlink/coordination/wire"
	"agentlink/dashboard/view"
	doors "agentlink/node/api/oauth"
	"agentlink/node/nodetest"
)

// The names of the node that a proxy which ends TLS leads to.
const dashboardHost, peersHost = "dash.example.org", "node.example.org:7411"

// nowhere are addresses that a node must have nothing at.
var nowhere = []string{"/.git/config", "/.git/HEAD", "/debug/pprof/", "/metrics", "/assets/", "/assets", "/static/", "/nowhere", "/v1/nowhere", "/%2e%2e/etc/passwd"}

// pages are some of the dashboard's; its matrix has all of them.
var pages = []string{"/", "/login", "/login?next=//elsewhere.example", "/settings", "/link/x", "/setup/link/x", "/oauth/authorize", "/live", view.AssetURL("style.css")}

// TestEveryAnswerIsSafe asks every door without being let in, by several methods
// and names, before and after the set-up. Whatever is answered, errors too, carries
// the headers that keep a browser from making something else of it, and says of what
// kind it is.
func TestEveryAnswerIsSafe(t *testing.T) {
	t.Parallel()
	paths := append(everyDoor(t), nowhere...)
	for _, isNew := range []bool{true, false} {
		n := nodetest.Start(t, nodetest.Options{New: isNew, Settings: map[string]string{
			"AGENTLINK_PUBLIC_URL": "https://" + peersHost, "AGENTLINK_DASHBOARD_URL": "https://" + dashboardHost,
		}})
		own := strings.TrimPrefix(n.Info.AgentsURL, "http://")
		for _, path := range paths {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions, http.MethodTrace} {
				for _, host := range []string{own, dashboardHost, peersHost, "elsewhere.example"} {
					checkAnswer(t, n.Info.AgentsURL, method, path, host)
				}
			}
		}
	}
	two := nodetest.Start(t, nodetest.Options{Settings: map[string]string{"AGENTLINK_PUBLIC_LISTEN": "localhost:0"}})
	for _, path := range paths {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodTrace} {
			checkAnswer(t, two.Info.PeersURL, method, path, strings.TrimPrefix(two.Info.PeersURL, "http://"))
		}
	}
}

// everyDoor lists what agents, their clients, peers and the owner ask for.
func everyDoor(t *testing.T) []string {
	t.Helper()
	n := nodetest.Start(t, nodetest.Options{})
	answer, err := http.Get(n.Info.AgentsURL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var document struct {
		Paths map[string]any `json:"paths"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&document); err != nil || len(document.Paths) < 15 {
		t.Fatalf("%d paths, %v", len(document.Paths), err)
	}
	all := append([]string{"/mcp", wire.InboxPath, wire.CardPath}, pages...)
	for path := range document.Paths {
		all = append(all, path)
	}
	for _, route := range doors.Routes() {
		_, path, _ := strings.Cut(route, " ")
		all = append(all, path)
	}
	return all
}

// planted stands in each request, and may not come back from TRACE.
const planted = "planted-6f1c"

func checkAnswer(t *testing.T, url, method, path, host string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Origin", "https://elsewhere.example")
	r.Header.Set("Authorization", "Bearer "+planted)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	what := method + " " + path + " of " + host
	for _, problem := range problems(answer, string(body), host) {
		t.Errorf("%s: %s", what, problem)
	}
	if method == http.MethodTrace && (answer.StatusCode < 400 || strings.Contains(string(body), planted)) {
		t.Errorf("%s is answered with %d", what, answer.StatusCode)
	}
	for _, place := range nowhere {
		if path == place && answer.StatusCode < 300 {
			t.Errorf("%s is answered with %d: %.80s", what, answer.StatusCode, body)
		}
	}
}

func problems(answer *http.Response, body, host string) (all []string) {
	h := answer.Header
	policy := h.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			all = append(all, "the policy lacks "+part)
		}
	}
	if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") == "" {
		all = append(all, "it may be taken for something else, or tells where it comes from")
	}
	if strict := h.Get("Strict-Transport-Security"); (host == dashboardHost || host == peersHost) != (strict == "max-age=31536000; includeSubDomains") {
		all = append(all, "Strict-Transport-Security is "+strict)
	}
	if origin := h.Get("Access-Control-Allow-Origin"); (origin != "" && origin != "*") || h.Get("Access-Control-Allow-Credentials") != "" {
		all = append(all, "another site may read it as the owner: "+origin)
	}
	if h.Get("Server") != "" || h.Get("X-Powered-By") != "" {
		all = append(all, "it says what serves it")
	}
	if len(answer.Cookies()) > 0 {
		all = append(all, "a cookie is set for a stranger")
	}
	return append(all, typeProblems(h.Get("Content-Type"), body)...)
}

func typeProblems(given, body string) []string {
	if body == "" {
		return nil
	}
	kind, parameters, err := mime.ParseMediaType(given)
	switch {
	case err != nil:
		return []string{"there is no type: " + given}
	case strings.HasPrefix(kind, "text/") && !strings.EqualFold(parameters["charset"], "utf-8"):
		return []string{"there is no charset: " + given}
	case strings.HasPrefix(body, "{") != strings.HasSuffix(kind, "json"):
		return []string{"the type is not that of the body: " + given}
	}
	return nil
}
