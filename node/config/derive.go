package config

import (
	"net"
	"net/url"
	"strings"

	"agentlink/node"
	"agentlink/node/seal"
)

// InboxPath is where peers post envelopes: wire.InboxPath, which is above this
// package.
const InboxPath = "/agentlink/v1/inbox"

// LoopbackOnly says whether nobody but this machine can reach the node. Only
// then may its peers be on this machine too.
func (c Config) LoopbackOnly() bool {
	if !node.IsLoopback(c.Listen) || (c.PublicListen != "" && !node.IsLoopback(c.PublicListen)) {
		return false
	}
	return c.PublicURL == "" || node.IsLoopback(urlHost(c.PublicURL))
}

func urlHost(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return parsed.Host
}

// TLS says whether a certificate is set.
func (c Config) TLS() bool { return c.TLSCert != "" }

// ListenTLS says whether the owner's and agents' side speaks TLS: where it has a
// certificate and does not stay on this machine.
func (c Config) ListenTLS() bool { return c.TLS() && !node.IsLoopback(c.Listen) }

// PublicTLS says whether the peers' side speaks TLS.
func (c Config) PublicTLS() bool {
	if c.PublicListen == "" {
		return c.ListenTLS()
	}
	return c.TLS()
}

// LocalURL is how agents on this machine reach the node. It is the issuer of
// their tokens.
func (c Config) LocalURL() string { return httpURL(c.ListenTLS(), reachable(c.Listen)) }

// URL is how peers reach the node, without a slash at the end.
func (c Config) URL() string {
	switch {
	case c.PublicURL != "":
		return c.PublicURL
	case c.PublicListen != "":
		return httpURL(c.PublicTLS(), c.PublicListen)
	}
	return httpURL(c.ListenTLS(), c.Listen)
}

// Host is the host[:port] in the addresses of this node's agents.
func (c Config) Host() string { return urlHost(c.URL()) }

// InboxURL is where peers post envelopes.
func (c Config) InboxURL() string { return c.URL() + InboxPath }

func httpURL(tls bool, hostPort string) string {
	if tls {
		return "https://" + hostPort
	}
	return "http://" + hostPort
}

// reachable puts this machine's name where an address means every interface.
func reachable(listen string) string {
	if wildcard(listen) {
		_, port, _ := net.SplitHostPort(listen)
		return net.JoinHostPort("localhost", port)
	}
	return listen
}

func wildcard(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return err == nil && (host == "" || (ip != nil && ip.IsUnspecified()))
}

// MasterPassphrase is what seal.LoadMaster takes: nil where no file is set.
func (c Config) MasterPassphrase() func() ([]byte, error) {
	if c.MasterPassphraseFile == "" {
		return nil
	}
	return func() ([]byte, error) {
		content, err := seal.ReadPrivate(c.MasterPassphraseFile, "passphrase file")
		return []byte(strings.TrimRight(string(content), "\r\n")), err
	}
}
