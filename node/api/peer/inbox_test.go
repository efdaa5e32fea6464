package peer

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/seal"
	"agentlink/node/token"
)

const otherIP = "198.51.100.7"

func TestTakesWhatAPeerSigned(t *testing.T) {
	t.Parallel()
	for _, typ := range wire.Types {
		w := newWorld(t)
		compact := w.envelope(t, w.peer, typ, nil)
		status, answer := w.inbox.Receive(t.Context(), compact, otherIP)
		var ack wire.Ack
		if err := token.Open(token.Ack, w.us.signer.PublicKey(), string(answer), &ack); status != 200 || err != nil {
			t.Fatalf("%s: status %d, %v: %s", typ, status, err, answer)
		}
		if ack.Iss != ana || ack.Aud != ben || ack.SHA256 != sum(compact) || ack.Status != wire.Applied {
			t.Errorf("%s: %+v", typ, ack)
		}
		in := w.state.received[0]
		if in.ConnectionID != "connection of "+ben || in.Sha256 != sum(compact) || !in.Inner.Matches(in.Envelope) {
			t.Errorf("%s: %+v", typ, in)
		}
	}
}

func TestTheSameMessageGetsTheSameAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	compact := w.envelope(t, w.peer, wire.Message, nil)
	_, first := w.inbox.Receive(t.Context(), compact, otherIP)
	for range 100 {
		w.clock.Advance(40 * time.Second) // in the end it is too late to be applied
		status, again := w.inbox.Receive(t.Context(), compact, otherIP)
		if status != 200 || string(again) != string(first) {
			t.Fatalf("status %d, another answer", status)
		}
	}
	if n := w.receivedCount(); n != 1 {
		t.Errorf("received %d times", n)
	}
}

func TestRejectionsAreSignedAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.verdict = func(coordination.Incoming) (wire.Ack, error) {
		return wire.Ack{Status: wire.Rejected, Code: wire.CodeStaleVersion}, nil
	}
	status, answer := w.inbox.Receive(t.Context(), w.envelope(t, w.peer, wire.TaskPropose, nil), otherIP)
	var ack wire.Ack
	if err := token.Open(token.Ack, w.us.signer.PublicKey(), string(answer), &ack); status != 200 || err != nil || ack.Code != wire.CodeStaleVersion {
		t.Errorf("status %d, %v, %+v", status, err, ack)
	}
}

func TestAFailureOfTheNodeUsesUpNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	compact := w.envelope(t, w.peer, wire.TaskPropose, nil)
	check := func(name string) {
		t.Helper()
		status, answer := w.inbox.Receive(t.Context(), compact, otherIP)
		if status != 503 || !strings.Contains(string(answer), `"unavailable"`) || strings.Contains(string(answer), "secret") {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	w.setDown(true)
	check("the database is down")
	w.setDown(false)
	w.verdict = func(coordination.Incoming) (wire.Ack, error) { return wire.Ack{}, errors.New("disk full: secret") }
	check("receiving fails")
	w.verdict = nil
	if status, _ := w.inbox.Receive(t.Context(), compact, otherIP); status != 200 || w.receivedCount() != 1 {
		t.Errorf("afterwards: status %d, received %d", status, w.receivedCount())
	}
}

// refusals are envelopes that must change nothing. Each is signed by the peer
// unless it says otherwise.
func refusals(t *testing.T, w *world) map[string][]byte {
	eve := newParty(t)
	typed := func(typ wire.Type, change func(*wire.Envelope)) []byte { return w.envelope(t, w.peer, typ, change) }
	changed := func(change func(*wire.Envelope)) []byte { return typed(wire.Message, change) }
	inner := func(change func(*wire.Inner)) []byte {
		e := w.claims(wire.TaskPropose)
		in := innerOf(e, "{}")
		change(&in)
		return w.sealed(t, w.peer, e, in)
	}
	good := string(changed(nil))
	parts := strings.Split(good, ".")
	header, _ := base64.RawURLEncoding.DecodeString(parts[0])
	claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
	raw := func(claims string) []byte { return w.peer.signRaw(string(header), claims) }
	replaced := func(from, to string) []byte {
		if !strings.Contains(string(claims), from) {
			t.Fatalf("no %q in the claims", from)
		}
		return raw(strings.Replace(string(claims), from, to, 1))
	}
	forHimself, _ := seal.ToRecipient(w.peer.recipient, node.MustCanonical(innerOf(w.claims(wire.Message), "{}")))
	plain := w.claims(wire.Message)

	return map[string][]byte{
		"empty":                        {},
		"no token":                     []byte("hello"),
		"JSON":                         []byte(`{"v":1}`),
		"two parts":                    []byte(parts[0] + "." + parts[1]),
		"four parts":                   []byte(good + "." + parts[2]),
		"a line break at the end":      []byte(good + "\n"),
		"no signature":                 []byte(parts[0] + "." + parts[1] + "."),
		"alg none":                     w.peer.signRaw(strings.Replace(string(header), "EdDSA", "none", 1), string(claims)),
		"alg HS256":                    w.peer.signRaw(strings.Replace(string(header), "EdDSA", "HS256", 1), string(claims)),
		"another kind":                 w.peer.sign(t, token.Ack, plain),
		"a header that brings a key":   w.peer.signRaw(strings.Replace(string(header), "{", `{"jwk":{},`, 1), string(claims)),
		"signed by eve":                w.envelope(t, eve, wire.Message, nil),
		"signed by eve, ben's kid":     eve.signRaw(string(header), string(claims)),
		"signed by us":                 w.envelope(t, w.us, wire.Message, nil),
		"claims of another signature":  []byte(parts[0] + "." + strings.Split(string(changed(nil)), ".")[1] + "." + parts[2]),
		"unknown sender":               changed(func(e *wire.Envelope) { e.Iss = "eve@" + peerHost }),
		"unknown recipient":            changed(func(e *wire.Envelope) { e.Aud = "nobody@" + ourHost }),
		"another recipient of ours":    changed(func(e *wire.Envelope) { e.Aud = "bob@" + ourHost }),
		"another node":                 changed(func(e *wire.Envelope) { e.Aud = "ana@other.example" }),
		"another node, request":        typed(wire.ConnectionRequest, func(e *wire.Envelope) { e.Aud = "ana@other.example" }),
		"our address as its own":       changed(func(e *wire.Envelope) { e.Iss = ana }),
		"upper case address":           changed(func(e *wire.Envelope) { e.Aud = "Ana@" + ourHost }),
		"version 0":                    changed(func(e *wire.Envelope) { e.V = 0 }),
		"version 2":                    changed(func(e *wire.Envelope) { e.V = 2 }),
		"negative version":             changed(func(e *wire.Envelope) { e.V = -1 }),
		"no id":                        changed(func(e *wire.Envelope) { e.JTI = "" }),
		"an id that is none":           changed(func(e *wire.Envelope) { e.JTI = "1" }),
		"an id in upper case":          changed(func(e *wire.Envelope) { e.JTI = strings.ToUpper(e.JTI) }),
		"no type":                      changed(func(e *wire.Envelope) { e.Type = "" }),
		"written in the future":        changed(func(e *wire.Envelope) { e.Iat = start.Add(301 * time.Second).Unix() }),
		"written never":                changed(func(e *wire.Envelope) { e.Iat = 0 }),
		"over":                         changed(func(e *wire.Envelope) { e.Iat, e.Exp = start.Add(-time.Hour).Unix(), start.Unix() }),
		"over before it was written":   changed(func(e *wire.Envelope) { e.Exp = e.Iat }),
		"a chat for 8 days":            changed(func(e *wire.Envelope) { e.Exp = start.Add(8 * 24 * time.Hour).Unix() }),
		"a notice for 31 days":         typed(wire.ConnectionRevoke, func(e *wire.Envelope) { e.Exp = start.Add(31 * 24 * time.Hour).Unix() }),
		"a proposal for 721 hours":     typed(wire.TaskPropose, func(e *wire.Envelope) { e.Exp = start.Add(721 * time.Hour).Unix() }),
		"a confirm for 61 days":        typed(wire.TaskConfirm, func(e *wire.Envelope) { e.Exp = start.Add(61 * 24 * time.Hour).Unix() }),
		"a type of its own for a year": typed("work.create", func(e *wire.Envelope) { e.Exp = start.Add(365 * 24 * time.Hour).Unix() }),
		"a chat with a task":           changed(func(e *wire.Envelope) { e.Task, e.Seq = e.JTI, 1 }),
		"a chat with a number":         changed(func(e *wire.Envelope) { e.Seq = 1 }),
		"a proposal without a task":    typed(wire.TaskPropose, func(e *wire.Envelope) { e.Task, e.Seq = "", 0 }),
		"a proposal without a number":  typed(wire.TaskPropose, func(e *wire.Envelope) { e.Seq = 0 }),
		"a negative number":            typed(wire.TaskPropose, func(e *wire.Envelope) { e.Seq = -1 }),
		"a negative ack":               typed(wire.TaskPropose, func(e *wire.Envelope) { e.Ack = -1 }),
		"a task that is no id":         typed(wire.TaskPropose, func(e *wire.Envelope) { e.Task = "../../etc" }),

		"unknown claim":         replaced(`"v":1`, `"v":1,"admin":true`),
		"claim twice":           replaced(`"v":1`, `"v":1,"v":1`),
		"claim in another case": replaced(`"aud"`, `"Aud"`),
		"claim twice by case":   replaced(`"v":1`, `"v":1,"V":1`),
		"number as text":        replaced(`"v":1`, `"v":"1"`),
		"fraction":              replaced(`"v":1`, `"v":1.5`),
		"number beyond 2^53":    replaced(`"v":1`, `"v":1,"seq":9007199254740993`),
		"deep":                  replaced(`"v":1`, `"v":1,"x":`+strings.Repeat("[", 1000)+strings.Repeat("]", 1000)),
		"something after":       raw(string(claims) + "{}"),
		"two values":            raw(string(claims) + string(claims)),
		"not UTF-8":             replaced(`"v":1`, "\"v\":1,\"\xff\":1"),
		"an array":              raw("[" + string(claims) + "]"),
		"null":                  raw("null"),
		"no claims":             raw("{}"),

		"no body":                   w.peer.sign(t, token.Envelope, plain),
		"body that is no base64":    w.peer.sign(t, token.Envelope, with(plain, "????")),
		"padded body":               w.peer.sign(t, token.Envelope, with(plain, base64.URLEncoding.EncodeToString([]byte("x")))),
		"body that is no age":       w.peer.sign(t, token.Envelope, with(plain, base64.RawURLEncoding.EncodeToString([]byte("hello")))),
		"body for somebody else":    w.peer.sign(t, token.Envelope, with(plain, base64.RawURLEncoding.EncodeToString(forHimself))),
		"inner of another sender":   inner(func(i *wire.Inner) { i.Iss = "eve@" + peerHost }),
		"inner for another":         inner(func(i *wire.Inner) { i.Aud = "bob@" + ourHost }),
		"inner with another id":     inner(func(i *wire.Inner) { i.JTI = node.RandomIDs{}.New() }),
		"inner of another type":     inner(func(i *wire.Inner) { i.Type = wire.TaskConfirm }),
		"inner of another task":     inner(func(i *wire.Inner) { i.Task = node.RandomIDs{}.New() }),
		"inner with another number": inner(func(i *wire.Inner) { i.Seq++ }),
		"inner without author":      inner(func(i *wire.Inner) { i.Author = "" }),
		"inner by the node itself":  inner(func(i *wire.Inner) { i.Author = "node" }),
		"inner that is empty":       w.sealed(t, w.peer, plain, "{}"),
		"inner that is no JSON":     w.sealed(t, w.peer, plain, "hello"),
		"inner, unknown member":     w.sealed(t, w.peer, plain, strings.Replace(string(node.MustCanonical(innerOf(plain, "{}"))), "{", `{"approved":true,`, 1)),
		"inner, member twice":       w.sealed(t, w.peer, plain, strings.Replace(string(node.MustCanonical(innerOf(plain, "{}"))), "{", `{"author":"owner",`, 1)),
		"inner, member in case":     w.sealed(t, w.peer, plain, strings.Replace(string(node.MustCanonical(innerOf(plain, "{}"))), `"author"`, `"Author"`, 1)),
		"inner, content twice":      w.sealed(t, w.peer, plain, innerText(plain, `{"text":"a","text":"b"}`)),
		"inner, deep content":       w.sealed(t, w.peer, plain, innerText(plain, strings.Repeat("[", 20)+strings.Repeat("]", 20))),
		"request, inbox elsewhere":  requestWith(t, w, func(r *wire.Request) { r.Inbox = "https://victim.example" + wire.InboxPath }),
		"request, no recipient":     requestWith(t, w, func(r *wire.Request) { r.Recipient = "" }),
	}
}

func with(e wire.Envelope, body string) wire.Envelope {
	e.Body = body
	return e
}

// innerText is an inner part with a content that need not be valid.
func innerText(e wire.Envelope, content string) string {
	return strings.Replace(string(node.MustCanonical(innerOf(e, `"CONTENT"`))), `"CONTENT"`, content, 1)
}

func requestWith(t *testing.T, w *world, change func(*wire.Request)) []byte {
	e := w.claims(wire.ConnectionRequest)
	request := wire.Request{Recipient: w.peer.recipient, Inbox: "https://" + peerHost + wire.InboxPath}
	change(&request)
	return w.sealed(t, w.peer, e, innerOf(e, string(node.MustCanonical(request))))
}

// saysForged: what the peer signed and nobody can read gets a signed rejection.
func saysForged(w *world, status int, answer []byte) bool {
	var ack wire.Ack
	return status == 200 && token.Open(token.Ack, w.us.signer.PublicKey(), string(answer), &ack) == nil &&
		ack.Status == wire.Rejected && ack.Code == wire.CodeForged
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := refusals(t, w)
	for name, compact := range all {
		fresh := newWorld(t)
		fresh.us, fresh.peer = w.us, w.peer
		fresh.connect(ana, ben, w.peer)
		fresh.inbox.Signer, fresh.inbox.Open = w.us.signer, w.us.open
		status, answer := fresh.inbox.Receive(t.Context(), compact, otherIP)
		if status != 400 && status != 401 && !saysForged(w, status, answer) {
			t.Errorf("%s: status %d: %s", name, status, answer)
		}
		if fresh.receivedCount() != 0 || fresh.strangersCount() != 0 {
			t.Errorf("%s: it left something", name)
		}
		for _, told := range []string{"signature is", "aud", "iss", "kid", "expired", "handle"} {
			if status != 200 && strings.Contains(string(answer), told) && !strings.Contains(errUnknown.Message, told) {
				t.Errorf("%s: the answer tells of %q: %s", name, told, answer)
			}
		}
	}
	if len(all) < 75 {
		t.Errorf("only %d", len(all))
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if status, _ := w.inbox.Receive(t.Context(), make([]byte, wire.MaxEnvelope+1), otherIP); status != 413 {
		t.Errorf("one byte too many: %d", status)
	}
	if status, _ := w.inbox.Receive(t.Context(), make([]byte, wire.MaxEnvelope), otherIP); status != 400 {
		t.Errorf("as large as allowed, and nothing in it: %d", status)
	}
}

func TestLongestLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for typ, life := range map[wire.Type]time.Duration{
		wire.Message: 7 * 24 * time.Hour, wire.ConnectionRevoke: 30 * 24 * time.Hour, wire.TaskPropose: 720 * time.Hour,
		wire.TaskConfirm: 720*time.Hour + 30*24*time.Hour, "later.type": 30 * 24 * time.Hour,
	} {
		for _, tt := range []struct {
			extra time.Duration
			want  int
		}{{300 * time.Second, 200}, {301 * time.Second, 400}} {
			compact := w.envelope(t, w.peer, typ, func(e *wire.Envelope) { e.Exp = start.Add(life + tt.extra).Unix() })
			if status, answer := w.inbox.Receive(t.Context(), compact, otherIP); status != tt.want {
				t.Errorf("%s for %v more: %d %s", typ, tt.extra, status, answer)
			}
		}
	}
}

// TestCrossSigned signs every type in the name of one of four contacts with the
// key of another: only one's own is taken.
func TestCrossSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := []string{ben, "cleo@" + peerHost, "dan@other.example", "ben@other.example"}
	parties := []party{w.peer, newParty(t), newParty(t), newParty(t)}
	for i, name := range names {
		w.connect(ana, name, parties[i])
	}
	taken := 0
	for i, name := range names {
		for j, from := range parties {
			for _, typ := range wire.Types {
				compact := w.envelope(t, from, typ, func(e *wire.Envelope) { e.Iss = name })
				status, _ := w.inbox.Receive(t.Context(), compact, fmt.Sprintf("2001:db8:%d:%d::1", i, j))
				if own := i == j; own && typ != wire.ConnectionRequest {
					taken++
					if status != 200 {
						t.Errorf("%s, signed by himself, %s: %d", name, typ, status)
					}
				} else if status == 200 && !own {
					t.Errorf("%s, signed by %s, %s: taken", name, names[j], typ)
				}
			}
		}
	}
	if n := w.receivedCount(); n < taken || n > taken+len(names) {
		t.Errorf("%d received, %d were valid", n, taken)
	}
}

