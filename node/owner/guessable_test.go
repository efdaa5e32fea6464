package owner

import (
	"strings"
	"testing"
	"unicode/utf8"

	"agentlink/node"
)

// What is tried first is no password, in whatever case; everything else is,
// whatever it is made of.
func TestGuessablePasswords(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"1qaz2wsx3edc", "1QAZ2wsx3EDC", "123456789987654321", "password1234", "unbelievable", "qwertyqwerty",
		"agentlinkagentlink", "AgentLink2026!", "my-agentlink-1", "adminadminadmin", "owner password", "dashboard-node-admin",
	} {
		_, err := NewPassword(text)
		if node.CodeOf(err) != node.BadRequest {
			t.Errorf("%q is taken: %v", text, err)
		} else if strings.Contains(err.Error(), text) {
			t.Errorf("the error quotes %q", text)
		}
	}
	for _, text := range []string{
		"twelve chars", "agentlink opens at noon", "lowercaseonlyxyz", "UPPERCASEONLYXYZ", "907215338164", "!?!?;;,,..--", "naïve übung zwölf",
	} {
		if _, err := NewPassword(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The list has what the password's rule lets through, and all of it is refused.
func TestCommonPasswords(t *testing.T) {
	t.Parallel()
	all := commonPasswords()
	if len(all) < 3000 {
		t.Errorf("%d passwords only", len(all))
	}
	for text := range all {
		if utf8.RuneCountInString(text) < MinPasswordChars || strings.ToLower(text) != text {
			t.Errorf("%q would never be looked up", text)
		}
		if guessable(text) == "" {
			t.Errorf("%q is taken", text)
		}
	}
}
