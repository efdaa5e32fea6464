package view

import (
	"strconv"
	"time"
)

// AgentsPage lists the owner's agents.
type AgentsPage struct {
	Frame  Frame
	Agents []AgentRow
}

// AgentRow is one agent in a list.
type AgentRow struct {
	URL, Handle, Name string
	Mode, Means       string // the mode's name, and what it means
	Disabled          bool
}

func (p AgentsPage) sentence() string {
	disabled := 0
	for _, agent := range p.Agents {
		if agent.Disabled {
			disabled++
		}
	}
	text := "You have " + strconv.Itoa(len(p.Agents)) + " agents"
	if len(p.Agents) == 1 {
		text = "You have one agent"
	}
	switch {
	case disabled == 0:
		return text + "."
	case disabled == len(p.Agents):
		return text + ", disabled."
	}
	return text + ", " + strconv.Itoa(disabled) + " of them disabled."
}

// NewAgentPage is the form for a new agent, with what was typed.
type NewAgentPage struct {
	Frame        Frame
	Handle, Name string
	Host         string // of the address that the handle becomes part of
	Modes        []ModeChoice
}

// ModeChoice is a mode as a form offers it.
type ModeChoice struct {
	Value, Name string
	Means       string // what an agent does by itself in it
	Chosen      bool
}

// AgentPage is one agent: what it may do, and how it is reached.
type AgentPage struct {
	Frame     Frame
	Agent     Agent
	Says      string // what its mode comes to
	Modes     []ModeChoice
	Answers   []AnswerRow
	MoreSides bool // there are more contacts than were looked at
	Grants    GrantsEditor
	Tools     ToolsForm
	HookUps   []HookUp
	Clients   ClientsCard
}

// Agent is what stands about an agent on its pages.
type Agent struct {
	URL, ID, Handle, Name, Address string
	Disabled                       bool
	Key                            int64 // which key this is: the first, the second
	CreatedAt                      time.Time
}

// AnswerRow is what holds for one capability.
type AnswerRow struct {
	Capability string
	Name       string // in plain words
	Answer     AnswerChip
	Why        string
	Grant      *GrantName // that decides
	Notes      []Sentence // grants that do not count, and contacts for which something else holds
}

// AnswerChip is an answer of the rules; Unless says when it is another one.
type AnswerChip struct {
	Meaning Meaning
	Word    string
	Unless  Sentence
}

// GrantName names a grant.
type GrantName struct {
	Capability, Mode string
	Contact          string // "" for an agent-wide one
}

// HookUp is one way for an agent to work with the node.
type HookUp struct {
	ID    string // of the place on the page
	Title string
	Steps []HookUpStep
}

// HookUpStep is lines to copy, with what they do; Lines is "" for a remark. Head
// begins another way to do it.
type HookUpStep struct{ Head, Text, Lines string }

// KeyPage shows a key, this once; or asks whether there is to be a new one.
type KeyPage struct {
	Frame   Frame
	Agent   Agent
	Created bool
	Key     string // "" asks
	HookUps []HookUp
}

func stepID(h HookUp, step int) string { return h.ID + "-" + strconv.Itoa(step+1) }

func ordinal(n int64) string {
	if n == 1 {
		return "The first one"
	}
	return "Replaced " + strconv.FormatInt(n-1, 10) + " times"
}