// TestMutants (S1) changes valid envelopes of each type at random places: what
// is not byte for byte the original is never taken.
func TestMutants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	random := rand.New(rand.NewPCG(1, 2))
	for _, typ := range wire.Types {
		original := w.envelope(t, w.peer, typ, nil)
		for i := range 200 {
			mutant := mutate(random, original)
			status, _ := w.inbox.Receive(t.Context(), mutant, fmt.Sprintf("10.0.%d.%d", random.IntN(250), i))
			if status == 200 {
				t.Fatalf("%s: a mutant was taken:\n%s\n%s", typ, original, mutant)
			}
		}
	}
	if w.receivedCount() != 0 {
		t.Errorf("%d received", w.receivedCount())
	}
}

func mutate(random *rand.Rand, original []byte) []byte {
	for {
		mutant := append([]byte(nil), original...)
		at := random.IntN(len(mutant))
		switch random.IntN(5) {
		case 0:
			mutant[at] ^= byte(1 + random.IntN(255))
		case 1:
			mutant = append(mutant[:at], mutant[at+1:]...)
		case 2:
			mutant = append(mutant[:at], append([]byte{byte(random.IntN(256))}, mutant[at:]...)...)
		case 3:
			other := random.IntN(len(mutant))
			mutant[at], mutant[other] = mutant[other], mutant[at]
		case 4:
			mutant = mutant[:at]
		}
		if string(mutant) != string(original) {
			return mutant
		}
	}
}

