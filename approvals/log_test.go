package approvals_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/audit"
)

// logged is what the rows of the audit log say beside who and when, in their order.
func (w *world) logged() (said []map[string]any) {
	w.t.Helper()
	w.do(func(tx node.Tx) error {
		rows, err := w.store.AuditRows(tx, audit.Filter{Limit: 1000})
		for _, row := range rows {
			data := map[string]any{}
			if err := json.Unmarshal(row.Data, &data); err != nil {
				return err
			}
			data["type"], data["actor"] = string(row.Type), string(row.ActorKind)
			said = append(said, data)
		}
		return err
	})
	return said
}

// TestLog is what the log says of an approval from its request to its end.
func TestLog(t *testing.T) {
	t.Parallel()
	said := func(typ audit.Type, actor node.ActorKind, kind approvals.Kind, status approvals.Status, more map[string]any) map[string]any {
		all := map[string]any{"type": string(typ), "actor": string(actor), "kind": string(kind), "action": request(kind).Action, "status": string(status)}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	asked := func(kind approvals.Kind) map[string]any {
		return said(audit.ApprovalRequested, node.ActorAgent, kind, approvals.Pending, map[string]any{
			"held": map[string]any{"x": "grant_asks"}, "expiresAt": noon.Add(approvals.DefaultTTL).Format(time.RFC3339),
		})
	}
	yes := func(outcome string, more map[string]any) map[string]any {
		all := map[string]any{"outcome": outcome, "onApproval": ""}
		for name, value := range more {
			all[name] = value
		}
		return said(audit.ApprovalApproved, node.ActorOwner, approvals.Message, approvals.Consumed, all)
	}
	for _, test := range []struct {
		name   string
		kind   approvals.Kind
		effect approvals.Effect
		play   func(w *world, a approvals.Approval)
		want   map[string]any
	}{
		{"yes, sent", approvals.Message, approvals.Effect{Outcome: approvals.OutcomeQueued},
			func(w *world, a approvals.Approval) { w.says(a, true) }, yes("queued", nil)},
		{"yes, too late", approvals.Message, approvals.Effect{Outcome: approvals.OutcomeFailed, Code: "stale_version"},
			func(w *world, a approvals.Approval) { w.says(a, true) }, yes("failed", map[string]any{"code": "stale_version"})},
		{"no", approvals.Message, approvals.Effect{}, func(w *world, a approvals.Approval) { w.says(a, false) },
			said(audit.ApprovalRejected, node.ActorOwner, approvals.Message, approvals.Rejected, nil)},
		{"nothing", approvals.Connection, approvals.Effect{}, func(w *world, _ approvals.Approval) {
			w.clock.Advance(approvals.DefaultTTL)
			if _, err := w.ExpireStep(w.t.Context()); err != nil {
				w.t.Fatal(err)
			}
		}, said(audit.ApprovalExpired, node.ActorNode, approvals.Connection, approvals.Expired, map[string]any{"because": "overdue"})},
		{"moved", approvals.Action, approvals.Effect{}, func(w *world, a approvals.Approval) {
			w.do(func(tx node.Tx) error { return w.ExpireTask(tx, a.AgentID, a.TaskUID, "", "") })
		}, said(audit.ApprovalExpired, node.ActorNode, approvals.Action, approvals.Expired, map[string]any{"because": "moved"})},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.ask(request(test.kind))
			w.heard.effect = test.effect
			test.play(w, a)
			if diff := cmp.Diff([]map[string]any{asked(test.kind), test.want}, w.logged()); diff != "" {
				t.Errorf("the log (-want +got):\n%s", diff)
			}
		})
	}
}

func (w *world) says(a approvals.Approval, yes bool) {
	w.t.Helper()
	w.must(w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: yes}))
}
