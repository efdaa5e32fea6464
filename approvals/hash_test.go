package approvals_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"regexp"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/store/storetest"
)

// TestHash writes the hash down once more: HMAC-SHA256 over the canonical JSON of
// action and parameters, 64 hexadecimal characters.
func TestHash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got, err := w.Hash("reservation.book", json.RawMessage(`{ "partySize": 4.0, "date": "2026-12-04" }`))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, bytes.Repeat([]byte{1}, 32))
	mac.Write([]byte(`{"action":"reservation.book","parameters":{"date":"2026-12-04","partySize":4}}`))
	if want := hex.EncodeToString(mac.Sum(nil)); got != want || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(got) {
		t.Errorf("hash is %s, want %s", got, want)
	}
}

func TestHashTellsApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := map[string]string{}
	for _, c := range []struct{ action, parameters string }{
		{"reservation.book", `{"partySize":4}`},
		{"reservation.book", `{"partySize":5}`},
		{"reservation.book", `{"partySize":"4"}`},
		{"reservation.book", `{"PartySize":4}`},
		{"reservation.book", `{"partySize":4,"notes":""}`},
		{"reservation.book", `{"partySize":4,"notes":null}`},
		{"reservation.book", `{"partySize":9007199254740991}`},
		{"reservation.book", `{"partySize":9007199254740990}`},
		{"calendar.hold", `{"partySize":4}`},
	} {
		hash, err := w.Hash(c.action, json.RawMessage(c.parameters))
		if err != nil {
			t.Fatal(err)
		}
		text := c.action + " " + c.parameters
		if other, ok := seen[hash]; ok {
			t.Errorf("%s and %s share a hash", other, text)
		}
		seen[hash] = text
	}
}

// TestHashRefuses: what could share a canonical form is refused before hashing.
func TestHashRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, parameters := range []string{
		`{"a":9007199254740992}`, `{"a":9007199254740993}`, `{"a":-9007199254740992}`, `{"a":1e400}`, `{"a":[1,{"b":1e16}]}`,
		`{"a":1,"a":2}`, `{"a":1} {}`, `{`, ``, "{\"a\":\"\xff\"}",
	} {
		if hash, err := w.Hash("reservation.book", json.RawMessage(parameters)); problem(err) != "bad_request" {
			t.Errorf("%q: hash %q, error %v; want bad_request", parameters, hash, err)
		}
		if _, err := w.tryAsk(approvals.Request{AgentID: "agent", OwnerID: "owner", Kind: approvals.Action, Action: "a", Parameters: json.RawMessage(parameters)}); problem(err) != "bad_request" {
			t.Errorf("%q: asking gives %v, want bad_request", parameters, err)
		}
	}
}

// tampering is a store in which somebody without the node's keys wrote.
type tampering struct {
	approvals.Store
	change func(*approvals.Approval)
}

func (s tampering) Approval(tx node.Tx, id string) (approvals.Approval, error) {
	a, err := s.Store.Approval(tx, id)
	s.change(&a)
	return a, err
}

func (s tampering) LockApproval(tx node.Tx, id string) (approvals.Approval, error) {
	a, err := s.Store.LockApproval(tx, id)
	s.change(&a)
	return a, err
}

// TestTampering changes every field of a stored approval, one at a time: it is
// shown as damaged, cannot be decided, and opens nothing.
func TestTampering(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[approvals.Approval]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if name == "Note" || name == "Damaged" { // the note is the owner's own text, and bound to its row by its seal
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			pending, _ := w.in(approvals.Action, approvals.Pending)
			other := request(approvals.Action)
			other.Parameters = json.RawMessage(`{"other":1}`)
			approved := w.ask(other)
			w.must(w.decide(approvals.Decision{ID: approved.ID, Hash: approved.Hash, Approve: true}))
			broken := w.after(func(c *approvals.Config) {
				c.Store = tampering{c.Store, func(a *approvals.Approval) { alter(reflect.ValueOf(a).Elem().FieldByName(name)) }}
			})
			if got := broken.approval(pending.ID); !got.Damaged {
				t.Errorf("shown as whole: %+v", got)
			}
			shown := broken.approval(pending.ID).Hash
			if _, err := broken.decide(approvals.Decision{ID: pending.ID, Hash: shown, Approve: true}); name != "Parameters" && err == nil {
				t.Error("a damaged approval was decided")
			}
			if _, err := broken.use(approved.ID, other.Parameters); err == nil {
				t.Error("a damaged approval opened something")
			}
		})
	}
}

