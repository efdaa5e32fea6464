package view_test

import (
	"testing"
	"time"

	"agentlink/dashboard/view"
)

func TestKnows(t *testing.T) {
	t.Parallel()
	page := view.KnowsPage{
		Frame: frame("Who knows what", "/knows"), Kinds: []string{"Availability", "Preferences", "Dietary", "Budget", "Notes", "Other details"},
		Rows: []view.KnowsRow{
			{URL: "/knows/juno@ben.example", Contact: "juno@ben.example", Cells: []view.KnowsCell{
				{URL: "/knows/1", Told: 12, Rule: view.RuleAllow}, {URL: "/knows/2", Told: 4, Rule: view.RuleAsk}, {URL: "/knows/3", Rule: view.RuleAsk},
				{URL: "/knows/4", Rule: view.RuleDeny}, {URL: "/knows/5", Rule: view.RuleAllow}, {URL: "/knows/6", Told: 31},
			}},
			{URL: "/knows/kay@kay.example", Contact: "kay@kay.example", Ended: true, Cells: []view.KnowsCell{
				{URL: "/knows/1", Told: 1}, {URL: "/knows/2"}, {URL: "/knows/3"}, {URL: "/knows/4"}, {URL: "/knows/5"}, {URL: "/knows/6"},
			}},
		},
		Older: "/knows?at=1&id=2",
	}
	golden(t, "knows", view.Knows(page))
	golden(t, "knows-none", view.Knows(view.KnowsPage{Frame: frame("Who knows what", "/knows")}))
}

func TestLedger(t *testing.T) {
	t.Parallel()
	page := view.LedgerPage{
		Frame: frame("What a contact knows", "/knows"), Contact: "juno@ben.example", Older: "/knows/juno@ben.example?at=1&id=2",
		Entries: []view.LedgerEntry{
			{
				At: now.Add(-time.Hour), Agent: "scout", TaskURL: "/tasks/t", TaskTitle: "Dinner " + hostile, Meaning: view.OK, Word: "Told",
				Why: "you approved it", ApprovalURL: "/approvals/p",
				Fields: []view.Parameter{{Name: "Date", Value: "2026-05-09"}, {Name: "Dietary notes.1", Value: "no nuts " + hostile}, {Name: "Time", Value: "19:30"}},
			},
			{
				At: now.Add(-2 * time.Hour), Agent: "scout", TaskURL: "/tasks/u", TaskTitle: "Lunch", Meaning: view.Ended, Word: "Never left",
				Why: "your rules allowed it", Fields: []view.Parameter{{Name: "Date", Value: "2026-05-10"}},
			},
			{
				At: now.Add(-3 * time.Hour), Agent: "scout", TaskURL: "/tasks/u", TaskTitle: "Lunch", Meaning: view.Waits, Word: "May have arrived",
				Why: "you wrote it yourself", Fields: []view.Parameter{{Name: "Date", Value: "2026-05-11"}},
			},
		},
	}
	golden(t, "ledger", view.Ledger(page))
	golden(t, "ledger-of-a-kind", view.Ledger(view.LedgerPage{
		Frame: frame("What a contact knows", "/knows"), Contact: "juno@ben.example", Kind: "Dietary", AllURL: "/knows/juno@ben.example",
	}))
}

func TestKindName(t *testing.T) {
	t.Parallel()
	for capability, want := range map[string]string{
		"disclose.availability": "Availability", "disclose.home_address": "Home address", "": "Other details",
	} {
		if got := view.KindName(capability); got != want {
			t.Errorf("%q is %q, want %q", capability, got, want)
		}
	}
}
