package main

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"agentlink/node/api/socket"
)

// dryRunFlag adds the flag that changes nothing and shows what would.
func (c *cli) dryRunFlag(command *cobra.Command, dryRun *bool) {
	command.Flags().BoolVar(dryRun, "dry-run", false, "change nothing; show which of the latest 100 decisions would have been others")
}

func (c *cli) showTurned(turned []socket.Turned) {
	var rows [][]string
	for _, t := range turned {
		rows = append(rows, []string{short(t.ID), when(t.At), t.Contact, string(t.Was), string(t.Would), strings.Join(t.Capabilities, ", ")})
	}
	c.table("Nothing was changed. None of the latest decisions would have been another one.",
		[]string{"DECISION", "AT", "CONTACT", "IS", "WOULD BE", "CAPABILITIES"}, rows)
	if len(rows) > 0 {
		c.say("Nothing was changed.")
	}
}

func (c *cli) explainDecision(cmd *cobra.Command, id string) error {
	decision, err := ask[socket.Decision](c, cmd, socket.GrantDecision, socket.ByID{ID: id})
	if err != nil {
		return err
	}
	return c.print(decision, func() { c.showDecision(decision) })
}

func (c *cli) showDecision(d socket.Decision) {
	c.say("Decision %s: %s", d.ID, d.Outcome)
	c.facts("Agent", d.Agent, "At", when(d.At), "Contact", d.Facts.Contact, "About", d.Subject, "Task", d.TaskUID, "Rules", d.Version)
	c.say("\nWhat followed:")
	c.showAnswers(d.Answers)
	facts, err := json.Marshal(d.Facts)
	if err == nil {
		c.say("\nWhat was known:\n%s", exactly(facts))
	}
}
