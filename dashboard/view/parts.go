package view

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"agentlink/node/display"
)

// Parameter is one value of exact parameters. Was is what the accepted proposal
// says, where it says something else.
type Parameter struct {
	Name, Value string
	Was         string
	Differs     bool
	Asked       bool // the owner is asked because of it
}

// shown writes out what a text could use to deceive.
func shown(text string) string { return display.Text(text) }

// scripts are those whose letters are easily taken for one another.
var scripts = []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee}

// mixedScripts says whether a word mixes scripts that look alike.
func mixedScripts(text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		seen := -1
		for _, r := range word {
			for i, script := range scripts {
				if !unicode.Is(script, r) {
					continue
				}
				if seen >= 0 && seen != i {
					return true
				}
				seen = i
			}
		}
	}
	return false
}

// Until says how long it is to a moment: in 2 h 10 min.
func Until(at, now time.Time) string {
	left := at.Sub(now)
	switch {
	case left <= 0:
		return "expired"
	case left < time.Minute:
		return fmt.Sprintf("in %d s", int(left.Seconds()))
	case left < time.Hour:
		return fmt.Sprintf("in %d min", int(left.Minutes()))
	case left < 48*time.Hour:
		if minutes := int(left.Minutes()) % 60; minutes > 0 && left < 12*time.Hour {
			return fmt.Sprintf("in %d h %d min", int(left.Hours()), minutes)
		}
		return fmt.Sprintf("in %d h", int(left.Hours()))
	}
	return fmt.Sprintf("in %d days", int(left.Hours()/24))
}

// Rows writes JSON as rows, one for each value, named by its path. Nothing is cut.
func Rows(raw json.RawMessage) []Parameter {
	values := display.Rows(raw)
	rows := make([]Parameter, len(values))
	for i, value := range values {
		rows[i] = Parameter{Name: value.Path, Value: value.Value}
	}
	return rows
}

// nameParts parts the name of a parameter where a line may break: after its dots.
func nameParts(name string) []string { return strings.SplitAfter(name, ".") }

func countText(count int) string {
	if count > 999 {
		return "999+"
	}
	return strconv.Itoa(count)
}

func newsURL(seen int64) string { return "/part/news?seen=" + strconv.FormatInt(seen, 10) }

func liveURL(seen int64) string { return "/live?seen=" + strconv.FormatInt(seen, 10) }

// Words turns a name of the node's own, agent_disabled, into words.
func Words(name string) string { return strings.ReplaceAll(name, "_", " ") }
