package app_test

import (
	"net/http"
	"strings"
	"testing"

	"agentlink/node/nodetest"
)

// Whoever guesses keys is counted by the address that the owner's proxy has seen;
// where no proxy is named nobody gets a count of their own by saying where they come
// from.
func TestGuessersBehindAProxyAreToldApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings map[string]string
		other    int // what another address is answered, once the first is shut out
	}{
		"a proxy of the owner's": {map[string]string{"AGENTLINK_TRUSTED_PROXIES": "127.0.0.1, ::1"}, http.StatusUnauthorized},
		"no proxy":               {nil, http.StatusTooManyRequests},
	} {
		n := nodetest.Start(t, nodetest.Options{Settings: c.settings})
		guess := func(from string) int {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.Info.AgentsURL+"/oauth/token",
				strings.NewReader("grant_type=client_credentials&client_id=scout&client_secret=alk_wrong"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("X-Forwarded-For", "203.0.113.9, "+from)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			return answer.StatusCode
		}
		for range 10 {
			if got := guess("198.51.100.1"); got != http.StatusUnauthorized {
				t.Fatalf("%s: a guess is answered %d", name, got)
			}
		}
		if got := guess("198.51.100.1"); got != http.StatusTooManyRequests {
			t.Errorf("%s: the eleventh guess is answered %d", name, got)
		}
		if got := guess("198.51.100.2"); got != c.other {
			t.Errorf("%s: another address is answered %d, want %d", name, got, c.other)
		}
	}
}