// TestOtherTermsUnderTheHash: parameters that were changed beneath their hash are
// not what leaves when the owner says yes to a message or a connection. Those of
// an action are recomputed when it runs.
func TestOtherTermsUnderTheHash(t *testing.T) {
	t.Parallel()
	for kind, want := range map[approvals.Kind]string{
		approvals.Message: "conflict bad_state", approvals.Connection: "conflict bad_state", approvals.Action: "",
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.ask(request(kind))
			broken := w.after(func(c *approvals.Config) {
				c.Store = tampering{c.Store, func(a *approvals.Approval) { a.Parameters = json.RawMessage(`{"other":2}`) }}
			})
			if _, err := broken.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true}); problem(err) != want {
				t.Errorf("the owner's yes gives %v, want %q", err, want)
			}
			if kind != approvals.Action {
				if got := w.approval(a.ID).Status; got != approvals.Pending || len(broken.heard.calls) != 0 {
					t.Errorf("it is %s, and %v was told", got, broken.heard.calls)
				}
				return
			}
			if _, err := broken.use(a.ID, a.Parameters); problem(err) != "conflict bad_state" {
				t.Errorf("running what was approved gives %v", err)
			}
		})
	}
}

// alter gives a field another value of its type.
func alter(field reflect.Value) {
	switch value := field.Interface().(type) {
	case json.RawMessage:
		field.Set(reflect.ValueOf(json.RawMessage(`{"other":2}`)))
	case map[string]string:
		field.Set(reflect.ValueOf(map[string]string{"y": "mode_manual"}))
	case time.Time:
		field.Set(reflect.ValueOf(value.Add(time.Second)))
		if value.IsZero() {
			field.Set(reflect.ValueOf(noon))
		}
	case int64:
		field.SetInt(value + 1)
	case bool:
		field.SetBool(!value)
	case approvals.Status:
		field.Set(reflect.ValueOf(map[approvals.Status]approvals.Status{
			approvals.Pending: approvals.Approved, approvals.Approved: approvals.Pending,
		}[value]))
	case approvals.Kind:
		field.Set(reflect.ValueOf(approvals.Message))
	case approvals.OnApproval:
		field.Set(reflect.ValueOf(approvals.Run))
	default:
		field.SetString(field.String() + "x")
	}
}

// TestSealedElsewhere: values that do not open make an approval damaged, and keep
// nobody from the list.
func TestSealedElsewhere(t *testing.T) {
	t.Parallel()
	database := storetest.SQLite(t)
	w := on(t, database.Open(t))
	a, note := w.ask(request(approvals.Message)), "noted"
	w.must(w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Note: note}))
	database.Box = storetest.SQLite(t).Box
	broken := on(t, database.Open(t))
	if got := broken.approval(a.ID); !got.Damaged || got.Parameters != nil || got.Note != "" {
		t.Errorf("shown: %+v", got)
	}
	if got := broken.pages(approvals.Filter{}); len(got) != 1 {
		t.Errorf("listed: %v", got)
	}
}

// TestNoteIsNotBound: a note can be added without a new MAC over it.
func TestNoteIsNotBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, _ := w.in(approvals.Action, approvals.Approved)
	noted := w.after(func(c *approvals.Config) {
		c.Store = tampering{c.Store, func(a *approvals.Approval) { a.Note = "other" }}
	})
	if got := noted.approval(a.ID); got.Damaged {
		t.Error("another note makes an approval damaged")
	}
}
