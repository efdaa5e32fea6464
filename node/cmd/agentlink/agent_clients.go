package main

import (
	"github.com/spf13/cobra"

	"agentlink/node/api/socket"
	"agentlink/node/display"
)

func (c *cli) agentClients() *cobra.Command {
	return &cobra.Command{
		Use: "clients HANDLE", Short: "List the programs that act as an agent over MCP", Args: args("HANDLE"),
		Long: `List the programs of others that you have let act as an agent: those that were
given the node's address as a custom connector. The name of each is what it calls
itself.`,
		Example: "  agentlink agent clients scout",
		RunE: func(cmd *cobra.Command, args []string) error {
			clients, err := ask[[]socket.Program](c, cmd, socket.ClientList, socket.AgentRef{Agent: args[0]})
			if err != nil {
				return err
			}
			return c.print(clients, func() {
				var rows [][]string
				for _, k := range clients {
					rows = append(rows, []string{short(k.ID), k.Name, k.Redirect, when(k.CreatedAt), when(k.LastUsedAt)})
				}
				c.table("No program acts as this agent.", []string{"ID", "NAME", "ANSWERS TO", "SINCE", "LAST TOKEN"}, rows)
			})
		},
	}
}

func (c *cli) agentRevoke() *cobra.Command {
	command := &cobra.Command{
		Use: "revoke HANDLE CLIENT", Short: "Disconnect a program that acts as an agent, at once", Args: args("HANDLE", "CLIENT"),
		Long: `Disconnect a program: its tokens open nothing from now on. CLIENT is its id, or
eight or more characters of its beginning or end, as "agentlink agent clients"
shows them.`,
		Example: "  agentlink agent revoke scout 4f0c92ab",
		RunE: func(cmd *cobra.Command, args []string) error {
			revoked, err := tell[socket.Program](c, cmd, socket.ClientRevoke, socket.RevokeClient{Agent: args[0], Client: args[1]})
			if err != nil {
				return err
			}
			return c.print(revoked, func() { c.say("%s no longer acts as %s.", display.Text(revoked.Name), revoked.Agent) })
		},
	}
	return c.needsPassword(command)
}
