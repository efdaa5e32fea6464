package view_test

import (
	"testing"
	"time"

	"agentlink/dashboard/view"
)

func TestForeseen(t *testing.T) {
	t.Parallel()
	save := view.SaveForm{
		Action: "/agents/0197/grants/allow", Word: "Save this grant", Fresh: true, Back: "/agents/0197/grants",
		Hidden: []view.Hidden{{Name: "rev", Value: "7"}, {Name: "capability", Value: "disclose.budget"}},
	}
	refused, waits, goes := view.AnswerChip{Meaning: view.No, Word: "Refused"}, view.AnswerChip{Meaning: view.Waits, Word: "Waits for you"}, view.AnswerChip{Meaning: view.OK, Word: "Goes ahead"}
	opens := view.ForeseenPage{
		Frame: frame("Before you save", "/agents"), Agent: anAgent(),
		What:     view.Sentence{view.Bold("scout"), view.Plain(" may "), view.Bold("share your budget"), view.Plain(" without asking you.")},
		Warnings: []string{"It opens for one contact."}, Notes: []string{"scout is disabled."},
		Constraints: limits, Ends: someGrants()[:2],
		Turns: []view.TurnRow{
			{Capability: "disclose.budget", Name: "Share your budget", Before: refused, After: goes, Why: "A grant allows it.", Opens: true,
				Limits: view.Sentence{view.Plain("Only where "), view.Bold("the amount is at most 30"), view.Plain(" – otherwise it waits for you.")}},
			{Capability: "disclose.budget", Name: "Share your budget", Before: waits, After: goes, Why: "A grant allows it.",
				Where: view.Sentence{view.Plain("Towards "), view.Bold("juno@b.example")}},
		},
		Past: view.PastTurns{
			Since: now.Add(-30 * 24 * time.Hour), Looked: 2000, Limit: 2000, More: true, Turned: 1234,
			Groups: []view.TurnedGroup{
				{Title: "Refused, and would have gone ahead", Count: 1, Opens: true, Rows: []view.TurnedRow{
					{Asked: "Share your budget", Contact: "juno@b.exаmple", Count: 1, Times: []view.TurnedTime{{At: now, TaskURL: "/tasks/1", Then: "It waited for you, by the rules of that day."}}}}},
				{Title: "Went ahead, and would have waited for you", Count: 1233, Rest: 1203, Rows: []view.TurnedRow{
					{Asked: "Book a table", Count: 30, Times: []view.TurnedTime{{At: now}, {At: now.Add(-time.Hour)}}}}},
			},
		},
		Save: save,
	}
	golden(t, "foreseen-opens", view.Foreseen(opens))
	golden(t, "foreseen-nothing", view.Foreseen(view.ForeseenPage{
		Frame: opens.Frame, Agent: opens.Agent, What: opens.What, NothingNew: true, Past: view.PastTurns{Since: now}, Save: save,
	}))
	quiet := view.ForeseenPage{Frame: opens.Frame, Agent: opens.Agent, What: opens.What, Past: view.PastTurns{Since: now, Looked: 1}, Save: save}
	quiet.Frame.Problem, quiet.Save.Fresh = "The agent's rules were changed meanwhile.", false
	golden(t, "foreseen-changed", view.Foreseen(quiet))
}
