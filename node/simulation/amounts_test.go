package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/policy"
)

// amounts are 60 values as JSON writes them; true are those that are a number above
// 0 and at most 25.
var amounts = map[string]bool{
	`5`: true, `5.0`: true, `5e0`: true, `5E0`: true, `0.5e1`: true, `50e-1`: true, `25`: true, `25.0`: true, `2.5e1`: true, `0.01`: true, `1e-3`: true, `24.999999999999996`: true,
	`"5"`: false, `"25"`: false, `""`: false, `"NaN"`: false, `"Infinity"`: false, `-5`: false, `-0.01`: false, `-0`: false, `0`: false, `0.0`: false, `0e9`: false,
	`25.000000000000004`: false, `25.01`: false, `26`: false, `1e2`: false, `2.5e2`: false, `1e400`: false, `-1e400`: false, `1e-400`: false, `NaN`: false, `Infinity`: false, `-Infinity`: false,
	`9007199254740991`: false, `9007199254740992`: false, `9007199254740993`: false, `-9007199254740993`: false, `18446744073709551616`: false, `1e21`: false, `5e`: false, `5.`: false, `.5`: false, `05`: false,
	`+5`: false, `0x5`: false, `5_0`: false, `5,0`: false, `٥`: false, `5n`: false, `null`: false, `true`: false, `false`: false, `[]`: false, `[5]`: false, `[5,6]`: false, `{}`: false, `{"n":5}`: false,
	`{"$numberLong":"5"}`: false, `"5e0"`: false, `5 `: true, `"\u0035"`: false,
}

// TestAmounts (S24): under an allow grant of at most 25, of 60 ways to write an amount
// exactly those leave by themselves that are a number above 0 and at most 25; and no
// two that differ have one approval's hash.
func TestAmounts(t *testing.T) {
	p := newPair(t)
	most := 25.0
	p.a.in(t, func(tx node.Tx) error {
		_, err := p.a.policy.SetGrant(tx, p.a.owner, policy.NewGrant{
			AgentID: p.a.agent.ID, Contact: p.b.address(), Capability: "disclose.budget", Mode: policy.Allow, Constraints: &policy.Constraints{MaxAmount: &most},
		})
		return err
	})
	p.start(plan("2027-01-15"))
	hashes := map[string]string{}
	for raw, good := range amounts {
		fields := json.RawMessage(fmt.Sprintf(`{"date":"2027-01-15","time":"19:30","timezone":"Europe/Berlin","budgetPerPerson":%s}`, raw))
		var result coordination.Result
		err := p.a.store.InTx(context.Background(), func(tx node.Tx) (err error) {
			result, err = p.a.coordination.Propose(tx, p.a.actor(), p.uid, fields, 0)
			return err
		})
		if sent := err == nil && result.Status == coordination.StatusQueued; sent != good {
			t.Errorf("%s: %s, %v", raw, result.Status, err)
		}
		hash, err := p.a.approvals.Hash("reservation.book", json.RawMessage(`{"amount":`+raw+`}`))
		if err != nil {
			continue // what has no canonical form has no hash
		}
		if other, taken := hashes[hash]; taken && !sameNumber(raw, other) {
			t.Errorf("%s and %s have one hash", raw, other)
		}
		hashes[hash] = raw
	}
	if len(amounts) < 60 || len(hashes) < 20 {
		t.Errorf("%d amounts, %d hashes", len(amounts), len(hashes))
	}
}

// sameNumber: two ways to write one value.
func sameNumber(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
}
