package view

import (
	"strconv"
	"strings"

	"agentlink/node/owner"
)

// SetUpPage is one step of the set-up.
type SetUpPage struct {
	Problem string
	CSRF    string
	Action  string // of the first step: the link itself
	Name    string // the owner's, once they have one
	// Passkey is what the browser makes a passkey from, as JSON; "" where this
	// address knows none.
	Passkey     string
	PasskeyName string
	Host        string   // host[:port] of the agents' addresses
	Codes       []string // this once
	// Settings is true where the codes are made in the settings.
	Settings bool
}

// steps are the names of the set-up's steps.
var steps = []string{"You", "How you sign in", "Recovery codes", "Your first agent"}

func stepMark(current bool) string {
	if current {
		return "step"
	}
	return "false"
}

func minPassword() string { return strconv.Itoa(owner.MinPasswordChars) }

func lines(codes []string) string { return strings.Join(codes, "\n") }

func codesLeft(count int) string {
	switch count {
	case 0:
		return "No code is left"
	case 1:
		return "1 code is left"
	}
	return strconv.Itoa(count) + " codes are left"
}
