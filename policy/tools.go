package policy

import (
	"slices"
	"strings"
)

// ToolGroup is a group of the tools that an agent sees over MCP. It is what is
// shown to a model and no permission: what may leave is decided by grants.
type ToolGroup string

// The groups.
const (
	ToolsRead    ToolGroup = "read"    // look and wait
	ToolsTalk    ToolGroup = "talk"    // connect, chat
	ToolsTasks   ToolGroup = "tasks"   // start, propose, respond, cancel
	ToolsActions ToolGroup = "actions" // ask for approval, run
)

// ToolGroups lists every group, as they are shown.
var ToolGroups = []ToolGroup{ToolsRead, ToolsTalk, ToolsTasks, ToolsActions}

// ValidToolGroups puts a choice of groups in order. ok is false where it names
// an unknown group or one twice.
func ValidToolGroups(chosen []ToolGroup) (ordered []ToolGroup, ok bool) {
	ordered = make([]ToolGroup, 0, len(chosen))
	for _, group := range ToolGroups {
		if slices.Contains(chosen, group) {
			ordered = append(ordered, group)
		}
	}
	return ordered, len(ordered) == len(chosen)
}

// JoinTools writes groups as one word: "read,talk"; "" for none.
func JoinTools(groups []ToolGroup) string {
	words := make([]string, 0, len(groups))
	for _, group := range groups {
		words = append(words, string(group))
	}
	return strings.Join(words, ",")
}

// SplitTools reads what JoinTools writes.
func SplitTools(text string) []ToolGroup {
	groups := []ToolGroup{}
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' }) {
		groups = append(groups, ToolGroup(word))
	}
	return groups
}
