package wire_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination/wire"
	"agentlink/node"
)

var noon = time.Date(2027, 3, 2, 12, 0, 0, 0, time.UTC)

// contents are the contents that a type has, each with its canonical form.
var contents = []struct {
	value any
	want  string
}{
	{&wire.Chat{Text: "hi"}, `{"text":"hi"}`},
	{&wire.Request{Recipient: "age1x", Inbox: "https://a.example/"}, `{"inbox":"https://a.example/","recipient":"age1x"}`},
	{&wire.Request{Note: "n", Secret: "s", Recipient: "r", Inbox: "i"}, `{"inbox":"i","note":"n","recipient":"r","secret":"s"}`},
	{&wire.Notice{}, `{}`},
	{&wire.Notice{Request: jti}, `{"request":"` + jti + `"}`},
	{&wire.Create{TaskType: "dinner.coordination", Title: "Dinner", Deadline: noon}, `{"deadline":"2027-03-02T12:00:00Z","taskType":"dinner.coordination","title":"Dinner"}`},
	{&wire.Create{TaskType: "t", Title: "x", Deadline: noon, Proposal: &wire.Proposal{Version: 1, Fields: []byte(`{"a":1}`), Digest: "d"}},
		`{"deadline":"2027-03-02T12:00:00Z","proposal":{"digest":"d","fields":{"a":1},"version":1},"taskType":"t","title":"x"}`},
	{&wire.Proposal{Version: 2, Fields: []byte(`{"partySize":4}`), Digest: "d"}, `{"digest":"d","fields":{"partySize":4},"version":2}`},
	{&wire.Response{Version: 2, Digest: "d", Decision: wire.Accept}, `{"decision":"accept","digest":"d","version":2}`},
	{&wire.Response{Version: 2, Digest: "d", Decision: wire.Reject, Reason: "too late"}, `{"decision":"reject","digest":"d","reason":"too late","version":2}`},
	{&wire.Cancel{}, `{}`},
	{&wire.Cancel{Reason: "ill"}, `{"reason":"ill"}`},
	{&wire.Void{JTI: jti}, `{"jti":"` + jti + `"}`},
}

func TestContents(t *testing.T) {
	t.Parallel()
	for _, tt := range contents {
		text := canonical(t, tt.value)
		if text != tt.want {
			t.Errorf("%T: %s, want %s", tt.value, text, tt.want)
		}
		back := reflect.New(reflect.TypeOf(tt.value).Elem()).Interface()
		if err := node.Decode([]byte(text), back); err != nil {
			t.Errorf("%T: %v", tt.value, err)
		}
		if diff := cmp.Diff(tt.value, back); diff != "" {
			t.Errorf("%T: %s", tt.value, diff)
		}
	}
}

// targets has an empty value of each thing that is decoded from outside.
var targets = []func() any{
	func() any { return new(wire.Envelope) }, func() any { return new(wire.Inner) }, func() any { return new(wire.Ack) },
	func() any { return new(wire.Card) }, func() any { return new(wire.Chat) }, func() any { return new(wire.Request) },
	func() any { return new(wire.Notice) }, func() any { return new(wire.Create) }, func() any { return new(wire.Proposal) },
	func() any { return new(wire.Response) }, func() any { return new(wire.Cancel) }, func() any { return new(wire.Confirm) },
	func() any { return new(wire.Void) }, func() any { return new(wire.WitnessRequest) }, func() any { return new(wire.WitnessAnswer) },
}

// TestContentsAreReadStrictly spoils the first member of each content in the
// ways that lenient decoders take.
func TestContentsAreReadStrictly(t *testing.T) {
	t.Parallel()
	for _, tt := range contents {
		for name, text := range map[string]string{
			"unknown member": `{"approved":true,` + tt.want[1:],
			"after the end":  tt.want + tt.want,
			"a comment":      "/* */" + tt.want,
			"in an array":    "[" + tt.want + "]",
			"null byte":      "\x00" + tt.want,
		} {
			if tt.want == "{}" && name == "unknown member" {
				text = `{"approved":true}`
			}
			back := reflect.New(reflect.TypeOf(tt.value).Elem()).Interface()
			if err := node.Decode([]byte(text), back); node.CodeOf(err) != node.BadRequest {
				t.Errorf("%T, %s: %v", tt.value, name, err)
			}
		}
	}
	for _, text := range []string{`{"Text":"a"}`, `{"text":"a","text":"b"}`, `{"text":"a","TEXT":"b"}`, `{"text":1}`, `{"text":"\ud800"}`, "{\"text\":\"\xff\"}"} {
		if err := node.Decode([]byte(text), new(wire.Chat)); node.CodeOf(err) != node.BadRequest {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzContents decodes anything as each of the contents: what is taken has one
// canonical form, which is taken again and means the same.
func FuzzContents(f *testing.F) {
	for i, tt := range contents {
		f.Add(uint8(i), []byte(tt.want))
	}
	for i := range targets {
		f.Add(uint8(i), []byte("{}"))
	}
	f.Add(uint8(11), []byte(`{"version":1,"digest":"d","action":"reservation.book","code":"AL-1","executedAt":"2027-03-02T12:00:00.5+01:00","simulated":true}`))
	f.Add(uint8(2), []byte(`{"iss":"a@a.test","aud":"b@b.test","ref":"r","sha256":"s","status":"applied","head":{"n":7,"seal":"x"},"iat":1}`))
	f.Add(uint8(14), []byte(`{"iss":"a@a.test","aud":"b@b.test","ref":"r","heads":[{"n":7,"seal":"x","at":1}],"iat":1}`))
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		fresh := targets[int(which)%len(targets)]
		first := fresh()
		if node.Decode(text, first) != nil {
			return
		}
		form, err := node.Canonical(first)
		if err != nil {
			return // a time with a zone that RFC 3339 cannot write, a lone surrogate
		}
		second := fresh()
		if err := node.Decode(form, second); err != nil {
			t.Fatalf("%T takes %q but not %q: %v", first, text, form, err)
		}
		again, err := node.Canonical(second)
		if err != nil || string(again) != string(form) {
			t.Fatalf("%T: %q became %q (%v)", first, form, again, err)
		}
	})
}

// FuzzOpen opens anything as the body of an envelope.
func FuzzOpen(f *testing.F) {
	e := valid(wire.TaskPropose)
	sealed, err := e.Seal(innerOf(e), same)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed.Body)
	f.Add("e30")
	f.Add("")
	f.Fuzz(func(t *testing.T, body string) {
		other := e
		other.Body = body
		inner, err := other.Open(same)
		if err == nil && (!inner.Matches(e) || inner.Author != wire.AuthorAgent && inner.Author != wire.AuthorOwner) {
			t.Errorf("opened %q as %+v", body, inner)
		}
	})
}
