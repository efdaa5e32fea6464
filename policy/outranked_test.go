package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/policy"
)

// TestOutranks takes the grants, which stand in the order of precedence, from each
// possible winner on.
func TestOutranks(t *testing.T) {
	t.Parallel()
	grants := []policy.Grant{
		{ID: "exact", Capability: "action.reservation.book", Mode: policy.Allow},
		{ID: "longer", Capability: "action.reservation.*", Mode: policy.Ask},
		{ID: "contact", Contact: anna, Capability: "action.*", Mode: policy.Deny},
		{ID: "beneath", Contact: anna, Capability: "action.*", Mode: policy.Allow},
		{ID: "wide", Capability: "action.*", Mode: policy.Ask},
		{ID: "wide too", Capability: "action.*", Mode: policy.Allow},
		{ID: "another contact's", Contact: "bert@b.example", Capability: "action.*", Mode: policy.Allow},
		{ID: "another capability's", Capability: "disclose.*", Mode: policy.Deny},
		{ID: "over", Contact: anna, Capability: "action.reservation.book", Mode: policy.Ask, ExpiresAt: begins},
	}
	tests := []struct {
		from    int
		contact string
		want    []string
	}{
		{0, anna, []string{"longer exact", "contact exact", "wide exact"}},
		{0, "", []string{"longer exact", "wide exact"}},
		{1, anna, []string{"contact longer", "beneath longer", "wide too longer"}},
		{2, anna, []string{"beneath sterner", "wide closer", "wide too closer"}},
		{4, "", []string{"wide too sterner"}},
		{5, "", nil},
	}
	for _, test := range tests {
		winner := grants[test.from].ID
		t.Run(winner+" "+test.contact, func(t *testing.T) {
			t.Parallel()
			var got []string
			answer := policy.Answer{Capability: policy.ActionReservationBook, GrantID: winner}
			for _, o := range policy.Outranks(answer, test.contact, grants[test.from:], begins.Add(time.Second)) {
				got = append(got, fmt.Sprint(o.Grant.ID, " ", o.By))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, gone := range []string{"", "removed since"} {
		if got := policy.Outranks(policy.Answer{Capability: policy.ActionReservationBook, GrantID: gone}, anna, grants, begins); got != nil {
			t.Errorf("no grant that is there won (%q), and yet %+v is outranked", gone, got)
		}
	}
}
