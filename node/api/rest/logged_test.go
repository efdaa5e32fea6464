package rest

import (
	"strings"
	"testing"
)

// TestWhoComesIsLogged: letting in, not letting in and refusing each leave a line
// with time, request, address and what it was; none has a secret, or a line break
// that its caller put there.
func TestWhoComesIsLogged(t *testing.T) {
	t.Parallel()
	const grant = "grant_type=client_credentials&client_id=ada&client_secret="
	for _, c := range []struct {
		name, want string
		come       func(w *world)
	}{
		{"a right key", `msg="agent let in"`, func(w *world) { w.askToken(grant+adaKey, "") }},
		{"a wrong key", `msg="agent not let in"`, func(w *world) { w.askToken(grant+"alk_hunter2", "") }},
		{"a wrong token", "code=unauthorized", func(w *world) {
			w.serve(newRequest("GET", "/v1/agent/me", "", "Bearer hunter2", ""))
		}},
		{"another's thing", "code=not_found", func(w *world) {
			w.serve(newRequest("GET", "/v1/agent/tasks/01890a5d-ac96-774b-bcce-b302099a8057", "", w.bearer(adaID), ""))
		}},
		{"what is not taken", "code=bad_request", func(w *world) {
			w.serve(newRequest("POST", "/v1/agent/messages", `{"mode":"autonomous"}`, w.bearer(adaID), jsonType))
		}},
		{"no route, on two lines", "code=not_found", func(w *world) {
			w.serve(newRequest("GET", "/v1/x%0Alevel=ERROR", "", w.bearer(adaID), ""))
		}},
	} {
		w := newWorld(t)
		c.come(w)
		logged := w.logged.String()
		lines := strings.Split(strings.TrimSpace(logged), "\n")
		last := lines[len(lines)-1]
		for _, part := range []string{"time=", "level=INFO", "request=", "from=", c.want} {
			if !strings.Contains(last, part) {
				t.Errorf("%s: %q lacks %s", c.name, last, part)
			}
		}
		for _, line := range lines {
			if !strings.HasPrefix(line, "time=") {
				t.Errorf("%s: a line begins with %q", c.name, line)
			}
		}
		if strings.Contains(logged, "alk_") || strings.Contains(logged, "hunter2") {
			t.Errorf("%s: a secret is in the log: %s", c.name, logged)
		}
	}
}
