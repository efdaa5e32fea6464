package store_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
	"agentlink/policy"
	"agentlink/policy/engine"
)

// ledgered is an agent connected with one contact, on the services whose rules
// fill the ledger.
type ledgered struct {
	t            *testing.T
	store        *store.Store
	policy       *policy.Service
	approvals    *approvals.Service
	coordination *coordination.Service
	agent, owner node.Actor
}

const toldContact = "ben@ben.test"

func newLedgered(t *testing.T, s *store.Store) *ledgered {
	t.Helper()
	ids, log := node.RandomIDs{}, audit.New(s, bytes.Repeat([]byte{1}, 32))
	rules, err := engine.New(engine.Config{Store: s, IDs: ids, Audit: log})
	if err != nil {
		t.Fatal(err)
	}
	l := &ledgered{t: t, store: s, owner: node.Actor{Kind: node.ActorOwner, OwnerID: "owner"}}
	l.policy = policy.New(policy.Config{Store: s, IDs: ids, Audit: log, Decider: rules})
	l.approvals = approvals.New(approvals.Config{
		Store: s, DB: s, IDs: ids, Audit: log, HashKey: bytes.Repeat([]byte{2}, 32), MACKey: bytes.Repeat([]byte{3}, 32), Epoch: 1,
	})
	l.coordination = coordination.New(coordination.Config{
		Store: s, DB: s, Clock: node.SystemClock{}, IDs: ids, Policy: rules, Agents: l.policy,
		Approvals: l.approvals, Audit: log, Outbox: s, Self: coordination.Self{Host: "ana.test"},
	})
	inTx(t, s, func(tx node.Tx) error {
		agent, _, err := l.policy.CreateAgent(tx, l.owner, policy.NewAgent{Handle: "ana", Mode: policy.Autonomous})
		if err != nil {
			return err
		}
		l.agent = node.Actor{Kind: node.ActorAgent, OwnerID: agent.OwnerID, AgentID: agent.ID}
		l.owner.AgentID = agent.ID
		if err := l.policy.DefaultGrants(tx, l.owner, agent.ID, toldContact); err != nil {
			return err
		}
		if _, err := l.policy.SetGrant(tx, l.owner, policy.NewGrant{
			AgentID: agent.ID, Contact: toldContact, Capability: policy.DiscloseAvailability, Mode: policy.Allow,
		}); err != nil {
			return err
		}
		return s.InsertConnection(tx, coordination.Connection{
			ID: "c1", OwnerID: agent.OwnerID, AgentID: agent.ID, Contact: toldContact, Status: coordination.ConnActive,
			Peer: coordination.Peer{Fingerprint: "f", PublicKey: []byte{1}}, CreatedAt: tx.Now(), UpdatedAt: tx.Now(),
		})
	})
	return l
}

// starts makes the actor start a task with these fields beside date and time.
func (l *ledgered) starts(actor node.Actor, more map[string]any) (result coordination.Result) {
	l.t.Helper()
	fields := map[string]any{"date": "2027-01-15", "time": "19:30", "timezone": "Europe/Berlin"}
	for name, value := range more {
		fields[name] = value
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		l.t.Fatal(err)
	}
	inTx(l.t, l.store, func(tx node.Tx) (err error) {
		result, err = l.coordination.StartTask(tx, actor, coordination.StartTask{
			ConnectionID: "c1", Type: "dinner.coordination", Title: "Dinner", Proposal: raw,
		})
		return err
	})
	return result
}

// entry is what a test looks at of the ledger.
type entry struct {
	Capability, Field, Value string
	Approved, Withdrawn      bool
	Author                   string
}

// wants compares the ledger of a message, by fields.
func (l *ledgered) wants(messageID string, want ...entry) {
	l.t.Helper()
	var got []entry
	inTx(l.t, l.store, func(tx node.Tx) error {
		list, err := l.coordination.Disclosures(tx, coordination.DisclosureFilter{Contact: toldContact}, coordination.Page{Limit: 100})
		for _, d := range list {
			if d.MessageID == messageID {
				got = append([]entry{{d.Capability, d.Field, string(d.Value), d.ApprovalID != "", d.Withdrawn, d.Author}}, got...)
			}
		}
		return err
	})
	if diff := cmp.Diff(want, got); diff != "" {
		l.t.Errorf("the ledger (-want +got):\n%s", diff)
	}
}