func TestNoiseIsSlowedDownAndHonestPeersAreNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	eve := newParty(t)
	for i := range 30 {
		status, answer := w.inbox.Receive(t.Context(), w.envelope(t, eve, wire.Message, nil), otherIP)
		if want := map[bool]int{true: 401, false: 429}[i < unknownPerMinute]; status != want {
			t.Fatalf("forgery %d: %d, want %d", i, status, want)
		}
		if status == 429 && !strings.Contains(string(answer), `"rate_limited"`) {
			t.Errorf("%s", answer)
		}
		if status, _ := w.inbox.Receive(t.Context(), w.envelope(t, w.peer, wire.Message, nil), otherIP); status != 200 {
			t.Fatalf("the honest peer at the same address: %d", status)
		}
	}
	if status, _ := w.inbox.Receive(t.Context(), []byte("noise"), "198.51.100.8"); status != 400 {
		t.Errorf("another address: %d", status)
	}
	w.clock.Advance(time.Minute)
	if status, _ := w.inbox.Receive(t.Context(), []byte("noise"), otherIP); status != 400 {
		t.Errorf("a minute later: %d", status)
	}
}

func TestAPeerWhoseMessagesAreRejectedIsSlowedDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.connect(ana, "cleo@other.example", newParty(t))
	code := wire.CodeStaleVersion
	w.verdict = func(in coordination.Incoming) (wire.Ack, error) {
		return wire.Ack{Status: wire.Rejected, Code: code}, nil
	}
	for i := range 3 * rejectedPerMinute {
		status, _ := w.inbox.Receive(t.Context(), w.envelope(t, w.peer, wire.TaskPropose, nil), fmt.Sprintf("2001:db8:%x::1", i))
		if want := map[bool]int{true: 200, false: 429}[i < rejectedPerMinute]; status != want {
			t.Fatalf("message %d: %d, want %d", i, status, want)
		}
	}
	if n := w.receivedCount(); n != rejectedPerMinute {
		t.Errorf("%d were looked at", n)
	}
	w.clock.Advance(time.Minute)
	code = wire.CodeGap
	for range 2 * rejectedPerMinute {
		if status, _ := w.inbox.Receive(t.Context(), w.envelope(t, w.peer, wire.TaskPropose, nil), otherIP); status != 200 {
			t.Fatalf("gaps are held against the peer: %d", status)
		}
	}
}

