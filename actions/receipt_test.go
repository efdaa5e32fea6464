package actions_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/actions"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/display"
	"agentlink/node/token"
	"agentlink/policy"
)

// receiptFile is the file of a run's receipt.
func (w *world) receiptFile(run actions.Run) actions.ReceiptFile {
	return actions.ReceiptFile{
		Receipt: run.Receipt, PublicKey: base64.RawURLEncoding.EncodeToString(w.key), Parameters: run.Parameters, Salt: run.Salt,
	}
}

// dinnerReceipt runs a dinner ten minutes after it was approved.
func dinnerReceipt(t *testing.T) (*world, actions.Run) {
	t.Helper()
	w := newWorld(t)
	w.task()
	a := w.approved(book(booking))
	w.clock.Advance(10 * time.Minute)
	return w, w.mustRun(start(booking, a.ID))
}

func verify(t *testing.T, file any, fingerprint string) (actions.VerifiedReceipt, error) {
	t.Helper()
	raw, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return actions.VerifyReceipt(raw, fingerprint)
}

// TestReceipt is what a receipt states, and that anyone can verify it offline.
func TestReceipt(t *testing.T) {
	t.Parallel()
	w, run := dinnerReceipt(t)
	got, err := verify(t, w.receiptFile(run), token.Fingerprint(w.key))
	if err != nil {
		t.Fatal(err)
	}
	var position int64
	w.do(func(tx node.Tx) error {
		rows, err := w.store.AuditRows(tx, audit.Filter{Types: []audit.Type{audit.ActionExecuted}})
		position = rows[0].Position
		return err
	})
	digest := sha256.Sum256(node.MustCanonical(map[string]any{"action": "reservation.book", "parameters": json.RawMessage(booking), "salt": run.Salt}))
	at := noon.Add(10 * time.Minute)
	want := actions.VerifiedReceipt{
		Receipt: actions.Receipt{
			Iss: token.Fingerprint(w.key), ApprovalID: run.ApprovalID, Action: "reservation.book", Decision: "approved",
			Digest: hex.EncodeToString(digest[:]), DecidedAt: noon, ExecutedAt: at, RunID: run.ID, Code: run.Code,
			Simulated: true, Position: position, Iat: at.Unix(),
		},
		Fingerprint: token.Fingerprint(w.key), ParametersMatch: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(run.Receipt) > 4096 {
		t.Errorf("the receipt has %d bytes, more than a confirmation takes", len(run.Receipt))
	}
	for _, private := range []string{"Nonna", "19:30", run.Salt} {
		if claims, _ := base64.RawURLEncoding.DecodeString(strings.Split(run.Receipt, ".")[1]); bytes.Contains(claims, []byte(private)) {
			t.Errorf("the receipt tells %q", private)
		}
	}
}

// TestReceiptWithoutParameters: the signature alone is worth something.
func TestReceiptWithoutParameters(t *testing.T) {
	t.Parallel()
	w, run := dinnerReceipt(t)
	file := w.receiptFile(run)
	file.Parameters, file.Salt = nil, ""
	if got, err := verify(t, file, ""); err != nil || got.ParametersMatch || got.RunID != run.ID {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestReceiptOfAutomaticRun says that nobody was asked.
func TestReceiptOfAutomaticRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules.set(policy.GrantAllows)
	if got, err := verify(t, w.receiptFile(w.mustRun(start(aloneBooking, ""))), ""); err != nil || got.Decision != "automatic" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestReceiptRefused: whatever was changed is found.
func TestReceiptRefused(t *testing.T) {
	t.Parallel()
	w, run := dinnerReceipt(t)
	other := token.NewSigner(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize)))
	sign := func(kind token.Kind, claims any) string {
		t.Helper()
		compact, err := other.Sign(kind, claims)
		if err != nil {
			t.Fatal(err)
		}
		return compact
	}
	var claims actions.Receipt
	if err := token.Open(token.Receipt, w.key, run.Receipt, &claims); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(*actions.ReceiptFile)
		want   string
	}{
		{"nothing changed", func(*actions.ReceiptFile) {}, ""},
		{"parameters written otherwise", func(f *actions.ReceiptFile) {
			f.Parameters = json.RawMessage(strings.Replace(booking, ":4", ": 4.0", 1))
		}, ""},
		{"other parameters", func(f *actions.ReceiptFile) {
			f.Parameters = json.RawMessage(strings.Replace(booking, ":4", ":5", 1))
		}, "unauthorized"},
		{"another salt", func(f *actions.ReceiptFile) { f.Salt = strings.Repeat("0", 32) }, "unauthorized"},
		{"parameters without salt", func(f *actions.ReceiptFile) { f.Salt = "" }, "bad_request"},
		{"salt without parameters", func(f *actions.ReceiptFile) { f.Parameters = nil }, "bad_request"},
		{"another key", func(f *actions.ReceiptFile) {
			f.PublicKey = base64.RawURLEncoding.EncodeToString(other.PublicKey())
		}, "unauthorized"},
		{"no key", func(f *actions.ReceiptFile) { f.PublicKey = "" }, "bad_request"},
		{"half a key", func(f *actions.ReceiptFile) { f.PublicKey = f.PublicKey[:20] }, "bad_request"},
		{"a key of low order", func(f *actions.ReceiptFile) {
			f.PublicKey = base64.RawURLEncoding.EncodeToString(make([]byte, 32))
		}, "bad_request"},
		{"a bit of the signature", func(f *actions.ReceiptFile) { f.Receipt = flip(f.Receipt, len(f.Receipt)-20) }, "unauthorized"},
		{"a bit of the claims", func(f *actions.ReceiptFile) { f.Receipt = flip(f.Receipt, len(f.Receipt)/2) }, "unauthorized"},
		{"cut", func(f *actions.ReceiptFile) { f.Receipt = f.Receipt[:len(f.Receipt)-4] }, "unauthorized"},
		{"empty", func(f *actions.ReceiptFile) { f.Receipt = "" }, "unauthorized"},
		{"another kind of object", func(f *actions.ReceiptFile) {
			f.Receipt, f.PublicKey = sign(token.Ack, claims), base64.RawURLEncoding.EncodeToString(other.PublicKey())
		}, "unauthorized"},
		{"another issuer", func(f *actions.ReceiptFile) {
			f.Receipt, f.PublicKey = sign(token.Receipt, claims), base64.RawURLEncoding.EncodeToString(other.PublicKey())
		}, "unauthorized"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := w.receiptFile(run)
			test.change(&file)
			if got, err := verify(t, file, ""); problem(err) != test.want {
				t.Errorf("got %+v, %v; want %q", got, err, test.want)
			}
		})
	}
}

func flip(text string, at int) string {
	changed := byte('A')
	if text[at] == changed {
		changed = 'B'
	}
	return text[:at] + string(changed) + text[at+1:]
}

// TestReceiptFile: what is no receipt file, and the fingerprint that it must have.
func TestReceiptFile(t *testing.T) {
	t.Parallel()
	w, run := dinnerReceipt(t)
	for _, raw := range []string{``, `[]`, `{"receipt":1}`, `{"receipt":"a","approved":true}`, `{"receipt":"a","receipt":"b"}`} {
		if _, err := actions.VerifyReceipt([]byte(raw), ""); problem(err) != "bad_request" {
			t.Errorf("%q gives %v", raw, err)
		}
	}
	known := token.Fingerprint(w.key)
	for fingerprint, want := range map[string]string{
		known: "", display.Grouped(known): "", strings.ToUpper(known): "", known[:51] + "x": "unauthorized", "other": "unauthorized",
	} {
		if _, err := verify(t, w.receiptFile(run), fingerprint); problem(err) != want {
			t.Errorf("fingerprint %q: %v, want %q", fingerprint, err, want)
		}
	}
}
