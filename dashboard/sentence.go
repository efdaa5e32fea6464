package dashboard

import (
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination/wire"
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/policy"
)

// held is the parameters of a held message.
type held struct {
	Recipient string          `json:"recipient"`
	Type      wire.Type       `json:"type"`
	Content   json.RawMessage `json:"content"`
}

// sentence says in one sentence what an approval would do; title is that of its
// task. The words of agents and peers in it are marked, so that a page shows them
// as such.
func sentence(agent, title string, a approvals.Approval, explained actions.View) view.Sentence {
	switch a.Kind {
	case approvals.Connection:
		return view.Sentence{view.Bold(agent), view.Plain(" asks to connect with "), view.Bold(a.Contact)}
	case approvals.Action:
		return view.Sentence{view.Bold(agent), view.Plain(" will "), view.Bold(lowerFirst(explained.Summary))}
	}
	var h held
	if json.Unmarshal(a.Parameters, &h) != nil {
		return view.Sentence{view.Bold(agent), view.Plain(" sends something that cannot be read")}
	}
	return append(view.Sentence{view.Bold(agent), view.Plain(" ")}, messageWords(h, title)...)
}

func messageWords(h held, title string) view.Sentence {
	to, task := view.Bold(h.Recipient), taskWord(title)
	var content struct {
		Text     string         `json:"text"`
		Title    string         `json:"title"`
		Version  int            `json:"version"`
		Decision string         `json:"decision"`
		Reason   string         `json:"reason"`
		Proposal *wire.Proposal `json:"proposal"`
	}
	_ = json.Unmarshal(h.Content, &content)
	switch h.Type {
	case wire.Message:
		return view.Sentence{view.Plain("writes to "), to, view.Plain(" – "), view.Bold(content.Text)}
	case wire.TaskCreate:
		words := view.Sentence{view.Plain("starts "), view.Bold(content.Title), view.Plain(" with "), to}
		if content.Proposal != nil {
			words = append(words, view.Plain(", with a first proposal"))
		}
		return words
	case wire.TaskPropose:
		return view.Sentence{view.Plain(fmt.Sprintf("proposes version %d of ", content.Version)), task, view.Plain(" to "), to}
	case wire.TaskRespond:
		verb := map[string]string{wire.Accept: "accepts", wire.Reject: "rejects"}[content.Decision]
		words := view.Sentence{view.Bold(verb), view.Plain(fmt.Sprintf(" version %d of ", content.Version)), task, view.Plain(" with "), to}
		return append(words, reasonWords(content.Reason)...)
	case wire.TaskCancel:
		words := view.Sentence{view.Bold("cancels"), view.Plain(" "), task, view.Plain(" with "), to}
		return append(words, reasonWords(content.Reason)...)
	}
	return view.Sentence{view.Plain("sends " + string(h.Type) + " to "), to}
}

func taskWord(title string) view.Word {
	if title == "" {
		return view.Plain("a task")
	}
	return view.Bold(title)
}

// reasonWords is the free text that goes with an answer.
func reasonWords(reason string) view.Sentence {
	if reason == "" {
		return nil
	}
	return view.Sentence{view.Plain(" and gives a reason – "), view.Bold(reason)}
}

// whyWords are the reasons of the policy in the owner's words.
var whyWords = map[policy.Reason]string{
	policy.GrantAsks:             "a grant says to ask you",
	policy.ModeManual:            "the agent is in manual mode: everything waits for you",
	policy.ModeNotAutonomous:     "the agent is not autonomous",
	policy.NoAllowGrant:          "no grant allows it without you",
	policy.ConstraintsNotMatched: "the grant that allows it has constraints, and these terms do not match them",
	policy.PeerRevoked:           "you, or they, revoked an earlier connection",
	policy.PeerRejected:          "an earlier request was rejected",
	policy.StructuredOnly:        "free text to this contact always waits for you",
	policy.ContactDeniesAction:   "it names no task, and a contact's grant denies this action",
	policy.GrantDenies:           "a grant denies it",
	policy.NoGrant:               "no grant allows it",
	policy.ConnectionNotActive:   "the connection is not active",
	policy.AgentDisabled:         "the agent is disabled",
	policy.UnknownCapability:     "nobody knows this capability",
	policy.EngineError:           "the rules could not be evaluated",
	policy.OwnRulesHold:          "rules of your own say to ask you",
	policy.OwnRulesRefuse:        "rules of your own refuse it",
	policy.OwnRulesFailed:        "rules of your own gave no answer",
	policy.ModeAllows:            "the mode allows it",
	policy.GrantAllows:           "a grant allows it",
	policy.NothingDenies:         "nothing denies it",

	// These are no rule's: the node itself asks.
	"not_executing_role": "by the kind of this task the other side is to do it",
	"parameters_differ":  "it is not what both sides accepted",
	"restored_copy":      "the node was restored from a backup, and may have done it already",
}

// agentNames gives the handles of the agents by their ids.
func (d *Dashboard) agentNames(tx node.Tx) (map[string]string, error) {
	agents, err := d.Policy.Agents(tx)
	names := make(map[string]string, len(agents))
	for _, agent := range agents {
		names[agent.ID] = agent.Handle
	}
	return names, err
}

// lowerFirst lets a summary stand within a sentence.
func lowerFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(first)) + text[size:]
}
