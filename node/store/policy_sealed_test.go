package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// TestPolicyIsSealed: names, contacts, constraints and the facts of decisions do
// not lie open in the database; capabilities, modes and reasons may.
func TestPolicyIsSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		at := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
		inTx(t, s, func(tx node.Tx) error {
			_, err := s.InsertAgent(tx, policy.Agent{
				ID: "a1", OwnerID: "o1", Handle: "scout", Name: "canary name", Mode: policy.Assisted, Status: policy.Active,
				KeyHash: "hash", KeyGeneration: 1, RulesRev: 1, RulesStamp: "stamp", CreatedAt: at,
			})
			grant := policy.Grant{
				ID: "g1", OwnerID: "o1", AgentID: "a1", Contact: "canary@canary.example", Capability: "disclose.dietary", Mode: policy.Allow,
				Constraints: policy.Constraints{AllowedValues: map[string][]any{"canaryField": {"canary value"}}}, CreatedAt: at,
			}
			record := policy.Record{
				Decision: policy.Decision{ID: "d1", Outcome: policy.Held, Answers: []policy.Answer{{Capability: "disclose.dietary", Outcome: policy.Held, Reason: policy.GrantAsks, GrantID: "g1"}}},
				OwnerID:  "o1", AgentID: "a1", At: at,
				Facts: policy.Facts{Contact: "canary@canary.example", Fields: map[string]any{"notes": "canary note"}, AmountField: "canaryAmount"},
			}
			_, err2 := s.InsertOverlay(tx, policy.Overlay{ID: "ov1", OwnerID: "o1", Number: 1, Version: "version of the text", Source: "package overlay # canary rules", CreatedAt: at})
			return errors.Join(err, err2, s.InsertGrant(tx, grant), s.InsertDecision(tx, record))
		})
		dump := dump(t, s)
		for _, known := range []string{"scout", "disclose.dietary", "grant_asks", "d1", "version of the text"} {
			if !strings.Contains(dump, known) {
				t.Errorf("the dump lacks %q, so it says nothing", known)
			}
		}
		if at := strings.Index(dump, "canary"); at >= 0 {
			t.Errorf("in the clear: %q", dump[at:at+20])
		}
	})
}
