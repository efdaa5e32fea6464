package view_test

import (
	"testing"
	"time"

	"agentlink/dashboard/view"
)

func TestRules(t *testing.T) {
	t.Parallel()
	const text = "package overlay\n\ndecision := \"refuse\" if input.contact == \"<b>juno@b.exаmple\"\n\nelse := \"keep\"\n"
	f := frame("Rules of your own", "/settings")
	golden(t, "rules-none", view.Rules(view.RulesPage{Frame: f, Longest: 16384}))
	holds := view.RulesPage{Frame: f, Hold: true, Number: 3, Version: "0123456789abcdef", Since: now, Text: text, Longest: 16384}
	golden(t, "rules", view.Rules(holds))
	wrong := holds
	wrong.Problems = []string{"line 3: undefined function http.send", "has no rule with the name decision"}
	golden(t, "rules-wrong", view.Rules(wrong))
	looked := holds
	looked.Looked = true
	looked.Agents = []view.RulesAgent{
		{Handle: "scout", Past: view.PastTurns{Since: now.Add(-30 * 24 * time.Hour), Looked: 40, Limit: 2000, Turned: 2, Groups: []view.TurnedGroup{
			{Title: "Went ahead, and would have been refused", Count: 2, Rows: []view.TurnedRow{
				{Asked: "Send a message", Contact: "juno@b.exаmple", Count: 2, Times: []view.TurnedTime{{At: now, TaskURL: "/tasks/1"}, {At: now.Add(-time.Hour)}}}}},
		}}},
		{Handle: "quiet", Past: view.PastTurns{Since: now.Add(-30 * 24 * time.Hour)}},
	}
	golden(t, "rules-looked", view.Rules(looked))
	golden(t, "rules-removes", view.Rules(view.RulesPage{Frame: f, Hold: true, Number: 3, Version: "0123456789abcdef", Since: now, Longest: 16384, Looked: true, Removes: true}))
}
