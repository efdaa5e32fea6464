package app_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/app"
	"agentlink/node/audit"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// A node that is told to stop does not wait for requests that wait themselves.
func TestStopCutsWaitingShort(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	scout := n.CreateAgent("scout", policy.Assisted)
	last := scout.Get("/v1/agent/me").Want(http.StatusOK)
	waiting, ended := make(chan struct{}), make(chan struct{})
	token := scout.Token()
	go func() {
		defer close(ended)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.Info.AgentsURL+"/v1/agent/me?wait=60", nil)
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("If-None-Match", last.Header.Get("ETag"))
		close(waiting)
		if answer, err := http.DefaultClient.Do(r); err == nil {
			answer.Body.Close()
		}
	}()
	<-waiting
	time.Sleep(200 * time.Millisecond) // the request has to have arrived
	clock := node.SystemClock{}
	begun := clock.Now()
	n.Stop()
	<-ended
	if took := clock.Now().Sub(begun); took > 10*time.Second {
		t.Errorf("stopping took %v", took)
	}
}

// Each start is a row of the audit log.
func TestStartsAreAudited(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	n.Restart()
	events := nodetest.Owner[[]socket.Event](n, socket.AuditTail, socket.Tail{Types: []audit.Type{audit.NodeStarted}})
	if len(events) != 2 {
		t.Errorf("%d starts in the log, want 2", len(events))
	}
	n.VerifyAudit()
}

// With a public listener the agents' side does not serve peers, and the peers'
// side serves nothing else.
func TestTwoListeners(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{Settings: map[string]string{"AGENTLINK_PUBLIC_LISTEN": "localhost:0"}})
	if n.Info.AgentsURL == n.Info.PeersURL {
		t.Fatalf("both sides are at %s", n.Info.AgentsURL)
	}
	for _, c := range []struct {
		url  string
		want int
	}{
		{n.Info.PeersURL + "/.well-known/agentlink", http.StatusOK},
		{n.Info.AgentsURL + "/.well-known/agentlink", http.StatusNotFound},
		{n.Info.AgentsURL + "/healthz", http.StatusOK},
		{n.Info.AgentsURL + "/readyz", http.StatusOK},
		{n.Info.PeersURL + "/healthz", http.StatusNotFound},
		{n.Info.PeersURL + "/v1/agent/me", http.StatusNotFound},
		{n.Info.PeersURL + "/oauth/token", http.StatusNotFound},
		{n.Info.AgentsURL + "/login", http.StatusOK},
		{n.Info.PeersURL + "/login", http.StatusNotFound},
		{n.Info.PeersURL + "/live", http.StatusNotFound},
		{n.Info.PeersURL + view.AssetURL("style.css"), http.StatusNotFound},
	} {
		answer, err := http.Get(c.url)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s answers %d, want %d", c.url, answer.StatusCode, c.want)
		}
	}
}

// The peers' side speaks TLS where there is a certificate, and nothing else.
func TestPeersSideSpeaksTLS(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certFile, keyFile := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	app.WriteCertificate(t, certFile, keyFile, 1, node.SystemClock{}.Now())
	n := nodetest.Start(t, nodetest.Options{Settings: map[string]string{
		"AGENTLINK_PUBLIC_LISTEN": "localhost:0", "AGENTLINK_TLS_CERT": certFile, "AGENTLINK_TLS_KEY": keyFile,
	}})
	if !strings.HasPrefix(n.Info.PeersURL, "https://localhost:") || !strings.HasPrefix(n.Info.AgentsURL, "http://localhost:") {
		t.Fatalf("peers at %s, agents at %s", n.Info.PeersURL, n.Info.AgentsURL)
	}
	pem, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	answer, err := client.Get(n.Info.PeersURL + "/.well-known/agentlink")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("status %d", answer.StatusCode)
	}
	answer, err = http.Get("http" + strings.TrimPrefix(n.Info.PeersURL, "https") + "/.well-known/agentlink")
	if err == nil {
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			t.Error("the peers' side answers without TLS")
		}
	}
	old := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}}}
	if answer, err := old.Get(n.Info.PeersURL + "/.well-known/agentlink"); err == nil {
		answer.Body.Close()
		t.Error("the peers' side speaks TLS 1.1")
	}
}
