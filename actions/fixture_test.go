package actions_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/actions"
	"agentlink/actions/executor/calendar"
	"agentlink/actions/executor/reservation"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
	"agentlink/node/token"
)

var update = flag.Bool("update", false, "write the goldens")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name + ".golden"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("differs from %s (-want +got):\n%s", path, diff)
	}
}

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

var (
	owner = node.Actor{Kind: node.ActorOwner, OwnerID: "owner"}
	agent = node.Actor{Kind: node.ActorAgent, OwnerID: "owner", AgentID: "agent"}
)

// world is the services on a fresh store, with a fake of coordination and of the
// policy.
type world struct {
	*actions.Service
	t         *testing.T
	store     *store.Store
	clock     *node.FakeClock
	approvals *approvals.Service
	tasks     *tasks
	rules     *rules
	key       ed25519.PublicKey
	config    actions.Config
}

func newWorld(t *testing.T, change ...func(*actions.Config)) *world {
	t.Helper()
	database := storetest.Memory(t)
	clock := node.NewFakeClock(noon)
	database.Clock = clock
	w := on(t, database.Open(t), change...)
	w.clock = clock
	return w
}

func on(t *testing.T, s *store.Store, change ...func(*actions.Config)) *world {
	t.Helper()
	log := audit.New(s, bytes.Repeat([]byte{3}, 32))
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, ed25519.SeedSize))
	signer := token.NewSigner(key)
	w := &world{t: t, store: s, tasks: &tasks{store: s, log: log}, rules: &rules{log: log}, key: signer.PublicKey()}
	w.approvals = approvals.New(approvals.Config{
		Store: s, DB: s, IDs: node.RandomIDs{}, Audit: log,
		HashKey: bytes.Repeat([]byte{1}, 32), MACKey: bytes.Repeat([]byte{2}, 32), Epoch: 1,
	})
	w.config = actions.Config{
		Store: s, DB: s, IDs: node.RandomIDs{}, Policy: w.rules, Approvals: w.approvals, Tasks: w.tasks, Audit: log,
		Executors:   []actions.Executor{reservation.Executor{}, calendar.Executor{}},
		Issuer:      signer.Fingerprint,
		SignReceipt: func(claims any) (string, error) { return signer.Sign(token.Receipt, claims) },
	}
	for _, f := range change {
		f(&w.config)
	}
	w.Service = actions.New(w.config)
	return w
}

// restarted is the same node as another process, without what the first one was.
func (w *world) restarted(change ...func(*actions.Config)) *world {
	next := *w
	for _, f := range change {
		f(&next.config)
	}
	next.Service = actions.New(next.config)
	return &next
}

// with replaces the executor of reservation.book.
func with(executor actions.Executor) func(*actions.Config) {
	return func(c *actions.Config) { c.Executors = []actions.Executor{executor, calendar.Executor{}} }
}

func (w *world) try(f func(tx node.Tx) error) error { return w.store.InTx(w.t.Context(), f) }

func (w *world) do(f func(tx node.Tx) error) {
	w.t.Helper()
	if err := w.try(f); err != nil {
		w.t.Fatal(err)
	}
}

// ask asks for an approval; a refusal comes as the error it is shown as.
func (w *world) ask(ask actions.Ask) (approval approvals.Approval, err error) {
	var refusal *node.Error
	err = w.try(func(tx node.Tx) (err error) {
		approval, refusal, err = w.RequestApproval(tx, agent, ask)
		return err
	})
	if err == nil && refusal != nil {
		err = refusal
	}
	return approval, err
}

func (w *world) decide(d approvals.Decision) (effect approvals.Effect, err error) {
	err = w.try(func(tx node.Tx) (err error) {
		effect, err = w.approvals.Decide(tx, owner, d)
		return err
	})
	return effect, err
}