// FuzzReceive puts anything into the inbox: no panic, and nothing but the one
// valid envelope is received.
func FuzzReceive(f *testing.F) {
	w := newWorld(f)
	valid := w.envelope(f, w.peer, wire.Message, nil)
	f.Add(valid)
	f.Add(w.envelope(f, w.peer, wire.ConnectionRequest, nil))
	f.Add(w.peer.sign(f, token.Envelope, w.claims(wire.TaskPropose)))
	f.Add([]byte("e30.e30.e30"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, compact []byte) {
		before := w.receivedCount()
		status, answer := w.inbox.Receive(t.Context(), compact, "")
		if status == 202 && len(answer) != 0 || status != 202 && len(answer) == 0 {
			t.Errorf("status %d with %d bytes", status, len(answer))
		}
		if w.receivedCount() > before && len(w.state.received[before].Sha256) != 64 {
			t.Error("received without a hash")
		}
	})
}

// FuzzSealedPart puts anything into a validly signed envelope of a peer.
func FuzzSealedPart(f *testing.F) {
	w := newWorld(f)
	e := w.claims(wire.Message)
	f.Add(string(node.MustCanonical(innerOf(e, `{"text":"x"}`))))
	f.Add(innerText(e, `{"a":{"b":[1,2,{"c":null}]}}`))
	f.Add("{}")
	f.Fuzz(func(t *testing.T, inner string) {
		if len(inner) > 40<<10 {
			return
		}
		w.state.answers = map[string][]byte{}
		before := w.receivedCount()
		w.inbox.rejected = newRejected()
		status, answer := w.inbox.Receive(t.Context(), w.sealed(t, w.peer, e, inner), "")
		if status == 200 && !saysForged(w, status, answer) {
			if in := w.state.received[before]; !in.Inner.Matches(e) || node.Decode([]byte(inner), new(wire.Inner)) != nil {
				t.Errorf("received: %q", inner)
			}
		}
	})
}

// BenchmarkReceive is the cost of one message at the inbox with a database in
// memory: verify, open, sign.
func BenchmarkReceive(b *testing.B) {
	w := newWorld(b)
	envelopes := make([][]byte, b.N)
	for i := range envelopes {
		envelopes[i] = w.envelope(b, w.peer, wire.Message, nil)
	}
	b.ResetTimer()
	for _, compact := range envelopes {
		if status, answer := w.inbox.Receive(b.Context(), compact, ""); status != 200 {
			b.Fatal(status, string(answer))
		}
	}
}
