package hostile

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/node/token"
	"agentlink/policy"
)

// TestCrossSigned (S2): four contacts of a real node, each type of message in
// the name of each, signed with the key of each other one. None is accepted.
func TestCrossSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	h := w.homes[0]
	var all []*rogue
	for _, handle := range []string{"eve", "mallory", "oscar", "trudy"} {
		r := newRogue(t, h, handle)
		r.connect()
		all = append(all, r)
	}
	before, tried := h.looker.state(t, "strangers"), 0
	for _, named := range all {
		for _, signing := range all {
			for _, typ := range wire.Types {
				if named == signing {
					continue
				}
				tried++
				w.clock.Advance(10 * time.Second) // beneath the limit of an address
				e := named.claims(typ)
				if typ.ForTask() {
					e.Task, e.Seq = node.RandomIDs{}.New(), 1
				}
				e = named.sealed(e, canonical(innerOf(e, `{"text":"hello"}`)))
				a := named.post(signing.sign(token.Envelope, e))
				if waits := typ == wire.ConnectionRequest && a.status == http.StatusAccepted; a.status != http.StatusUnauthorized && !waits {
					t.Errorf("%s in the name of %s by %s: %d %s", typ, named.handle, signing.handle, a.status, a.body)
				}
				h.Step()
			}
		}
	}
	if h.looker.state(t, "strangers") != before {
		t.Error("something has changed")
	}
	for _, r := range all {
		if c := h.with(r.address()); c.Status != coordination.ConnActive || c.KeyChanged {
			t.Errorf("%s: %s, key changed %v", r.handle, c.Status, c.KeyChanged)
		}
	}
	t.Logf("%d messages", tried)
}

// TestKeyIsSwappedAfterTheApproval (S2): the owner approves an address with a
// key. When the request is to leave the address shows another: it never does.
func TestKeyIsSwappedAfterTheApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	h := w.homes[0]
	manual := h.CreateAgent("bob", policy.Manual)
	r := newRogue(t, h, "eve")
	manual.Post("/v1/agent/connections", map[string]any{"address": r.address()}).Want(http.StatusAccepted)
	held := h.Pending()
	other := newParty()
	r.shows = &other
	h.Approve(held)
	for range 40 {
		h.Step()
		w.clock.Advance(10 * time.Minute)
	}
	if c := h.with(r.address()); r.posts != 0 || !c.KeyChanged {
		t.Errorf("%d requests were sent; the connection is %+v", r.posts, c)
	}
}

// lowOrder are the encodings of Ed25519's points of low order: under some of them
// one signature fits every message.
var lowOrder = []string{
	"0100000000000000000000000000000000000000000000000000000000000000",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"0000000000000000000000000000000000000000000000000000000000000080",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
	"0000000000000000000000000000000000000000000000000000000000000000",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
	"0100000000000000000000000000000000000000000000000000000000000080",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
}

// TestLowOrderKeysAtPairing (S2): a node whose card shows such a key is not asked
// to connect, and its own request is dropped.
func TestLowOrderKeysAtPairing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	h := w.homes[0]
	for i, text := range lowOrder {
		raw, err := hex.DecodeString(text)
		must(t, err)
		r := newRogue(t, h, fmt.Sprint("weak", i))
		r.card = r.weakCard(raw)
		if err := h.Try(socket.ConnectionRequest, socket.RequestConnection{Agent: h.agent.ID, Address: r.address()}, nil); err == nil {
			t.Errorf("%s: the owner can ask to connect", text)
		}
		w.clock.Advance(time.Hour)
		compact := weakly(token.Envelope, token.Fingerprint(raw), canonical(r.sealed(r.claims(wire.ConnectionRequest), canonical(innerOf(r.claims(wire.ConnectionRequest), r.request())))))
		if a := r.post(compact); a.status != http.StatusAccepted && a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", text, a.status, a.body)
		}
		for range 8 {
			h.Step()
			w.clock.Advance(20 * time.Minute)
		}
		if c := h.with(r.address()); c.ID != "" || r.posts != 0 {
			t.Errorf("%s: there is a connection, %s", text, c.Status)
		}
	}
	if list := nodetest.Owner[[]socket.Connection](h.Node, socket.ConnectionList, socket.ListOf{}); len(list) != 0 {
		t.Errorf("%d connections", len(list))
	}
}

// weakly is a token with the signature that fits everything.
func weakly(kind token.Kind, kid, claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	signature := make([]byte, 64)
	signature[0] = 1
	return encode([]byte(fmt.Sprintf(`{"alg":"EdDSA","kid":%q,"typ":%q}`, kid, kind))) + "." + encode([]byte(claims)) + "." + encode(signature)
}

func (r *rogue) weakCard(key []byte) string {
	now := r.home.world.clock.Now()
	return weakly(token.Card, token.Fingerprint(key), canonical(wire.Card{
		Versions: []int{wire.Version}, Host: r.host, Fingerprint: token.Fingerprint(key), PublicKey: base64.RawURLEncoding.EncodeToString(key),
		Recipient: r.recipient, Inbox: r.inbox, Iat: now.Unix(), Exp: now.Add(20 * 24 * time.Hour).Unix(),
	}))
}
