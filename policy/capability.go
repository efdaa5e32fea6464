package policy

import (
	"regexp"
	"strings"
)

// The capabilities that the node itself knows. disclose.… and action.… names
// of the owner's own may come beside them.
const (
	MessageSend       = "message.send"
	TaskCreate        = "task.create"
	TaskPropose       = "task.propose"
	TaskRespond       = "task.respond"
	TaskCancel        = "task.cancel"
	ConnectionRequest = "connection.request"

	DiscloseAvailability = "disclose.availability"
	DisclosePreferences  = "disclose.preferences"
	DiscloseDietary      = "disclose.dietary"
	DiscloseBudget       = "disclose.budget"
	DiscloseNotes        = "disclose.notes"

	ActionReservationBook = "action.reservation.book"
	ActionCalendarHold    = "action.calendar.hold"
)

// Known lists the built-in capabilities in the order in which they are shown.
var Known = []string{
	MessageSend, TaskCreate, TaskPropose, TaskRespond, TaskCancel,
	DiscloseAvailability, DisclosePreferences, DiscloseDietary, DiscloseBudget, DiscloseNotes,
	ConnectionRequest, ActionReservationBook, ActionCalendarHold,
}

// MaxCapability is the longest capability or pattern, in characters.
const MaxCapability = 128

var (
	disclosePattern = regexp.MustCompile(`^disclose\.[a-z0-9_-]+$`)
	actionPattern   = regexp.MustCompile(`^action(?:\.[a-z0-9_-]+)+$`)
	wildcardPattern = regexp.MustCompile(`^(?:task|disclose|action(?:\.[a-z0-9_-]+)*)\.\*$`)
)

// ValidCapability says whether name is a capability: a built-in one, or an own
// disclose.… or action.… name of lower-case letters, digits, hyphens and
// underscores, with dots for actions.
func ValidCapability(name string) bool {
	if len(name) > MaxCapability {
		return false
	}
	for _, known := range Known {
		if name == known {
			return true
		}
	}
	return disclosePattern.MatchString(name) || actionPattern.MatchString(name)
}

// ValidPattern says whether a grant may be for text: a capability, or one of
// the wildcards task.*, disclose.*, action.* and action.‹…›.*.
func ValidPattern(text string) bool {
	return ValidCapability(text) || (len(text) <= MaxCapability && wildcardPattern.MatchString(text))
}

// Patterns lists what a grant can be for so as to cover a capability, the most
// specific first: the name itself, then its wildcards from long to short.
func Patterns(capability string) []string {
	patterns := []string{capability}
	switch prefix, _, _ := strings.Cut(capability, "."); prefix {
	case "task", "disclose":
		patterns = append(patterns, prefix+".*")
	case "action":
		for cut := strings.LastIndexByte(capability, '.'); cut > 0; cut = strings.LastIndexByte(capability[:cut], '.') {
			patterns = append(patterns, capability[:cut]+".*")
		}
	}
	return patterns
}
