package token

import (
	"crypto/ed25519"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlink/node"
)

var kinds = []Kind{Access, Envelope, Ack, Receipt, Card}

// letter stands for the claims of any kind.
type letter struct {
	Iss  string          `json:"iss"`
	Seq  int64           `json:"seq"`
	Text string          `json:"text"`
	Body json.RawMessage `json:"body"`
}

func TestSignAndOpen(t *testing.T) {
	t.Parallel()
	signer, other := newSigner(t), newSigner(t)
	want := letter{Iss: "ada@example.org", Seq: node.MaxSafeInt, Text: "a<b>&\u2028\U0001f600", Body: json.RawMessage(`{"a":[1,2.5]}`)}
	for _, kind := range kinds {
		compact, err := signer.Sign(kind, want)
		if err != nil {
			t.Fatal(err)
		}
		var got letter
		if err := Open(kind, signer.PublicKey(), compact, &got); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		var peeked letter
		if err := Peek(kind, compact, &peeked); err != nil || !cmp.Equal(want, peeked) {
			t.Errorf("%s: a look inside: %v", kind, err)
		}
		if err := Open(kind, other.PublicKey(), compact, new(letter)); node.CodeOf(err) != node.Unauthorized {
			t.Errorf("%s, another's key: %v", kind, err)
		}
		for _, wrong := range kinds {
			if wrong == kind {
				continue
			}
			if err := Open(wrong, signer.PublicKey(), compact, new(letter)); node.CodeOf(err) != node.Unauthorized {
				t.Errorf("%s as %s: %v", kind, wrong, err)
			}
			if err := Peek(wrong, compact, new(letter)); node.CodeOf(err) != node.Unauthorized {
				t.Errorf("a look inside %s as %s: %v", kind, wrong, err)
			}
		}
	}
}

