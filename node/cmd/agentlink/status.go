package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agentlink/node/api/socket"
	"agentlink/node/display"
)

func (c *cli) status() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show what runs and what waits for you", Args: args(),
		Long: `Show the running node: its addresses, its fingerprint, what waits for you, and the
head of the audit log. The exit code is 3 where no node runs.`,
		Example: "  agentlink status --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			status, err := ask[socket.Status](c, cmd, socket.NodeStatus, nil)
			if err != nil {
				return err
			}
			return c.print(status, func() { c.showStatus(status) })
		},
	}
}

func (c *cli) showStatus(s socket.Status) {
	c.say("AgentLink %s, pid %d, up since %s", s.Version, s.PID, when(s.StartedAt))
	c.facts("Owner", s.Owner, "Host", s.Host, "Fingerprint", display.Grouped(s.Fingerprint), "Agents' API", s.AgentsURL,
		"Peers", s.PeersURL, "Database", s.Database, "Data folder", s.DataDir,
		"Agents", counts(s.Agents), "Connections", counts(s.Connections), "Open tasks", counts(s.Tasks),
		"Audit log", fmt.Sprintf("%d rows, head %s", s.AuditRows, s.AuditHead))
	c.say("")
	if s.LastBackup != nil {
		c.say("Last backup: %s.", when(*s.LastBackup))
	}
	if s.Restored != nil {
		c.say("Restored on %s from a backup of %s: what came after that backup is not known here.", when(s.Restored.At), when(s.Restored.BackupFrom))
	}
	if s.PendingApprovals == 0 && s.PendingIncoming == 0 && s.KeyOffers == 0 {
		c.say("Nothing waits for you.")
	}
	if s.PendingApprovals > 0 {
		c.say("Approvals that wait for you: %d. See: agentlink approvals list", s.PendingApprovals)
	}
	if s.Undelivered > 0 {
		c.say("Messages that have not arrived yet: %d.", s.Undelivered)
	}
	if s.PendingIncoming > 0 {
		c.say("Requests to connect that wait for you: %d. See: agentlink connection list", s.PendingIncoming)
	}
	if s.KeyOffers > 0 {
		c.say("Contacts that announce a new key: %d. See: agentlink connection list", s.KeyOffers)
	}
}

func counts[K ~string](numbers map[K]int) string {
	var all []string
	for _, name := range sortedKeys(numbers) {
		all = append(all, fmt.Sprintf("%d %s", numbers[name], name))
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}
