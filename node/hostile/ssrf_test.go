package hostile

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/config"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// hosts are hosts that name this machine, its network or a cloud's metadata, in
// the ways that somebody reads so. PORT is where the test listens.
var hosts = []string{
	"127.0.0.1:PORT", "127.0.0.53:PORT", "127.1:PORT", "127.0.1:PORT", "127.000.000.001:PORT", "2130706433:PORT", "017700000001:PORT",
	"0x7f000001:PORT", "0x7f.0.0.1:PORT", "0x7f.1:PORT", "0177.0.0.1:PORT", "0177.0.0.01:PORT", "0:PORT", "0.0.0.0:PORT", "00.0.0.0:PORT", "0x0:PORT",
	"localhost:PORT", "LOCALHOST:PORT", "localhost.:PORT", "sub.localhost:PORT", "127.0.0.1.:PORT", "localhost.localdomain:PORT", "ip6-localhost:PORT",
	"[::1]:PORT", "[0:0:0:0:0:0:0:1]:PORT", "[::]:PORT", "[::127.0.0.1]:PORT", "[::ffff:127.0.0.1]:PORT", "[::ffff:7f00:1]:PORT", "[::ffff:0:127.0.0.1]:PORT",
	"[64:ff9b::127.0.0.1]:PORT", "[64:ff9b::7f00:1]:PORT", "[64:ff9b:1::7f00:1]:PORT", "[2002:7f00:1::]:PORT", "[2001:0:7f00:1::80ff:fffe]:PORT",
	"[fe80::1]:PORT", "[fe80::1%25lo]:PORT", "[fe80::1%lo]:PORT", "[fc00::1]:PORT", "[fd00::1]:PORT", "[ff02::1]:PORT", "[::1%25lo]:PORT",
	"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.254", "192.168.0.1", "100.64.0.1", "198.18.0.1", "192.0.2.1", "203.0.113.1", "224.0.0.1",
	"239.255.255.250", "240.0.0.1", "255.255.255.255", "169.254.0.1", "169.254.169.254", "169.254.169.254:80", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376",
	"[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[fd00:ec2::254]", "[fd20:ce::254]", "169.254.170.2",
	"100.100.100.200", "192.0.0.192", "168.63.129.16", "metadata.google.internal", "metadata", "instance-data.", "169.254.169.254.",
	"user:pass@127.0.0.1:PORT", "example.org@127.0.0.1:PORT", "127.0.0.1:PORT#@example.org", "127.0.0.1:PORT/", "127.0.0.1:PORT?", "127.0.0.1:PORT\\@example.org",
	"127。0。0。1:PORT", "①②⑦.⓪.⓪.①:PORT", "ⓛocalhost:PORT", "127.0.0.1%00.example.org:PORT", "127.0.0.1:PORT ", " 127.0.0.1:PORT", "127.0.0.1\t:PORT",
	"[::1]:0PORT", "127.0.0.1:+PORT", "127.0.0.1:0xPORT", "127.0.0.1:", "[::1", "::1", "",
}

// canary listens on every address of this machine and counts who comes.
func canary(t *testing.T) (port string, came *atomic.Int32) {
	t.Helper()
	came = &atomic.Int32{}
	l, err := net.Listen("tcp", ":0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			_ = conn.Close()
		}
	}()
	_, port, err = net.SplitHostPort(l.Addr().String())
	must(t, err)
	return port, came
}

