package app

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agentlink/node"
)

func writeCertificate(t *testing.T, certFile, keyFile string, serial int64, at time.Time) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: at.Add(time.Hour), DNSNames: []string{"localhost"}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, certFile, "CERTIFICATE", raw)
	writePEM(t, keyFile, "PRIVATE KEY", key)
	if err := os.Chtimes(certFile, at, at); err != nil {
		t.Fatal(err)
	}
}

func writePEM(t *testing.T, path, kind string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A renewed certificate is used without a restart, a broken one is not.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certFile, keyFile := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	clock := node.NewFakeClock(time.Date(2031, 5, 9, 12, 0, 0, 0, time.UTC))
	writeCertificate(t, certFile, keyFile, 1, clock.Now())
	c, err := newCertificate(certFile, keyFile, clock, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		t.Helper()
		loaded, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(loaded.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.SerialNumber.Int64()
	}
	writeCertificate(t, certFile, keyFile, 2, clock.Now().Add(time.Second))
	if got := serial(); got != 1 {
		t.Errorf("certificate %d at once, want 1: the file is looked at once a minute", got)
	}
	clock.Advance(lookAgain)
	if got := serial(); got != 2 {
		t.Errorf("certificate %d after a minute, want 2", got)
	}
	if err := os.WriteFile(certFile, []byte("half written"), 0o600); err != nil {
		t.Fatal(err)
	}
	clock.Advance(lookAgain)
	if got := serial(); got != 2 {
		t.Errorf("certificate %d after a broken renewal, want 2", got)
	}
}

func TestCertificateHasToBeThere(t *testing.T) {
	t.Parallel()
	if _, err := newCertificate("missing.pem", "missing.pem", node.SystemClock{}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a missing certificate was taken")
	}
}
