package delivery

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/token"
)

// web answers Get from a table; what is not in it is unreachable.
type web struct {
	pages map[string][]byte
	asked []string
}

func (w *web) Get(_ context.Context, url string) (int, []byte, error) {
	w.asked = append(w.asked, url)
	page, ok := w.pages[url]
	switch {
	case !ok:
		return 0, nil, errors.New("unreachable")
	case page == nil:
		return 404, []byte("not found"), nil
	}
	return 200, page, nil
}

const (
	peerHost = "peer.example"
	cardURL  = "https://peer.example" + wire.CardPath
)

func directoryWith(card []byte) (*Directory, *web) {
	w := &web{pages: map[string][]byte{cardURL: card}}
	return &Directory{Client: w, Clock: node.NewFakeClock(start), Self: coordination.Self{Host: ourHost}}, w
}

// goodCard is a card as peer.example serves it.
func goodCard(p party) wire.Card {
	card := p.card(peerHost, start)
	card.Inbox = "https://" + peerHost + wire.InboxPath
	return card
}

func TestLookup(t *testing.T) {
	t.Parallel()
	p := newParty(t)
	d, _ := directoryWith(p.sign(t, token.Card, goodCard(p)))
	for _, fingerprint := range []string{"", p.signer.Fingerprint()} {
		got, err := d.Lookup(t.Context(), peerHost, fingerprint)
		if err != nil {
			t.Fatal(err)
		}
		want := p.peer(peerHost)
		want.Inbox = "https://" + peerHost + wire.InboxPath
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	_, err := d.Lookup(t.Context(), peerHost, newParty(t).signer.Fingerprint())
	if node.CodeOf(err) != node.Conflict || !errors.Is(err, ErrOtherKey) {
		t.Errorf("another fingerprint: %v", err)
	}
}

func TestCardsThatAreNotValid(t *testing.T) {
	t.Parallel()
	p, other := newParty(t), newParty(t)
	changed := func(f func(*wire.Card)) []byte {
		card := goodCard(p)
		f(&card)
		return p.sign(t, token.Card, card)
	}
	lowOrder := base64.RawURLEncoding.EncodeToString(append([]byte{1}, make([]byte, 31)...))
	for name, card := range map[string][]byte{
		"nothing there":              nil,
		"empty":                      {},
		"a page":                     []byte("<html></html>"),
		"not signed":                 []byte(strings.Join(strings.Split(string(changed(func(*wire.Card) {})), ".")[:2], ".") + "."),
		"signed by another key":      other.sign(t, token.Card, goodCard(p)),
		"another kind of token":      p.sign(t, token.Receipt, goodCard(p)),
		"an unknown claim":           p.sign(t, token.Card, struct{ Versions, Admin []int }{}),
		"another host":               changed(func(c *wire.Card) { c.Host = "other.example" }),
		"another port":               changed(func(c *wire.Card) { c.Host = peerHost + ":443" }),
		"another fingerprint":        changed(func(c *wire.Card) { c.Fingerprint = other.signer.Fingerprint() }),
		"a key of low order":         changed(func(c *wire.Card) { c.PublicKey = lowOrder }),
		"a key that is none":         changed(func(c *wire.Card) { c.PublicKey = "AAAA" }),
		"padded key":                 changed(func(c *wire.Card) { c.PublicKey += "=" }),
		"issued in the future":       changed(func(c *wire.Card) { c.Iat = start.Add(10 * time.Minute).Unix() }),
		"expired":                    changed(func(c *wire.Card) { c.Iat, c.Exp = start.Add(-time.Hour).Unix(), start.Add(-6*time.Minute).Unix() }),
		"good for ever":              changed(func(c *wire.Card) { c.Exp = start.Add(32 * 24 * time.Hour).Unix() }),
		"no version":                 changed(func(c *wire.Card) { c.Versions = nil }),
		"a version that is not ours": changed(func(c *wire.Card) { c.Versions = []int{0, 2, 3} }),
		"no recipient":               changed(func(c *wire.Card) { c.Recipient = "" }),
		"a recipient that is none":   changed(func(c *wire.Card) { c.Recipient = "age1nonsense" }),
		"an identity for recipient":  changed(func(c *wire.Card) { c.Recipient = p.identity }),
		"inbox elsewhere":            changed(func(c *wire.Card) { c.Inbox = "https://other.example" + wire.InboxPath }),
		"inbox on another port":      changed(func(c *wire.Card) { c.Inbox = "https://peer.example:8443" + wire.InboxPath }),
		"inbox below":                changed(func(c *wire.Card) { c.Inbox = "https://peer.example.other.example/" }),
		"inbox with a user":          changed(func(c *wire.Card) { c.Inbox = "https://user@peer.example/" }),
		"inbox with a query":         changed(func(c *wire.Card) { c.Inbox = "https://peer.example/?to=x" }),
		"inbox with a fragment":      changed(func(c *wire.Card) { c.Inbox = "https://peer.example/#x" }),
		"inbox of another scheme":    changed(func(c *wire.Card) { c.Inbox = "file://peer.example/inbox" }),
		"inbox that is no URL":       changed(func(c *wire.Card) { c.Inbox = "inbox" }),
		"no inbox":                   changed(func(c *wire.Card) { c.Inbox = "" }),
	} {
		d, _ := directoryWith(card)
		_, err := d.Lookup(t.Context(), peerHost, "")
		if node.CodeOf(err) != node.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhereCardsAreLookedFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		host  string
		plain bool
		want  []string
	}{
		{"peer.example", false, []string{"https://peer.example" + wire.CardPath}},
		{"peer.example:7411", true, []string{"https://peer.example:7411" + wire.CardPath, "http://peer.example:7411" + wire.CardPath}},
		{"localhost:7411", false, []string{"http://localhost:7411" + wire.CardPath}},
		{"127.0.0.1:7411", false, []string{"http://127.0.0.1:7411" + wire.CardPath}},
		{"[2606:4700::1]", false, []string{"https://[2606:4700::1]" + wire.CardPath}},
		{"[2606:4700::1]:7411", false, []string{"https://[2606:4700::1]:7411" + wire.CardPath}},
	} {
		w := &web{}
		d := &Directory{Client: w, Clock: node.NewFakeClock(start), Self: coordination.Self{Host: ourHost}, AllowPlain: tt.plain}
		if _, err := d.Lookup(t.Context(), tt.host, ""); node.CodeOf(err) != node.Unavailable {
			t.Errorf("%s: %v", tt.host, err)
		}
		if diff := cmp.Diff(tt.want, w.asked); diff != "" {
			t.Errorf("%s: %s", tt.host, diff)
		}
	}
}

func TestHostsThatAreNoNodes(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"", "Peer.example", "peer.example/path", "a@peer.example", "peer.example:0", "peer.example:x", "::1", "[::1%lo]", "127.1", "2130706433", "https://peer.example", "peer example"} {
		d, w := directoryWith(nil)
		if _, err := d.Lookup(t.Context(), host, ""); node.CodeOf(err) != node.BadRequest || len(w.asked) != 0 {
			t.Errorf("%q: %v, asked %v", host, err, w.asked)
		}
	}
}

func TestOurOwnCardIsNotFetched(t *testing.T) {
	t.Parallel()
	p := newParty(t)
	d, w := directoryWith(nil)
	d.Self = coordination.Self{Host: ourHost, Fingerprint: p.signer.Fingerprint(), Recipient: p.recipient, Inbox: "http://" + ourHost + wire.InboxPath}
	d.Signer, d.Recipient = p.signer, func() string { return p.recipient }
	got, err := d.Lookup(t.Context(), ourHost, p.signer.Fingerprint())
	if diff := cmp.Diff(p.peer(ourHost), got); err != nil || diff != "" || len(w.asked) != 0 {
		t.Errorf("%v, asked %v: %s", err, w.asked, diff)
	}
}
