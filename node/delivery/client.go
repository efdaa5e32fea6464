package delivery

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
)

// MaxAnswer is how much of a peer's answer is read, in bytes.
const MaxAnswer = 64 << 10

// Transport posts bytes to a peer. wrote is false only where provably no byte
// of the request has left.
type Transport interface {
	Post(ctx context.Context, url string, body []byte) (status int, header http.Header, answer []byte, wrote bool, err error)
}

// ClientConfig configures a Client. The zero value is safe.
type ClientConfig struct {
	Reach Reach
	// AllowPlain allows http to hosts that are not loopback.
	AllowPlain bool
	// Resolver and RootCAs are the machine's where nil.
	Resolver *net.Resolver
	RootCAs  *x509.CertPool
	// Timeouts are 5 s, 5 s and 15 s where zero.
	DialTimeout, TLSTimeout, Timeout time.Duration
}

// Client is the node's only HTTP client for peers. It follows no redirect, asks
// no proxy, and looks at the address that is dialled, not at the name: what a
// name resolved to a moment ago does not matter.
type Client struct {
	config ClientConfig
	http   *http.Client
	// dialling is told of every address just before a connection to it is opened.
	dialling func(netip.AddrPort) error
}

// NewClient makes a client.
func NewClient(config ClientConfig) *Client {
	config.DialTimeout = orElse(config.DialTimeout, 5*time.Second)
	config.TLSTimeout = orElse(config.TLSTimeout, 5*time.Second)
	config.Timeout = orElse(config.Timeout, 15*time.Second)
	c := &Client{config: config, dialling: func(netip.AddrPort) error { return nil }}
	c.http = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            c.dial,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: config.RootCAs},
			TLSHandshakeTimeout:    config.TLSTimeout,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 16 << 10,
			MaxIdleConns:           100,
			MaxIdleConnsPerHost:    maxInFlight,
			IdleConnTimeout:        30 * time.Second,
		},
	}
	return c
}

func orElse(value, standard time.Duration) time.Duration {
	if value == 0 {
		return standard
	}
	return value
}

// Close drops the connections that are kept for later.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// errNotReachable is what the dialer answers for an address outside Reach.
var errNotReachable = errors.New("the address is not a public one")

// dial opens a connection. Control runs for each address that the name resolved
// to, after the socket is made and before it connects.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	loopback := node.IsLoopback(address)
	dialer := net.Dialer{
		Timeout:  c.config.DialTimeout,
		Resolver: c.config.Resolver,
		Control: func(_, address string, _ syscall.RawConn) error {
			target, err := netip.ParseAddrPort(address)
			if err != nil || !c.config.Reach.Allows(target.Addr(), loopback) {
				return errNotReachable
			}
			return c.dialling(target)
		},
	}
	return dialer.DialContext(ctx, network, address)
}

// Post implements Transport.
func (c *Client) Post(ctx context.Context, target string, body []byte) (status int, header http.Header, answer []byte, wrote bool, err error) {
	// From the moment that there is a connection bytes may leave. A later mark
	// would be nearer to the truth and less safe.
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	status, header, answer, err = c.do(httptrace.WithClientTrace(ctx, trace), http.MethodPost, target, body)
	return status, header, answer, connected.Load(), err
}

// Get fetches a document.
func (c *Client) Get(ctx context.Context, target string) (status int, answer []byte, err error) {
	status, _, answer, err = c.do(ctx, http.MethodGet, target, nil)
	return status, answer, err
}

func (c *Client) do(ctx context.Context, method, target string, body []byte) (int, http.Header, []byte, error) {
	if err := c.checkURL(target); err != nil {
		return 0, nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("User-Agent", "agentlink")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/jose")
		request.Header.Set(wire.HeadHeader, wire.HeadWanted)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	answer, err := readAnswer(response)
	return response.StatusCode, response.Header, answer, err
}

func readAnswer(response *http.Response) ([]byte, error) {
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" {
		return nil, errors.New("the answer is encoded")
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, MaxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(answer) > MaxAnswer {
		return nil, errors.New("the answer is larger than 64 KiB")
	}
	return answer, nil
}

func (c *Client) checkURL(target string) error {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return errors.New("the URL cannot be read")
	case u.User != nil || u.Opaque != "" || u.Fragment != "" || !node.ValidHost(u.Host):
		return errors.New("the URL names no host of a node")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && (c.config.AllowPlain || node.IsLoopback(u.Host)):
		return nil
	}
	return errors.New("only https is spoken with this host")
}
