package wire_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/seal"
	"agentlink/node/token"
)

var start = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	jti = "019f1c3a-7b00-7000-8000-000000000001"
	uid = "019f1c3a-7b00-7000-8000-000000000002"
)

// valid is an envelope of the type that has everything but a real body.
func valid(typ wire.Type) wire.Envelope {
	e := wire.Envelope{
		V: 1, Iss: "ana@home.example", Aud: "ben@peer.example:7411", JTI: jti, Iat: start.Unix(),
		Exp: start.Add(time.Hour).Unix(), Type: typ, Body: "eA",
	}
	if typ.ForTask() {
		e.Task, e.Seq, e.Ack = uid, 2, 1
	}
	return e
}

func innerOf(e wire.Envelope) wire.Inner {
	return wire.Inner{
		Iss: e.Iss, Aud: e.Aud, JTI: e.JTI, Type: e.Type, Task: e.Task, Seq: e.Seq, Author: wire.AuthorAgent,
		Content: json.RawMessage(`{"text":"see you at eight"}`),
	}
}

// same stands for sealing where sealing does not matter.
func same(text []byte) ([]byte, error) { return text, nil }

// TestTypes: a message is chat, of a task, about a connection or about a key.
func TestTypes(t *testing.T) {
	t.Parallel()
	for _, typ := range append([]wire.Type{"work.later"}, wire.Types...) {
		head, _, _ := strings.Cut(string(typ), ".")
		want := [3]bool{head == "task", head == "connection", head == "key"}
		if got := [3]bool{typ.ForTask(), typ.Notice(), typ.ForKey()}; got != want {
			t.Errorf("%s: for a task, notice and for a key are %v, want %v", typ, got, want)
		}
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	for _, typ := range wire.Types {
		if !valid(typ).Valid() {
			t.Errorf("%s is not valid", typ)
		}
	}
	chat := func(change func(*wire.Envelope)) wire.Envelope { e := valid(wire.Message); change(&e); return e }
	task := func(change func(*wire.Envelope)) wire.Envelope { e := valid(wire.TaskPropose); change(&e); return e }
	for name, e := range map[string]wire.Envelope{
		"a type of a later version":     chat(func(e *wire.Envelope) { e.Type = "work.later" }),
		"one of those, for a task":      task(func(e *wire.Envelope) { e.Type = "work.create" }),
		"the first of a task, no ack":   task(func(e *wire.Envelope) { e.Seq, e.Ack = 1, 0 }),
		"addresses with IPv6":           chat(func(e *wire.Envelope) { e.Iss = "ana@[::1]:7410" }),
		"both agents at the same node":  chat(func(e *wire.Envelope) { e.Aud = "bob@home.example" }),
		"a later version of the claims": chat(func(e *wire.Envelope) { e.V = 2 }),
	} {
		if !e.Valid() {
			t.Errorf("%s is not valid", name)
		}
	}
	for name, e := range map[string]wire.Envelope{
		"nothing":                {},
		"version":                chat(func(e *wire.Envelope) { e.V = 0 }),
		"sender":                 chat(func(e *wire.Envelope) { e.Iss = "home.example" }),
		"sender in upper case":   chat(func(e *wire.Envelope) { e.Iss = "Ana@home.example" }),
		"recipient":              chat(func(e *wire.Envelope) { e.Aud = "ben@" }),
		"recipient with a path":  chat(func(e *wire.Envelope) { e.Aud = "ben@peer.example/inbox" }),
		"to oneself":             chat(func(e *wire.Envelope) { e.Aud = e.Iss }),
		"id":                     chat(func(e *wire.Envelope) { e.JTI = "7" }),
		"id in braces":           chat(func(e *wire.Envelope) { e.JTI = "{" + e.JTI + "}" }),
		"no iat":                 chat(func(e *wire.Envelope) { e.Iat = 0 }),
		"exp before iat":         chat(func(e *wire.Envelope) { e.Exp = e.Iat }),
		"type":                   chat(func(e *wire.Envelope) { e.Type = "" }),
		"body":                   chat(func(e *wire.Envelope) { e.Body = "" }),
		"chat with a task":       chat(func(e *wire.Envelope) { e.Task, e.Seq = uid, 1 }),
		"chat with a number":     chat(func(e *wire.Envelope) { e.Seq = 1 }),
		"chat with an ack":       chat(func(e *wire.Envelope) { e.Ack = 1 }),
		"request with a task":    chat(func(e *wire.Envelope) { e.Type, e.Task, e.Seq = wire.ConnectionRequest, uid, 1 }),
		"key with a task":        chat(func(e *wire.Envelope) { e.Type, e.Task, e.Seq = wire.KeyRotate, uid, 1 }),
		"proposal, no task":      task(func(e *wire.Envelope) { e.Task = "" }),
		"proposal, no number":    task(func(e *wire.Envelope) { e.Seq = 0 }),
		"proposal, number below": task(func(e *wire.Envelope) { e.Seq = -3 }),
		"proposal, ack below":    task(func(e *wire.Envelope) { e.Ack = -1 }),
		"proposal, strange task": task(func(e *wire.Envelope) { e.Task = "dinner" }),
	} {
		if e.Valid() {
			t.Errorf("%s: valid", name)
		}
	}
}

func TestTimeliness(t *testing.T) {
	t.Parallel()
	at := func(typ wire.Type, iat, exp time.Duration) wire.Envelope {
		e := valid(typ)
		e.Iat, e.Exp = start.Add(iat).Unix(), start.Add(exp).Unix()
		return e
	}
	const day = 24 * time.Hour
	for _, tt := range []struct {
		name string
		e    wire.Envelope
		want wire.Timeliness
	}{
		{"now", at(wire.Message, 0, time.Hour), wire.Timely},
		{"long ago, still worth it", at(wire.Message, -6*day, day), wire.Timely},
		{"300 s ahead", at(wire.Message, 300*time.Second, time.Hour), wire.Timely},
		{"301 s ahead", at(wire.Message, 301*time.Second, time.Hour), wire.TooNew},
		{"ends now", at(wire.Message, -time.Hour, 0), wire.TooLate},
		{"ends in a second", at(wire.Message, -time.Hour, time.Second), wire.Timely},
		{"ended", at(wire.Message, -time.Hour, -time.Second), wire.TooLate},
		{"chat, 7 days", at(wire.Message, 0, 7*day+300*time.Second), wire.Timely},
		{"chat, more", at(wire.Message, 0, 7*day+301*time.Second), wire.TooLong},
		{"task, 30 days", at(wire.TaskCreate, 0, 30*day+300*time.Second), wire.Timely},
		{"task, more", at(wire.TaskCreate, 0, 30*day+301*time.Second), wire.TooLong},
		{"confirm, 60 days", at(wire.TaskConfirm, 0, 60*day+300*time.Second), wire.Timely},
		{"confirm, more", at(wire.TaskConfirm, 0, 60*day+301*time.Second), wire.TooLong},
		{"notice, 30 days", at(wire.ConnectionRevoke, 0, 30*day+300*time.Second), wire.Timely},
		{"notice, more", at(wire.ConnectionRevoke, 0, 30*day+301*time.Second), wire.TooLong},
		{"the end of time", wire.Envelope{Type: wire.Message, Iat: start.Unix(), Exp: node.MaxSafeInt}, wire.TooLong},
	} {
		if got := tt.e.Timeliness(start); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	identity, recipient := seal.NewKeyPair()
	for _, typ := range wire.Types {
		e := valid(typ)
		sealed, err := e.Seal(innerOf(e), func(text []byte) ([]byte, error) { return seal.ToRecipient(recipient, text) })
		if err != nil {
			t.Fatal(err)
		}
		got, err := sealed.Open(func(text []byte) ([]byte, error) { return seal.FromIdentity(identity, text) })
		if diff := cmp.Diff(innerOf(e), got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", typ, err, diff)
		}
	}
}

// TestTheSealedPartBelongsToItsEnvelope: no claim that both repeat can differ.
func TestTheSealedPartBelongsToItsEnvelope(t *testing.T) {
	t.Parallel()
	e := valid(wire.TaskPropose)
	sealed, err := e.Seal(innerOf(e), same)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*wire.Envelope){
		"iss":  func(e *wire.Envelope) { e.Iss = "eve@home.example" },
		"aud":  func(e *wire.Envelope) { e.Aud = "bob@peer.example" },
		"jti":  func(e *wire.Envelope) { e.JTI = uid },
		"type": func(e *wire.Envelope) { e.Type = wire.TaskConfirm },
		"task": func(e *wire.Envelope) { e.Task = jti },
		"seq":  func(e *wire.Envelope) { e.Seq++ },
	} {
		other := sealed
		change(&other)
		if _, err := other.Open(same); !errors.Is(err, wire.ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
		claims := e
		change(&claims)
		if _, err := claims.Seal(innerOf(e), same); !errors.Is(err, wire.ErrForged) {
			t.Errorf("%s, sealing: %v", name, err)
		}
	}
}

// TestASealedPartHasContent: one without could not be stored, and so be rejected.
func TestASealedPartHasContent(t *testing.T) {
	t.Parallel()
	e := valid(wire.Message)
	inner := innerOf(e)
	inner.Content = []byte(`"CONTENT"`)
	text := strings.Replace(string(node.MustCanonical(inner)), `"content":"CONTENT",`, "", 1)
	if strings.Contains(text, "content") {
		t.Fatal(text)
	}
	e.Body = base64.RawURLEncoding.EncodeToString([]byte(text))
	if _, err := e.Open(same); node.CodeOf(err) != node.BadRequest {
		t.Errorf("error %v", err)
	}
}

// TestTheLargestContentFits: what MaxContent promises, with the longest
// addresses and numbers.
func TestTheLargestContentFits(t *testing.T) {
	t.Parallel()
	_, recipient := seal.NewKeyPair()
	label := strings.Repeat("a", 63)
	longest := "@" + strings.Join([]string{label, label, label, label[:61]}, ".") + ":65535"
	longest = strings.Repeat("h", node.MaxAddress-len(longest)) + longest
	e := valid(wire.TaskPropose)
	e.Iss, e.Aud, e.Seq, e.Ack = longest, "z"+longest[1:], node.MaxSafeInt, node.MaxSafeInt
	if !e.Valid() {
		t.Fatalf("%q is no address", longest)
	}
	inner := innerOf(e)
	inner.Content = json.RawMessage(`"` + strings.Repeat("x", wire.MaxContent-2) + `"`)
	sealed, err := e.Seal(inner, func(text []byte) ([]byte, error) { return seal.ToRecipient(recipient, text) })
	if err != nil {
		t.Fatal(err)
	}
	compact, err := token.NewSigner(ed25519.NewKeyFromSeed(make([]byte, 32))).Sign(token.Envelope, sealed)
	if err != nil || len(compact) > wire.MaxEnvelope {
		t.Errorf("%d bytes of %d, %v", len(compact), wire.MaxEnvelope, err)
	}
	if spare := wire.MaxEnvelope - len(compact); spare > 4000 {
		t.Errorf("MaxContent could be larger: %d bytes are spare", spare)
	}
}

func TestInboxOn(t *testing.T) {
	t.Parallel()
	for inbox, want := range map[string]bool{
		"https://peer.example/agentlink/v1/inbox": true,
		"https://peer.example":                    true,
		"http://peer.example/":                    true, // whether http is spoken is the client's business
		"https://peer.example:443/":               false,
		"https://PEER.example/":                   false,
		"https://peer.example./":                  false,
		"https://peer.example.evil.example/":      false,
		"https://evil.example/peer.example":       false,
		"https://user@peer.example/":              false,
		"https://peer.example@evil.example/":      false,
		"https://peer.example/?a":                 false,
		"https://peer.example/?":                  false,
		"https://peer.example/#":                  false,
		"https://peer.example/\n":                 false,
		"ftp://peer.example/":                     false,
		"//peer.example/":                         false,
		"peer.example":                            false,
		"":                                        false,
	} {
		if got := wire.InboxOn(inbox, "peer.example"); got != want {
			t.Errorf("%q: %v, want %v", inbox, got, want)
		}
	}
	if !wire.InboxOn("http://[::1]:7411/x", "[::1]:7411") || wire.InboxOn("https:///x", "") {
		t.Error("IPv6, or no host")
	}
}

func TestShared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		versions []int
		want     int
	}{{[]int{1}, 1}, {[]int{3, 2, 1}, 1}, {[]int{2}, 0}, {[]int{0, -1}, 0}, {nil, 0}} {
		if got := wire.Shared(tt.versions); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.versions, got, tt.want)
		}
	}
}

