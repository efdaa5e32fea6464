package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/display"
)

func (c *cli) auditWitness() *cobra.Command {
	return c.needsPassword(&cobra.Command{
		Use: "witness", Short: "Compare the log with what your contacts keep of it", Args: args(),
		Long: `Ask the node of every active contact for the heads of this node's log that it has
kept: one comes with each acknowledgement, and the last one of each day is kept for
30 days. Each is compared with the row at that place.

A log that was replaced as a whole or cut, by somebody who holds the master key
too, is whole by itself. It differs from what contacts keep. A head is sealed: a
contact cannot read it, and cannot make one up, but it can leave heads out.

What can come of a contact:
  agrees        the rows are those that it was shown
  differs       another row stands at a place: the log was replaced or written anew
  fewer         the log has fewer rows than it was shown: it was cut or set back
  restored      the same, and a restore from a backup that stands in this log
                explains it: if that restore was not yours, the log was replaced
  not_ours      it gave what this node never sealed for it: either its record is
                damaged or untrue, or this node's master key was replaced
  nothing       it has kept no head yet
  too_old       its node does not keep heads
  refused       its node does not know this one as an active contact
  unreachable   it gave no answer that counts

The exit code is 1 where the log is not whole, or a contact says differs, fewer,
restored or not_ours.`,
		Example: `  agentlink audit witness
  agentlink audit witness --password-file password.txt --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			said, err := tell[audit.Witnessed](c, cmd, socket.AuditWitness, struct{}{})
			if err != nil {
				return err
			}
			if err := c.print(said, func() { c.showWitnessed(said) }); err != nil {
				return err
			}
			if !said.OK() {
				return &quietFailure{}
			}
			return nil
		},
	})
}

func (c *cli) showWitnessed(said audit.Witnessed) {
	if said.Log.OK() {
		c.say("The log by itself is whole: %d rows, head %s", said.Log.Rows, said.Log.Head)
	} else {
		fmt.Fprintf(c.stderr, "agentlink: the log is NOT whole: %s\n", display.Text(said.Log.Problem))
	}
	if len(said.Contacts) == 0 {
		c.say("There is no active contact at another node to compare it with.")
	}
	for _, by := range said.Contacts {
		c.say("%-12s %s: %s", by.Verdict, display.Text(by.Contact), witnessWords(by.Comparison))
	}
	if !said.OK() {
		fmt.Fprintln(c.stderr, "agentlink: the log is NOT the one that every contact was shown")
	}
}

// witnessWords say what a verdict means, and blame nobody whom it does not show.
func witnessWords(c audit.Comparison) string {
	text := ""
	switch c.Verdict {
	case audit.Agrees:
	case audit.Differs:
		text = fmt.Sprintf("row %d is not the row that it was shown on %s", c.DiffersFrom.Position, when(c.DiffersFrom.At))
	case audit.Fewer:
		text = fmt.Sprintf("it was shown %d rows on %s, and the log has fewer", c.DiffersFrom.Position, when(c.DiffersFrom.At))
	case audit.Restored:
		text = fmt.Sprintf("rows after %d were lost in the restore on %s from a backup of %s, as this log says; was that you?",
			c.Restore.Rows, when(c.Restore.At), when(c.Restore.BackupFrom))
	case audit.NotOurs:
		text = "it gave what this node never sealed for it: its record is damaged or untrue, or the master key here was replaced"
	case audit.Nothing:
		text = "it has kept nothing yet; it does with the next message that it sends"
	case audit.TooOld:
		text = "its node keeps no heads"
	case audit.Refused:
		text = "its node does not know this one as an active contact"
	case audit.Unreachable:
		text = "no answer that counts"
	}
	if c.AgreesTo == nil {
		return text
	}
	agrees := fmt.Sprintf("the same up to row %d, shown on %s", c.AgreesTo.Position, when(c.AgreesTo.At))
	if text == "" {
		return agrees
	}
	return text + "; " + agrees
}
