package dashboard

import (
	"agentlink/dashboard/view"
	"agentlink/policy"
)

// modeWords are the modes in the owner's words.
var modeWords = map[policy.Mode]struct{ name, means, says string }{
	policy.Manual: {"Manual", "Everything that it sends or does waits for you.",
		"waits for you with everything that it sends or does"},
	policy.Assisted: {"Assisted", "Messages and tasks go out, unless a grant says ask or deny. Connecting and actions wait for you.",
		"writes by itself, and waits for you before it connects or acts"},
	policy.Autonomous: {"Autonomous", "It connects by itself too, and carries out actions that an allow grant matches.",
		"writes and connects by itself, and acts where you have allowed it"},
}

func modeChoices(chosen policy.Mode) []view.ModeChoice {
	choices := make([]view.ModeChoice, len(policy.Modes))
	for i, mode := range policy.Modes {
		words := modeWords[mode]
		choices[i] = view.ModeChoice{Value: string(mode), Name: words.name, Means: words.means, Chosen: mode == chosen}
	}
	return choices
}

// says is what an agent's status and mode come to.
func says(a policy.Agent) string {
	if a.Status == policy.Disabled {
		return a.Handle + " can do nothing: it is disabled."
	}
	return a.Handle + " " + modeWords[a.Mode].says + "."
}