func whenFields(change func(*entry)) []entry {
	list := []entry{
		{Capability: "disclose.availability", Field: "date", Value: `"2027-01-15"`, Author: "agent"},
		{Capability: "disclose.availability", Field: "time", Value: `"19:30"`, Author: "agent"},
		{Capability: "disclose.availability", Field: "timezone", Value: `"Europe/Berlin"`, Author: "agent"},
	}
	for i := range list {
		change(&list[i])
	}
	return list
}

// TestLedger: what a released proposal says stands in the ledger, under the
// approval that released it; what provably never left is withdrawn.
func TestLedger(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		for name, test := range map[string]func(*ledgered){
			"allowed": ledgerAllowed, "approved": ledgerApproved, "rejected by the owner": ledgerRejected, "written by the owner": ledgerByOwner,
			"withdrawn": ledgerWithdrawn, "may have left": ledgerMayHaveLeft, "no proposal": ledgerWithoutProposal,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(newLedgered(t, open(t)))
			})
		}
	})
}

func ledgerAllowed(l *ledgered) {
	result := l.starts(l.agent, map[string]any{"venue": map[string]any{"name": "Da Piero"}})
	if result.Status != coordination.StatusQueued {
		l.t.Fatalf("%s, want queued", result.Status)
	}
	l.wants(result.ID, append(whenFields(func(*entry) {}), entry{Field: "venue", Value: `{"name":"Da Piero"}`, Author: "agent"})...)
}

func (l *ledgered) decide(approvalID string, approve bool) {
	l.t.Helper()
	inTx(l.t, l.store, func(tx node.Tx) error {
		approval, err := l.approvals.Approval(tx, "", approvalID)
		if err != nil {
			return err
		}
		_, err = l.approvals.Decide(tx, l.owner, approvals.Decision{ID: approval.ID, Hash: approval.Hash, Approve: approve})
		return err
	})
}

func ledgerApproved(l *ledgered) {
	result := l.starts(l.agent, map[string]any{"dietaryNotes": []string{"no nuts"}})
	l.wants(result.ID)
	l.decide(result.ApprovalID, true)
	approved := whenFields(func(e *entry) { e.Approved = true })
	l.wants(result.ID, approved[0], entry{
		Capability: "disclose.dietary", Field: "dietaryNotes", Value: `["no nuts"]`, Approved: true, Author: "agent",
	}, approved[1], approved[2])
}

func ledgerRejected(l *ledgered) {
	result := l.starts(l.agent, map[string]any{"dietaryNotes": []string{"no nuts"}})
	l.decide(result.ApprovalID, false)
	l.wants(result.ID)
}

func ledgerByOwner(l *ledgered) {
	result := l.starts(l.owner, nil)
	l.wants(result.ID, whenFields(func(e *entry) { e.Author = "owner" })...)
}

func (l *ledgered) revoke() {
	l.t.Helper()
	inTx(l.t, l.store, func(tx node.Tx) error {
		_, err := l.coordination.RevokeConnection(tx, l.owner, "c1")
		return err
	})
}

func ledgerWithdrawn(l *ledgered) {
	result := l.starts(l.agent, nil)
	l.revoke()
	l.wants(result.ID, whenFields(func(e *entry) { e.Withdrawn = true })...)
	inTx(l.t, l.store, func(tx node.Tx) error {
		counts, err := l.coordination.CountDisclosures(tx, []string{toldContact})
		if len(counts) != 0 {
			l.t.Errorf("the contact knows %+v, and was told nothing", counts)
		}
		return err
	})
}

// What was attempted may have arrived, although it has failed.
func ledgerMayHaveLeft(l *ledgered) {
	result := l.starts(l.agent, nil)
	inTx(l.t, l.store, func(tx node.Tx) error {
		m, err := l.store.Message(tx, l.agent.AgentID, result.ID)
		if err != nil {
			return err
		}
		m.AttemptedAt, m.Tries = tx.Now(), 1
		return l.store.SaveMessage(tx, m, m.Status)
	})
	l.revoke()
	l.wants(result.ID, whenFields(func(*entry) {})...)
}

func ledgerWithoutProposal(l *ledgered) {
	var result coordination.Result
	inTx(l.t, l.store, func(tx node.Tx) (err error) {
		result, err = l.coordination.StartTask(tx, l.agent, coordination.StartTask{
			ConnectionID: "c1", Type: "dinner.coordination", Title: "Dinner at 19:30",
		})
		return err
	})
	l.wants(result.ID)
}
