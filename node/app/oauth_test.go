package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agentlink/node/delivery"
)

// TestFetchDocument: a program's document is read from where it says it is, whole
// and without detours, and from public addresses only.
func TestFetchDocument(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/client.json":
			_, _ = w.Write([]byte("{}"))
		case "/moved":
			http.Redirect(w, r, "/client.json", http.StatusFound)
		case "/long":
			_, _ = w.Write([]byte(strings.Repeat("x", delivery.MaxAnswer+1)))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	here := &Node{client: delivery.NewClient(delivery.ClientConfig{Reach: delivery.Reach{Loopback: true}})}
	if got, err := here.fetchDocument(t.Context(), server.URL+"/client.json"); err != nil || string(got) != "{}" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, path := range []string{"/moved", "/long", "/nowhere"} {
		if got, err := here.fetchDocument(t.Context(), server.URL+path); err == nil {
			t.Errorf("%s gives %.20q", path, got)
		}
	}
	public := &Node{client: delivery.NewClient(delivery.ClientConfig{})}
	if got, err := public.fetchDocument(t.Context(), server.URL+"/client.json"); err == nil {
		t.Errorf("from this machine: %q", got)
	}
}
