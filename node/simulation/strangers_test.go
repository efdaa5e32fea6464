package simulation

import (
	"fmt"
	"testing"

	"agentlink/coordination"
	"agentlink/node"
)

// TestRoomForStrangers: how many requests of strangers wait at most, of a host, from an
// address of the network, and of all.
func TestRoomForStrangers(t *testing.T) {
	p := newPair(t)
	count := 0
	admitted := func(host, ip string) (admitted bool) {
		t.Helper()
		count++
		p.a.in(t, func(tx node.Tx) (err error) {
			stranger := coordination.Stranger{
				ID: p.a.ids.New(), SHA256: fmt.Sprintf("%064d", count), Host: host, IP: ip, Envelope: []byte("x"),
			}
			_, admitted, err = coordination.AdmitStranger(tx, p.a.store, stranger)
			return err
		})
		return admitted
	}
	fill := func(n int, host, ip func(i int) string) {
		t.Helper()
		for i := range n {
			if !admitted(host(i), ip(i)) {
				t.Fatalf("number %d finds no room", count)
			}
		}
	}
	always := func(text string) func(int) string { return func(int) string { return text } }
	numbered := func(format string) func(int) string { return func(i int) string { return fmt.Sprintf(format, i) } }

	fill(coordination.MaxStrangersPerHost, always("one.test"), numbered("192.0.2.%d"))
	if admitted("one.test", "198.51.100.1") {
		t.Error("a host has more")
	}
	fill(coordination.MaxStrangersPerIP, numbered("host%d.test"), always("198.51.100.2"))
	if admitted("another.test", "198.51.100.2") {
		t.Error("an address has more")
	}
	fill(coordination.MaxStrangersPerHost+coordination.MaxStrangersPerIP, always("a.test"), always("")) // this node's own agents
	fill(coordination.MaxStrangers-2*coordination.MaxStrangersPerHost-2*coordination.MaxStrangersPerIP, numbered("more%d.test"), numbered("203.0.113.%d"))
	for _, ip := range []string{"", "198.51.100.3"} {
		if admitted("last.test", ip) {
			t.Error("there are more")
		}
	}
	p.a.in(t, func(tx node.Tx) error {
		claimed, _, err := p.a.store.ClaimStranger(tx, tx.Now())
		must(t, err)
		return p.a.store.SettleStranger(tx, claimed.ID, []byte("answer"))
	})
	if !admitted("last.test", "198.51.100.3") {
		t.Error("there is no room though one was settled")
	}
	if admitted("last.test", "198.51.100.3") {
		t.Error("one that was settled makes room for two")
	}
}
