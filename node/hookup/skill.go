package hookup

import (
	_ "embed"
	"time"
)

// Skill tells an agent how to behave with AgentLink.
//
//go:embed SKILL.md
var Skill string

// AddSkill writes the skill to a file.
func AddSkill(file string, now time.Time) (Written, error) {
	return edit(file, now, func(old []byte) ([]byte, Change, error) {
		switch {
		case old == nil:
			return []byte(Skill), Added, nil
		case string(old) == Skill:
			return old, Unchanged, nil
		}
		return []byte(Skill), Replaced, nil
	})
}
