package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/policy"
)

// notes are what a side's owner allowed at the moment at which a message of the
// side's agent was released: capabilities, by message.
type notes map[string]map[string]bool

// noteAllowed writes them down. It does not ask the engine: a capability is
// allowed where an allow grant for it, or for all of its kind, is in force.
func (s *side) noteAllowed(tx node.Tx, messageID string) error {
	grants, err := s.policy.Grants(tx, s.agent.ID, nil)
	if err != nil {
		return err
	}
	if s.notes == nil {
		s.notes = notes{}
	}
	allowed := map[string]bool{}
	for _, g := range grants {
		if g.Mode == policy.Allow && (g.ExpiresAt.IsZero() || tx.Now().Before(g.ExpiresAt)) {
			allowed[g.Capability] = true
		}
	}
	s.notes[messageID] = allowed
	return nil
}

// fieldsAreAllowed is I3: it opens every proposal as its addressee does, and asks
// for each field who let it go.
func fieldsAreAllowed(h *history, from *side, e wire.Envelope) string {
	if e.Type != wire.TaskCreate && e.Type != wire.TaskPropose {
		return ""
	}
	inner, err := e.Open(h.other(from).identity.Open)
	if err != nil {
		return "an envelope that its addressee cannot open: " + err.Error()
	}
	dinner, _ := coordination.TypeOf("dinner.coordination")
	for field := range proposed(coordination.Message{Content: inner.Content}) {
		capability := dinner.Disclosures[field]
		if allowed := from.notes[e.JTI]; capability == "" || allowed[capability] || allowed["disclose.*"] {
			continue
		}
		if !from.approved(e.JTI) {
			return fmt.Sprintf("%s of %s leaves %s in %s, and neither a grant nor its owner allowed %s", field, e.Type, from.name, e.JTI, capability)
		}
		happened("a field leaves with an approval")
	}
	return ""
}

// approved says whether a message rests on an approval that is used up.
func (s *side) approved(messageID string) (yes bool) {
	_ = s.store.View(context.Background(), func(tx node.Tx) error {
		m, err := s.store.Message(tx, s.agent.ID, messageID)
		if err != nil || m.ApprovalID == "" {
			return err
		}
		a, err := s.store.Approval(tx, m.ApprovalID)
		yes = err == nil && a.Status == approvals.Consumed && a.Subject == messageID
		return err
	})
	return yes
}

// leavesRightly is I4.
func leavesRightly(h *history, from *side, e wire.Envelope) string {
	ends := e.Type == wire.ConnectionReject || e.Type == wire.ConnectionRevoke
	c, agent := from.known(h).who()
	switch {
	case c.Status != coordination.ConnActive && !e.Type.Notice():
		return fmt.Sprintf("%s sends %s %s over a connection that is %s", from.name, e.Type, e.JTI, c.Status)
	case agent.Status != policy.Active && !ends:
		return fmt.Sprintf("%s sends %s %s of an agent that is %s", from.name, e.Type, e.JTI, agent.Status)
	}
	return ""
}

// visible is what a side's agent sees of its tasks, to the byte; but for the
// counter that every lock of the row raises.
func visible(tasks []coordination.Task) string {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		tasks[i].Rev = 0
	}
	raw, _ := json.Marshal(tasks)
	return string(raw)
}
