package app_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/app"
	"agentlink/node/nodetest"
)

// The best version is taken; of the older one only suites that keep old traffic
// secret and notice changes.
func TestSuitesAreStrong(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certFile, keyFile := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	app.WriteCertificate(t, certFile, keyFile, 1, node.SystemClock{}.Now())
	n := nodetest.Start(t, nodetest.Options{Settings: map[string]string{
		"AGENTLINK_PUBLIC_LISTEN": "localhost:0", "AGENTLINK_TLS_CERT": certFile, "AGENTLINK_TLS_KEY": keyFile,
	}})
	pem, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	address := strings.TrimPrefix(n.Info.PeersURL, "https://")
	shake := func(config *tls.Config) (tls.ConnectionState, error) {
		config.RootCAs = roots
		conn, err := tls.Dial("tcp", address, config)
		if err != nil {
			return tls.ConnectionState{}, err
		}
		defer conn.Close()
		return conn.ConnectionState(), nil
	}
	if state, err := shake(&tls.Config{}); err != nil || state.Version != tls.VersionTLS13 {
		t.Errorf("version %x, %v", state.Version, err)
	}
	taken := 0
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		state, err := shake(&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}})
		if err != nil {
			continue
		}
		taken++
		if name := tls.CipherSuiteName(state.CipherSuite); !strings.HasPrefix(name, "TLS_ECDHE_") || !strings.Contains(name, "GCM") && !strings.Contains(name, "POLY1305") {
			t.Errorf("%s is taken", name)
		}
	}
	if taken == 0 {
		t.Error("no suite of TLS 1.2 is taken")
	}
}

// Where a request ends is read in one way: chunks count where there is a length
// beside them, as the standard asks, and whatever is in doubt otherwise is refused, so
// that what follows is no second request.
func TestRequestsAreNotSmuggled(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	address := strings.TrimPrefix(n.Info.AgentsURL, "http://")
	const hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, headers := range map[string]string{
		"two lengths":              "Content-Length: 5\r\nContent-Length: 50\r\n",
		"an encoding with a space": "Content-Length: 5\r\nTransfer-Encoding : chunked\r\n",
		"an encoding of another":   "Transfer-Encoding: xchunked\r\n",
		"two encodings":            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
		"a length with a sign":     "Content-Length: +5\r\n",
		"a bare line feed":         "Content-Length: 5\nTransfer-Encoding: chunked\n\r\n",
	} {
		if answers := answersTo(t, address, "POST /oauth/token HTTP/1.1\r\nHost: localhost\r\n"+headers+"\r\n0\r\n\r\n"+hidden); answers > 1 {
			t.Errorf("%s: %d answers", name, answers)
		}
	}
	both := fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n", len("0\r\n\r\n"+hidden))
	for name, first := range map[string]string{
		"two honest requests": "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"chunks and a length": "POST /oauth/token HTTP/1.1\r\nHost: localhost\r\n" + both + "\r\n0\r\n\r\n",
	} {
		if answers := answersTo(t, address, first+hidden); answers != 2 {
			t.Errorf("%s: %d answers", name, answers)
		}
	}
}

// answersTo counts the answers to what is written to a connection.
func answersTo(t *testing.T, address, text string) (count int) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(node.SystemClock{}.Now().Add(3 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for {
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			return count
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		count++
	}
}