// vectors pins the bytes of version 1: a second implementation can be checked
// against the file.
type vectors struct {
	Seed        string          `json:"seed"`     // of the signing key, base64url
	Identity    string          `json:"identity"` // age, of the recipient
	Fingerprint string          `json:"fingerprint"`
	Envelope    string          `json:"envelope"`
	Claims      json.RawMessage `json:"claims"`
	Inner       json.RawMessage `json:"inner"`
	Ack         string          `json:"ack"`
	AckClaims   json.RawMessage `json:"ackClaims"`
	Card        string          `json:"card"`
	CardClaims  json.RawMessage `json:"cardClaims"`
}

func TestVectors(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	seed, err := base64.RawURLEncoding.DecodeString(v.Seed)
	if err != nil {
		t.Fatal(err)
	}
	signer := token.NewSigner(ed25519.NewKeyFromSeed(seed))
	if signer.Fingerprint() != v.Fingerprint {
		t.Errorf("fingerprint %s", signer.Fingerprint())
	}
	var e wire.Envelope
	var ack wire.Ack
	var card wire.Card
	for _, object := range []struct {
		kind    token.Kind
		compact string
		claims  json.RawMessage
		into    any
	}{
		{token.Envelope, v.Envelope, v.Claims, &e}, {token.Ack, v.Ack, v.AckClaims, &ack}, {token.Card, v.Card, v.CardClaims, &card},
	} {
		if err := token.Open(object.kind, signer.PublicKey(), object.compact, object.into); err != nil {
			t.Fatalf("%s: %v", object.kind, err)
		}
		if diff := cmp.Diff(canonical(t, object.claims), canonical(t, object.into)); diff != "" {
			t.Errorf("%s: %s", object.kind, diff)
		}
		if again, err := signer.Sign(object.kind, object.into); err != nil || again != object.compact {
			t.Errorf("%s, signed again (%v):\n%s", object.kind, err, again)
		}
	}
	inner, err := e.Open(func(sealed []byte) ([]byte, error) { return seal.FromIdentity(v.Identity, sealed) })
	if diff := cmp.Diff(canonical(t, v.Inner), canonical(t, inner)); err != nil || diff != "" {
		t.Errorf("inner: %v\n%s", err, diff)
	}
}

func canonical(t *testing.T, value any) string {
	t.Helper()
	text, err := node.Canonical(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
