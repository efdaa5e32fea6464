package hostile

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"

	"agentlink/node"
)

// trusted is the certificate of doors that speak TLS. The tests' process trusts
// it as it trusts those of its machine.
var trusted tls.Certificate

func TestMain(m *testing.M) {
	if os.Getenv(childName) != "" {
		os.Exit(beNode())
	}
	folder, err := os.MkdirTemp("", "alk")
	if err != nil {
		panic(err)
	}
	trusted = newCertificate()
	file := filepath.Join(folder, "roots.pem")
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: trusted.Certificate[0]})
	if err := errors.Join(os.WriteFile(file, content, 0o600), os.Setenv("SSL_CERT_FILE", file)); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// newCertificate makes one for this machine, which has signed it itself.
func newCertificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	now := node.SystemClock{}.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a node of a test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: now.AddDate(0, 0, -1), NotAfter: now.AddDate(0, 0, 1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}
}

// eitherWay is a listener on which a client may begin with TLS or without.
type eitherWay struct {
	net.Listener
	config *tls.Config
	ready  chan net.Conn
}

func newEitherWay(l net.Listener, config *tls.Config) *eitherWay {
	e := &eitherWay{Listener: l, config: config, ready: make(chan net.Conn)}
	go e.run()
	return e
}

func (e *eitherWay) run() {
	defer close(e.ready)
	for {
		conn, err := e.Listener.Accept()
		if err != nil {
			return
		}
		go func() { // a client that says nothing holds up nobody
			peeked := &peekedConn{Conn: conn, reader: bufio.NewReader(conn)}
			first, err := peeked.reader.Peek(1)
			if err != nil {
				_ = conn.Close()
				return
			}
			defer func() { _ = recover() }() // the listener was closed meanwhile
			if first[0] == 0x16 {
				e.ready <- tls.Server(peeked, e.config)
			} else {
				e.ready <- peeked
			}
		}()
	}
}

// Accept implements net.Listener.
func (e *eitherWay) Accept() (net.Conn, error) {
	if conn, ok := <-e.ready; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

type peekedConn struct {
	net.Conn
	reader *bufio.Reader
}

// Read implements net.Conn.
func (c *peekedConn) Read(into []byte) (int, error) { return c.reader.Read(into) }
