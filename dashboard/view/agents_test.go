package view_test

import (
	"testing"
	"time"

	"agentlink/dashboard/view"
)

func anAgent() view.Agent {
	return view.Agent{
		URL: "/agents/0197", ID: "0197", Handle: "scout", Name: "Scout\u202e <b>", Address: "scout@ada.example", Key: 1, CreatedAt: now.Add(-48 * time.Hour),
	}
}

var modes = []view.ModeChoice{
	{Value: "manual", Name: "Manual", Means: "Everything waits.", Chosen: true}, {Value: "assisted", Name: "Assisted", Means: "It writes."},
}

func hookUps() []view.HookUp {
	return []view.HookUp{{ID: "rest", Title: "Plain HTTP", Steps: []view.HookUpStep{
		{Text: "Change the key for a token.", Lines: "umask 077\ncurl -su scout http://localhost:7410/oauth/token | sed 's/\"/\\1/' > token"},
		{Head: "By hand", Text: "With the key in a file."}, {Text: "Work with it.", Lines: "curl -sH @token http://localhost:7410/v1/agent/me"},
	}}}
}

var someTools = view.ToolsForm{URL: "/agents/0197/tools", CSRF: "token", Groups: []view.ToolGroup{
	{Value: "read", Name: "Look", Means: "Contacts and tasks.", Chosen: true}, {Value: "talk", Name: "Talk", Means: "Messages."},
}}

func someAnswers() []view.AnswerRow {
	return []view.AnswerRow{
		{Capability: "message.send", Name: "Send a chat message", Answer: view.AnswerChip{Meaning: view.OK, Word: "Goes ahead"}, Why: "The mode allows it"},
		{Capability: "disclose.budget", Name: "Share your budget", Answer: view.AnswerChip{Meaning: view.OK, Word: "Goes ahead", Unless: view.Sentence{
			view.Plain("Only where "), view.Bold("currency is “\u202eRUE”"), view.Plain(" – otherwise it waits for you.")}},
			Why: "A grant allows it", Grant: &view.GrantName{Capability: "disclose.budget", Mode: "allow", Contact: "juno@b.example"},
			Notes: []view.Sentence{{view.Plain("The contact's own "), view.Bold("disclose.*"), view.Plain(" ask does not count.")}}},
		{Capability: "disclose.dietary", Name: "Share dietary needs", Answer: view.AnswerChip{Meaning: view.No, Word: "Refused"},
			Why: "A grant denies it", Grant: &view.GrantName{Capability: "disclose.*", Mode: "deny"}},
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	f := frame("Agents", "/agents")
	golden(t, "agents-none", view.Agents(view.AgentsPage{Frame: f}))
	golden(t, "agents", view.Agents(view.AgentsPage{Frame: f, Agents: []view.AgentRow{
		{URL: "/agents/1", Handle: "scout", Name: "Sc\u200bout", Mode: "Manual", Means: "Everything waits."},
		{URL: "/agents/2", Handle: "juno", Name: "juno", Mode: "Autonomous", Means: "It acts.", Disabled: true},
	}}))
	golden(t, "agent-new", view.NewAgent(view.NewAgentPage{Frame: f, Host: "ada.example", Modes: modes}))
	f.Problem = "An agent of this node has the handle already."
	golden(t, "agent-new-problem", view.NewAgent(view.NewAgentPage{Frame: f, Host: "ada.example", Handle: `sc"out`, Name: "<i>Scout", Modes: modes}))
}

func TestAgentOf(t *testing.T) {
	t.Parallel()
	page := view.AgentPage{
		Frame: frame("Agent", "/agents"), Agent: anAgent(), Says: "scout waits for you.", Modes: modes, Answers: someAnswers(), MoreSides: true,
		Grants: view.GrantsEditor{AgentURL: "/agents/0197", Handle: "scout", Now: now, Form: aForm()}, HookUps: hookUps(), Tools: someTools,
	}
	golden(t, "agent", view.AgentOf(page))
	page.Frame.Notice = "The agent is disabled: it can do nothing."
	page.Agent.Disabled, page.Agent.Key, page.Says = true, 3, "scout can do nothing: it is disabled."
	golden(t, "agent-disabled", view.AgentOf(page))
}

func TestKey(t *testing.T) {
	t.Parallel()
	page := view.KeyPage{Frame: frame("Key", "/agents"), Agent: anAgent(), HookUps: hookUps()}
	golden(t, "key-ask", view.Key(page))
	page.Key = "alk_0123456789012345678901234567890123456789012"
	golden(t, "key-new", view.Key(page))
	page.Created = true
	golden(t, "key-first", view.Key(page))
}
