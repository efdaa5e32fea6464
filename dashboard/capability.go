package dashboard

import (
	"strings"

	"agentlink/dashboard/view"
	"agentlink/policy"
)

// capabilityWords are capabilities and their wildcards in the owner's words.
var capabilityWords = map[string]string{
	policy.MessageSend:           "Send a chat message",
	"task.*":                     "Write anything in tasks",
	policy.TaskCreate:            "Start a task",
	policy.TaskPropose:           "Make a proposal",
	policy.TaskRespond:           "Accept or reject a proposal",
	policy.TaskCancel:            "Cancel a task",
	"disclose.*":                 "Share any personal detail",
	policy.DiscloseAvailability:  "Share when you are free",
	policy.DisclosePreferences:   "Share your preferences",
	policy.DiscloseDietary:       "Share dietary needs",
	policy.DiscloseBudget:        "Share your budget",
	policy.DiscloseNotes:         "Share notes",
	policy.ConnectionRequest:     "Ask to connect with another agent",
	"action.*":                   "Carry out any action",
	policy.ActionReservationBook: "Book a table",
	policy.ActionCalendarHold:    "Hold a time in the calendar",
}

// capabilityName says in plain words what a capability or a wildcard is for.
func capabilityName(capability string) string {
	if words, known := capabilityWords[capability]; known {
		return words
	}
	if name, own := strings.CutPrefix(capability, "disclose."); own {
		return "Share " + name
	}
	if family, all := strings.CutSuffix(capability, ".*"); all {
		return "Carry out any " + strings.TrimPrefix(family, "action.") + " action"
	}
	return "Carry out " + strings.TrimPrefix(capability, "action.")
}

// offered are the capabilities and wildcards that a form lists: the known ones,
// the wildcards before those that they stand for, and the owner's own names.
func offered(grants []policy.Grant) []view.Known {
	names := []string{policy.MessageSend, "task.*"}
	family := "task"
	for _, name := range policy.Known[1:] {
		prefix, _, _ := strings.Cut(name, ".")
		if prefix != family && (prefix == "disclose" || prefix == "action") {
			names = append(names, prefix+".*")
		}
		family = prefix
		names = append(names, name)
	}
	seen := map[string]bool{}
	for _, g := range grants {
		names = append(names, g.Capability)
	}
	var list []view.Known
	for _, name := range names {
		if !seen[name] {
			list = append(list, view.Known{Capability: name, Name: capabilityName(name)})
		}
		seen[name] = true
	}
	return list
}
