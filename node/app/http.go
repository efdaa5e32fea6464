package app

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"

	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/api/peer"
	"agentlink/node/api/rest"
)

// served is a server with the listener that it serves.
type served struct {
	name     string
	server   *http.Server
	listener net.Listener
}

// servers makes the servers of a node. requests is the context of all requests:
// when it ends, those that wait do.
func (n *Node) servers(requests context.Context) ([]served, error) {
	private := api.NewServer(n.guarded(n.privateSide()))
	all := []served{
		{"private", private, n.listeners.private},
		{"owner", n.socket.HTTP(), n.listeners.owner},
	}
	if n.listeners.public != nil {
		public := &http.Server{Handler: n.guarded(n.inbox.Handler())}
		peer.Harden(public)
		all = append(all, served{"public", public, n.listeners.public})
	}
	certificate, err := n.certificate()
	if err != nil {
		return nil, err
	}
	for i := range all {
		s := &all[i]
		s.server.BaseContext = func(net.Listener) context.Context { return requests }
		s.server.ErrorLog = slog.NewLogLogger(n.log.Handler(), slog.LevelDebug)
		if (s.name == "private" && n.settings.ListenTLS()) || (s.name == "public" && n.settings.PublicTLS()) {
			s.server.TLSConfig = certificate
		}
	}
	return all, nil
}

func (n *Node) rest() http.Handler {
	return rest.New(rest.Config{
		API: n.api, IDs: n.options.IDs, Agents: n.policy, Tokens: n.tokens, Ping: n.store.Ping,
	})
}

// serve blocks until the server is shut down.
func (s served) serve() error {
	var err error
	if s.server.TLSConfig != nil {
		err = s.server.ServeTLS(s.listener, "", "")
	} else {
		err = s.server.Serve(s.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// certificate is nil where no side speaks TLS.
func (n *Node) certificate() (*tls.Config, error) {
	if !n.settings.TLS() {
		return nil, nil
	}
	files, err := newCertificate(n.settings.TLSCert, n.settings.TLSKey, n.options.Clock, n.log)
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: suites, GetCertificate: files.get}, nil
}

// suites are those of TLS 1.2 with forward secrecy and authenticated encryption. Go
// orders them, and chooses those of TLS 1.3 by itself.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// guarded is what stands before every door that is reached over TCP.
func (n *Node) guarded(doors http.Handler) http.Handler {
	return api.BehindProxies(n.settings.TrustedProxies, api.Headers(n.overTLS, doors))
}

// overTLS says whether a host is one of this node's that is reached by https.
// This machine itself is none: a browser keeps to https for all ports of a host.
func (n *Node) overTLS(host string) bool {
	if node.IsLoopback(host) {
		return false
	}
	origin := "https://" + strings.TrimSuffix(strings.ToLower(host), ":443")
	return origin == n.settings.URL() || slices.Contains(n.settings.DashboardOrigins(), origin)
}
