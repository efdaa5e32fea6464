package main

import (
	"github.com/spf13/cobra"

	"agentlink/coordination"
	"agentlink/node/api/socket"
	"agentlink/node/display"
)

func (c *cli) messages() *cobra.Command {
	return parent("messages", "Read the chat, and write yourself", "", c.messagesList(), c.messagesSend())
}

func (c *cli) messagesList() *cobra.Command {
	var request socket.ListMessages
	command := &cobra.Command{
		Use: "list", Short: "List the chat messages, newest first", Args: args(),
		Example: "  agentlink messages list --connection 4f0c92ab --limit 10",
		RunE: func(cmd *cobra.Command, _ []string) error {
			messages, err := ask[[]socket.Message](c, cmd, socket.MessageList, request)
			if err != nil {
				return err
			}
			return c.print(messages, func() {
				for _, m := range messages {
					c.showMessage(m)
				}
				if len(messages) == 0 {
					c.say("There is no message.")
				}
			})
		},
	}
	command.Flags().StringVar(&request.Agent, "agent", "", "only this agent's")
	command.Flags().StringVar(&request.Connection, "connection", "", "only those of this connection")
	command.Flags().IntVar(&request.Limit, "limit", 0, "at most this many, 1 to 100 (default 50)")
	return command
}

func (c *cli) showMessage(m socket.Message) {
	from, to := m.Agent, m.Contact
	if m.Direction == coordination.In {
		from, to = m.Contact, m.Agent
	}
	by := ""
	if m.Author == "owner" {
		by = ", written by the owner"
	}
	status := string(m.Status)
	if m.Code != "" {
		status += ": " + m.Code
	}
	c.say("%s  %s → %s (%s%s)", when(m.CreatedAt), display.Text(from), display.Text(to), display.Text(status), by)
	c.say("    %s", display.Text(m.Text))
}

func (c *cli) messagesSend() *cobra.Command {
	var request socket.SendMessage
	command := &cobra.Command{
		Use: "send CONNECTION TEXT", Short: "Send a message of your own", Args: args("CONNECTION", "TEXT"),
		Long: `Send a message of your own. It is marked as yours and sent straight away: what you
do yourself is not checked against grants. The connection has to be active.`,
		Example: `  agentlink messages send 4f0c92ab "Friday works for me."`,
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Connection, request.Text = args[0], args[1]
			sent, err := tell[socket.Sent](c, cmd, socket.MessageSend, request)
			if err != nil {
				return err
			}
			return c.print(sent, func() { c.say("Message %s is %s.", short(sent.ID), sent.Status) })
		},
	}
	return c.needsPassword(command)
}