// The bytes are part of the protocol.
func TestSignGolden(t *testing.T) {
	t.Parallel()
	signer := NewSigner(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	compact, err := signer.Sign(Ack, map[string]any{"ref": "1", "iat": 7})
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(compact, ".")
	head, _ := decode(parts[0])
	claims, _ := decode(parts[1])
	if want := `{"alg":"EdDSA","kid":"` + signer.Fingerprint() + `","typ":"agentlink-ack+jwt"}`; string(head) != want {
		t.Errorf("header %s, want %s", head, want)
	}
	if want := `{"iat":7,"ref":"1"}`; string(claims) != want {
		t.Errorf("claims %s, want %s", claims, want)
	}
	if again, _ := signer.Sign(Ack, map[string]any{"iat": 7, "ref": "1"}); again != compact {
		t.Error("the same claims give other bytes")
	}
}

func TestSignAndOpenLimits(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	empty, err := node.Canonical(letter{})
	if err != nil {
		t.Fatal(err)
	}
	full := letter{Text: strings.Repeat("a", node.MaxJSONBytes-len(empty))}
	compact, err := signer.Sign(Envelope, full)
	if err != nil {
		t.Fatal(err)
	}
	if len(compact) > MaxCompact {
		t.Errorf("%d characters, MaxCompact is %d", len(compact), MaxCompact)
	}
	if err := Open(Envelope, signer.PublicKey(), compact, new(letter)); err != nil {
		t.Errorf("64 KiB of claims: %v", err)
	}
	full.Text += "a"
	if _, err := signer.Sign(Envelope, full); node.CodeOf(err) != node.TooLarge {
		t.Errorf("one byte more: %v", err)
	}
	if err := Open(Envelope, signer.PublicKey(), compact+strings.Repeat("A", MaxCompact), new(letter)); node.CodeOf(err) != node.TooLarge {
		t.Errorf("a long text: %v", err)
	}
	if _, err := signer.Sign(Envelope, make(chan int)); node.CodeOf(err) != node.Internal {
		t.Errorf("what is no JSON: %v", err)
	}
}

// Signed or not, claims are decoded strictly.
func TestOpenDecodesStrictly(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	for _, claims := range []string{
		`{"iss":"a","extra":1}`, `{"Iss":"a"}`, `{"iss":"a","iss":"b"}`, `{"seq":9007199254740992}`, `{"body":{"a":1,"a":2}}`, `{"seq":1.0}`,
		`null`, `[]`, `"x"`, ``, `{`, `{} {}`, "\ufeff{}", "{\"iss\":\"\xff\"}", `{"body":` + strings.Repeat("[", 16) + strings.Repeat("]", 16) + `}`,
	} {
		compact := f.sign(f.header, claims)
		err := Open(Envelope, f.signer.PublicKey(), compact, new(letter))
		want := node.BadRequest
		if claims == "" {
			want = node.Unauthorized // an empty part is no JWS of ours at all
		}
		if node.CodeOf(err) != want || err == nil {
			t.Errorf("%q: %v, want %s", claims, err, want)
		}
	}
}

func TestSignPropertyAnyClaims(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	rapid.Check(t, func(t *rapid.T) {
		want := letter{
			Iss:  strings.ToValidUTF8(rapid.String().Draw(t, "iss"), ""),
			Seq:  rapid.Int64Range(-node.MaxSafeInt, node.MaxSafeInt).Draw(t, "seq"),
			Text: strings.ToValidUTF8(rapid.String().Draw(t, "text"), ""),
			Body: json.RawMessage(`{}`),
		}
		compact, err := signer.Sign(Envelope, want)
		if err != nil {
			t.Fatal(err)
		}
		var got letter
		if err := Open(Envelope, signer.PublicKey(), compact, &got); err != nil || !cmp.Equal(want, got) {
			t.Fatalf("%+v: %v", got, err)
		}
		// Whatever one character becomes, it does not open.
		at := rapid.IntRange(0, len(compact)-1).Draw(t, "at")
		to := rapid.SampledFrom([]byte("ABCxyz019-_.= \n+/\x00")).Draw(t, "to")
		if compact[at] == to {
			return
		}
		if err := Open(Envelope, signer.PublicKey(), compact[:at]+string(to)+compact[at+1:], new(letter)); err == nil {
			t.Fatalf("character %d may also be %q", at, to)
		}
	})
}

func TestNewSignerPanicsWithoutKey(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a signer without a key")
		}
	}()
	NewSigner(nil)
}

func FuzzOpen(f *testing.F) {
	forge := newForge(f)
	good := forge.sign(forge.header, `{"iss":"a","seq":1,"text":"x","body":{}}`)
	f.Add(good)
	f.Add(good + "=")
	f.Add("..")
	f.Add(encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(`{}`)) + ".")
	f.Add(forge.sign(`{"alg":"EdDSA"}`, `{}`))
	f.Fuzz(func(t *testing.T, compact string) {
		var claims letter
		if err := Open(Envelope, forge.signer.PublicKey(), compact, &claims); err == nil && compact != good {
			t.Fatalf("what was not signed opens: %q", compact)
		}
		if err := Peek(Envelope, compact, &claims); err != nil && node.CodeOf(err) == node.Internal {
			t.Fatal(err)
		}
	})
}

func BenchmarkSign1KiB(b *testing.B) {
	signer, claims := newSigner(b), letter{Text: strings.Repeat("a", 1<<10), Body: json.RawMessage(`{}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := signer.Sign(Envelope, claims); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen1KiB(b *testing.B) {
	signer := newSigner(b)
	compact, err := signer.Sign(Envelope, letter{Text: strings.Repeat("a", 1<<10), Body: json.RawMessage(`{}`)})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := Open(Envelope, signer.PublicKey(), compact, new(letter)); err != nil {
			b.Fatal(err)
		}
	}
}

// The floor beside it: the signature alone.
func BenchmarkFloorVerify1KiB(b *testing.B) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		b.Fatal(err)
	}
	message := make([]byte, 1500)
	signature := ed25519.Sign(private, message)
	for b.Loop() {
		if !ed25519.Verify(public, message, signature) {
			b.Fatal("not verified")
		}
	}
}