// TestNoConnectionToThisMachine (G9): a node that the world can reach is told a
// hundred hosts, by each way on which it looks something up or sends: an agent's
// and the owner's request to connect, an invitation, a stranger's request, and
// the document of a program. Nobody comes to the listener.
func TestNoConnectionToThisMachine(t *testing.T) {
	t.Parallel()
	port, came := canary(t)
	clock := node.NewFakeClock(noon)
	n := nodetest.Start(t, nodetest.Options{Clock: clock, Still: true, Settings: map[string]string{config.PublicURLName: "https://home.example"}})
	agent := n.CreateAgent("ana", policy.Autonomous)
	visitor := n.SignIn()
	if len(hosts) < 60 {
		t.Fatalf("only %d hosts", len(hosts))
	}
	home := &home{Node: n, agent: agent, world: &world{t: t, clock: clock}, sealsFor: newParty().recipient}
	home.agent.Address = "ana@home.example"
	for i, host := range hosts {
		host = strings.ReplaceAll(host, "PORT", port)
		if i%12 == 0 { // before what a day and a token allow is used up
			clock.Advance(25 * time.Hour)
			agent.Renew()
			visitor = n.SignIn()
		}
		answer := agent.Post("/v1/agent/connections", map[string]any{"address": "eve@" + host})
		if answer.Status < 400 {
			t.Errorf("%q: the agent's request is answered %d", host, answer.Status)
		}
		fingerprint := strings.Repeat("a", 52)
		for _, request := range []socket.RequestConnection{
			{Agent: agent.ID, Address: "eve@" + host},
			{Agent: agent.ID, Invitation: "https://" + host + "/#eve@" + host + "/" + fingerprint + "/AAAAAAAAAAAAAAAAAAAAAA"},
		} {
			if err := n.Try(socket.ConnectionRequest, request, nil); err == nil {
				t.Errorf("%q: the owner's request is taken: %+v", host, request)
			}
		}
		home.strangerFrom(host)
		for _, scheme := range []string{"https", "http"} {
			visitor.Get("/oauth/authorize?" + url.Values{
				"client_id": {scheme + "://" + host + "/document.json"}, "redirect_uri": {"https://program.example/"}, "response_type": {"code"}, "state": {"x"},
				"code_challenge": {strings.Repeat("a", 43)}, "code_challenge_method": {"S256"}, "resource": {n.DashboardURL() + "/mcp"},
			}.Encode())
		}
		n.Step()
	}
	for range 30 {
		clock.Advance(20 * time.Minute)
		n.Step()
	}
	if count := came.Load(); count != 0 {
		t.Errorf("%d connections were opened", count)
	}
	if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil { // the listener does count
		_ = conn.Close()
		nodetest.Eventually(t, "the listener counts", func() bool { return came.Load() == 1 })
	}
	t.Logf("%d hosts", len(hosts))
}

// strangerFrom posts a request to connect of somebody who says to be there.
func (h *home) strangerFrom(host string) {
	h.world.t.Helper()
	r := &rogue{party: newParty(), t: h.world.t, home: h, handle: "eve", host: host, inbox: "https://" + host + wire.InboxPath, client: &clientOfTests}
	h.receives([]byte(r.envelope(r.claims(wire.ConnectionRequest), fmt.Sprintf(`{"recipient":%q,"inbox":%q}`, r.recipient, r.inbox))))
}

// waysOut are the files that may open connections: the one client for peers, and
// what talks to a node from outside of it.
var waysOut = []string{
	"node/delivery/client.go",   // peers, cards, documents: with the filter
	"node/api/socket/client.go", // the command line, to the node's own socket
	"node/api/mcp/stdio.go",     // the bridge of an MCP client to its own node
	"node/demo/agent.go",        // the demonstration's agents, to their own nodes
}

// TestOneWayOut: no other file of the program dials, or has a client of its own.
// Databases are reached by their drivers.
func TestOneWayOut(t *testing.T) {
	t.Parallel()
	dialling := map[string][]string{
		"net/http":   {"Client", "Get", "Head", "Post", "PostForm", "DefaultClient", "DefaultTransport", "Transport"},
		"net":        {"Dial", "DialTimeout", "Dialer", "DialTCP", "DialUDP", "DialIP", "DialUnix"},
		"crypto/tls": {"Dial", "DialWithDialer", "Dialer"}, "net/smtp": {"Dial", "SendMail"}, "net/rpc": {"Dial", "DialHTTP"},
	}
	root, seen := filepath.Join("..", ".."), []string{}
	must(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if !strings.HasPrefix(name, "node/nodetest/") && usesAny(t, path, dialling) {
			seen = append(seen, name)
		}
		return nil
	}))
	slices.Sort(seen)
	want := slices.Sorted(slices.Values(waysOut))
	if !slices.Equal(seen, want) {
		t.Errorf("these dial: %v\nwant: %v", seen, want)
	}
}

func usesAny(t *testing.T, path string, dialling map[string][]string) (uses bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	must(t, err)
	names := map[string]string{} // of imports
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		name := imported[strings.LastIndex(imported, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := selector.X.(*ast.Ident); ok && slices.Contains(dialling[names[pkg.Name]], selector.Sel.Name) {
			uses = true
		}
		return true
	})
	return uses
}
