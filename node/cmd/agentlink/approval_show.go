package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"agentlink/approvals"
	"agentlink/node/api/socket"
	"agentlink/node/display"
)

// showApproval prints exactly what would happen, and leaves nothing out.
func (c *cli) showApproval(a socket.Approval) {
	c.say("Approval %s", a.ID)
	c.facts("Kind", string(a.Kind), "Action", a.Action, "Agent", a.Agent, "Contact", a.Contact, "Task", a.TaskUID,
		"Status", string(a.Status), "Asked", when(a.CreatedAt), "Expires", when(a.ExpiresAt),
		"Decided", when(a.DecidedAt), "Your note", a.Note, "Hash", a.Hash)
	if a.Damaged {
		c.say("\nDAMAGED: what is stored is not what was asked for. This approval opens nothing.")
		return
	}
	c.say("\nWhat will happen:\n  %s", consequence(a))
	if a.Summary != "" {
		c.say("  %s", display.Text(a.Summary))
	}
	c.showHeld(a)
	c.say("\nExactly these parameters:")
	c.say("%s", exactly(a.Parameters))
	c.showDifference(a)
	for _, warning := range a.Warnings {
		c.say("\nWARNING: %s", display.Text(warning.Text))
	}
}

// consequence says in a sentence what a yes does.
func consequence(a socket.Approval) string {
	agent, contact := display.Text(a.Agent), display.Text(a.Contact)
	switch {
	case a.Kind == approvals.Message && a.TaskUID != "":
		return fmt.Sprintf("The task message below is entered into your copy of the task and sent to %s.", contact)
	case a.Kind == approvals.Message:
		return fmt.Sprintf("The message below is sent to %s.", contact)
	case a.Kind == approvals.Connection:
		return fmt.Sprintf("A request to connect with %s goes out to %s.", agent, contact)
	case a.OnApproval == approvals.Run:
		return fmt.Sprintf("The node runs %s at once, a single time, with exactly the parameters below.", display.Text(a.Action))
	}
	return fmt.Sprintf("%s may run %s, a single time, with exactly the parameters below.", agent, display.Text(a.Action))
}

func (c *cli) showHeld(a socket.Approval) {
	if len(a.Held) == 0 {
		return
	}
	c.say("\nIt needs you because of:")
	for _, capability := range sortedKeys(a.Held) {
		c.facts(capability, a.Held[capability])
	}
}

func (c *cli) showDifference(a socket.Approval) {
	if len(a.Difference) == 0 {
		return
	}
	c.say("\nNOT what both sides agreed on:")
	rows := [][]string{{"  PARAMETER", "AGREED", "ASKED NOW"}}
	for _, d := range a.Difference {
		rows = append(rows, []string{"  " + d.Parameter, compact(d.Accepted), compact(d.Asked)})
	}
	c.columns(rows)
}

// exactly prints JSON over several lines, with nothing invisible in it.
func exactly(raw json.RawMessage) string {
	text, err := indented(raw)
	if err != nil {
		text = display.JSON(raw)
	}
	return "  " + strings.ReplaceAll(string(text), "\n", "\n  ")
}

func compact(value any) string {
	if value == nil {
		return "(nothing)"
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	return string(raw)
}
