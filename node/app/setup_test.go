package app_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentlink/node/api/socket"
	"agentlink/node/app"
	"agentlink/node/config"
	"agentlink/node/nodetest"
	"agentlink/node/store/storetest"
)

// Before the set-up the agents' API answers that it is unavailable, and says what
// to do; that the process runs is answered all the same.
func TestUntilSetUp(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{New: true})
	get := func(path string) (int, string) {
		t.Helper()
		answer, err := http.Get(n.Info.AgentsURL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	agents := []string{"/v1/agent/me", "/readyz", "/openapi.json", "/v1/nothing"}
	for _, path := range agents {
		if status, body := get(path); status != http.StatusServiceUnavailable || !strings.Contains(body, `"unavailable"`) || !strings.Contains(body, "not set up yet") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _ := get("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d", status)
	}
	var status socket.Status
	if err := n.Try(socket.NodeStatus, nil, &status); err == nil || !strings.Contains(err.Error(), "not set up yet") {
		t.Errorf("the socket answers %v", err)
	}

	n.Visitor().Get(n.SetUpLink).Submit("", map[string][]string{"name": {"Ada"}}).Want(http.StatusOK)
	for path, want := range map[string]int{"/v1/agent/me": http.StatusUnauthorized, "/readyz": http.StatusOK, "/openapi.json": http.StatusOK, "/v1/nothing": http.StatusNotFound} {
		if status, body := get(path); status != want {
			t.Errorf("after the set-up %s: %d %s", path, status, body)
		}
	}
}

// serveOnce starts a node and stops it again.
func serveOnce(t *testing.T, settings config.Config) (link string, err error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	n, err := app.New(ctx, settings, app.Options{SetUp: func(url string) { link = url; stop() }})
	if err != nil {
		return "", err
	}
	return link, n.Serve(ctx, func(socket.Info) {})
}

func settingsFor(t *testing.T, database string) config.Config {
	t.Helper()
	folder, err := os.MkdirTemp("", "alk") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	given := map[string]string{config.DataDirName: filepath.Join(folder, "data"), config.ListenName: "localhost:0", config.DatabaseURLName: database}
	settings, err := config.Load(func(name string) string { return given[name] })
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// A master key is made for a new node and for no other: a database that is there
// needs the key that it was made with.
func TestMasterKeyOfANewNode(t *testing.T) {
	t.Parallel()
	databases := map[string]func(t *testing.T) string{
		"sqlite":   func(*testing.T) string { return "" },
		"postgres": func(t *testing.T) string { return storetest.Postgres(t).URL },
	}
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := settingsFor(t, database(t))
			link, err := serveOnce(t, settings)
			if err != nil || !strings.HasPrefix(link, "http://localhost:") || !exists(t, settings.MasterKeyFile) {
				t.Fatalf("a new node: link %q, %v", link, err)
			}
			if again, err := serveOnce(t, settings); err != nil || again == link || again == "" {
				t.Fatalf("its second start: link %q, %v", again, err)
			}
			kept := settings.MasterKeyFile + ".kept"
			if err := os.Rename(settings.MasterKeyFile, kept); err != nil {
				t.Fatal(err)
			}
			var start *app.StartError
			if _, err := serveOnce(t, settings); !errors.As(err, &start) {
				t.Errorf("without its key: %v", err)
			}
			if exists(t, settings.MasterKeyFile) {
				t.Error("a new master key was left beside the data of the old one")
			}
			if err := os.Rename(kept, settings.MasterKeyFile); err != nil {
				t.Fatal(err)
			}
			if _, err := serveOnce(t, settings); err != nil {
				t.Errorf("with its key again: %v", err)
			}
		})
	}
}
