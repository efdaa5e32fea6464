package actions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"agentlink/policy"
)

// mutations are 50 other values of each field that was agreed, as JSON.
func mutations() map[string][]string {
	const venue = "Trattoria Nonna"
	all := map[string][]string{"venue": {
		`"Trattoria Nonna "`, `" Trattoria Nonna"`, `"Trattoria  Nonna"`, `"Trattoria\u00a0Nonna"`, `"Tr\u0430ttoria Nonna"`, `"Trattoria Nonna\u200b"`,
		`"\u202eTrattoria Nonna"`, `"Trattoria Nonna\n"`, `"TRATTORIA NONNA"`, `"trattoria nonna"`, `"Trattoria Nonna,"`, `"Trattoria"`, `"Nonna"`,
		`"Trattoria No\u0144na"`, `"Trattoria Nonna\u0301"`, `""`, `null`, `7`, `["Trattoria Nonna"]`, `{"name":"Trattoria Nonna"}`,
	}}
	for i := range venue {
		all["venue"] = append(all["venue"], fmt.Sprintf("%q", venue[:i]+venue[i+1:]), fmt.Sprintf("%q", venue[:i]+"x"+venue[i:]))
	}
	agreed := time.Date(2026, 12, 4, 19, 30, 0, 0, time.UTC)
	for n := 1; n <= 50; n++ {
		all["date"] = append(all["date"], agreed.AddDate(0, 0, n-25*(n%2)*2).Format(`"2006-01-02"`))
		all["time"] = append(all["time"], agreed.Add(time.Duration(n*(n%2*2-1))*time.Minute).Format(`"15:04"`))
		if n != 4 {
			all["partySize"] = append(all["partySize"], fmt.Sprint(n))
		}
	}
	all["partySize"] = append(all["partySize"], `"4"`, `4.5`, `-4`, `0`, `null`, `true`, `[4]`, `{"n":4}`, `40e1`, `4.0000000000000001e1`, `9007199254740993`, `1e400`)
	return all
}

// TestAutomaticDiffers (S8): under an allow grant nothing runs by itself with
// another venue, date, time or party size than were agreed: 50 of each.
func TestAutomaticDiffers(t *testing.T) {
	t.Parallel()
	agreed := map[string]string{"venue": `"Trattoria Nonna"`, "date": `"2026-12-04"`, "time": `"19:30"`, "partySize": `4`}
	for field, values := range mutations() {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			executor := &executor{execute: succeeds}
			w := newWorld(t, with(executor))
			w.task()
			w.rules.set(policy.GrantAllows)
			tried := 0
			for _, value := range values {
				if value == agreed[field] {
					continue
				}
				old := fmt.Sprintf(`"%s":%s`, field, agreed[field])
				changed := strings.Replace(booking, old, fmt.Sprintf(`"%s":%s`, field, value), 1)
				if changed == booking {
					t.Fatalf("%s is not in %s", old, booking)
				}
				tried++
				if run, err := w.run(start(changed, "")); err == nil {
					t.Errorf("%s ran by itself: %+v", value, run)
				}
			}
			if executor.calls() != 0 || tried < 50 {
				t.Errorf("%d runs in %d tries", executor.calls(), tried)
			}
			w.mustRun(start(booking, "")) // as it was agreed
		})
	}
}