// approved asks for an approval and has the owner approve it, whatever it warns of.
func (w *world) approved(ask actions.Ask) approvals.Approval {
	w.t.Helper()
	a, err := w.ask(ask)
	if err != nil {
		w.t.Fatalf("ask: %v", err)
	}
	effect, err := w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true, Override: true, Word: approvals.Again})
	if err != nil {
		w.t.Fatalf("approve: %v", err)
	}
	return effect.Approval
}

func (w *world) run(start actions.Start) (actions.Run, error) {
	return w.Run(w.t.Context(), agent, start)
}

func (w *world) mustRun(start actions.Start) actions.Run {
	w.t.Helper()
	run, err := w.run(start)
	if err != nil {
		w.t.Fatalf("run: %v", err)
	}
	return run
}

func (w *world) stored(id string) (run actions.Run) {
	w.t.Helper()
	w.do(func(tx node.Tx) (err error) {
		run, err = w.Find(tx, "", id)
		return err
	})
	return run
}

func (w *world) status(approvalID string) approvals.Status {
	w.t.Helper()
	var a approvals.Approval
	w.do(func(tx node.Tx) (err error) {
		a, err = w.approvals.Approval(tx, "", approvalID)
		return err
	})
	return a.Status
}

func (w *world) recover() (more bool) {
	w.t.Helper()
	more, err := w.RecoverStep(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return more
}

// events counts the rows of the audit log by type.
func (w *world) events() map[audit.Type]int {
	w.t.Helper()
	counts := map[audit.Type]int{}
	w.do(func(tx node.Tx) error {
		rows, err := w.store.AuditRows(tx, audit.Filter{Limit: 10000})
		for _, row := range rows {
			counts[row.Type]++
		}
		return err
	})
	return counts
}

// booking is what both sides agreed on, in words of the action.
const booking = `{"venue":"Trattoria Nonna","date":"2026-12-04","time":"19:30","partySize":4,"taskUid":"dinner"}`

const aloneBooking = `{"venue":"Trattoria Nonna","date":"2026-12-04","time":"19:30","partySize":4}`

func book(parameters string) actions.Ask {
	return actions.Ask{Action: "reservation.book", Parameters: json.RawMessage(parameters)}
}

func start(parameters, approvalID string) actions.Start {
	return actions.Start{Action: "reservation.book", Parameters: json.RawMessage(parameters), ApprovalID: approvalID}
}

// agreedDinner is a task whose last proposal both sides accepted.
func agreedDinner() coordination.Task {
	return coordination.Task{
		UID: "dinner", OwnerID: "owner", AgentID: "agent", ConnectionID: "connection", Contact: "bob@b.example",
		Role: coordination.Initiator, Type: "dinner.coordination", Status: coordination.Agreed, Deadline: noon.Add(72 * time.Hour),
		Copy: coordination.Copy{
			Title: "Dinner", Status: coordination.Agreed, Accepted: 2,
			Proposals: []coordination.Proposal{{
				Version: 2, Author: coordination.Initiator, Digest: "digest of 2", Status: coordination.ProposalAccepted,
				Fields: json.RawMessage(`{"date":"2026-12-04","time":"19:30","timezone":"Europe/Rome","partySize":4,"venue":{"name":"Trattoria Nonna","area":"Centro"}}`),
			}},
		},
	}
}

// problem writes an error as code and reason: "conflict approval_used"; "" for none.
func problem(err error) string {
	if err == nil {
		return ""
	}
	if _, ok := node.AsError(err); !ok {
		return "untyped: " + err.Error()
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", node.CodeOf(err), node.ReasonOf(err)))
}

// fields names the refused fields of a bad_request.
func fields(err error) (names []string) {
	if known, ok := node.AsError(err); ok {
		list, _ := known.Details["fields"].([]node.Field)
		for _, field := range list {
			names = append(names, field.Field)
		}
	}
	return names
}

// race runs f n times at once and counts what it gives.
func race(n int, f func(i int) string) map[string]int {
	var mu sync.Mutex
	counts := map[string]int{}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			result := f(i)
			mu.Lock()
			defer mu.Unlock()
			counts[result]++
		})
	}
	all.Wait()
	return maps.Clone(counts)
}
