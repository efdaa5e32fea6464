package simulation

import (
	"encoding/json"
	"fmt"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
)

// ledgerIsTrue is the other half of I3: it compares what each side noted that it told with what the other
// side holds: every field that arrived is in the ledger, as it arrived, and
// nothing of a message that counts as never sent has arrived.
func ledgerIsTrue(h *history, tasks copies) string {
	for i, s := range h.sides {
		told := h.ledger(s, h.sides[1-i].address())
		for uid := range tasks[1-i] {
			for _, m := range h.sides[1-i].known(h).messages() {
				if m.Direction != coordination.In || !inCopy(m, uid) {
					continue
				}
				for field, value := range proposed(m) {
					d, ok := told[m.ID+field]
					if !ok || string(d.Value) != string(value) || d.Withdrawn {
						return fmt.Sprintf("%s told %s=%s in %s; its ledger says %q, withdrawn %v", s.name, field, value, m.ID, d.Value, d.Withdrawn)
					}
				}
			}
		}
	}
	return ""
}

// ledger reads what a side noted, by message and field.
func (h *history) ledger(s *side, contact string) map[string]coordination.Disclosure {
	found := map[string]coordination.Disclosure{}
	page := coordination.Page{Limit: 100}
	for more := true; more; {
		s.in(h.t, func(tx node.Tx) error {
			list, err := s.coordination.Disclosures(tx, coordination.DisclosureFilter{Contact: contact}, page)
			for _, d := range list {
				found[d.MessageID+d.Field] = d
				page.BeforeAt, page.BeforeID = d.At, d.ID
			}
			more = len(list) == page.Limit
			return err
		})
	}
	return found
}

// proposed are the fields that a message proposes.
func proposed(m coordination.Message) map[string]json.RawMessage {
	var content struct {
		Proposal *wire.Proposal  `json:"proposal"`
		Fields   json.RawMessage `json:"fields"`
	}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(m.Content, &content) != nil {
		return fields
	}
	raw := content.Fields
	if content.Proposal != nil {
		raw = content.Proposal.Fields
	}
	if raw != nil {
		_ = json.Unmarshal(raw, &fields) // of a content that is no proposal nothing was told
	}
	return fields
}
