package main

import (
	"strings"

	"github.com/spf13/cobra"

	"agentlink/coordination"
	"agentlink/node/api/socket"
	"agentlink/node/display"
)

func (c *cli) connection() *cobra.Command {
	return parent("connection", "Connect with other people's agents", `A connection stands between one of your agents and an agent on another node.
Both owners decide about it.

Commands that take an ID accept it in full, or eight or more characters of its
beginning or end, as lists show them.`,
		c.connectionList(), c.connectionShow(), c.connectionRequest(), c.connectionApprove(),
		c.connectionReject(), c.connectionAcceptKey(), c.connectionRefuseKey(), c.connectionRevoke(), c.connectionInvite(), c.connectionStructuredOnly())
}

func (c *cli) connectionList() *cobra.Command {
	var request socket.ListOf
	command := &cobra.Command{
		Use: "list", Short: "List the connections, newest first", Args: args(),
		Example: "  agentlink connection list --agent scout",
		RunE: func(cmd *cobra.Command, _ []string) error {
			connections, err := ask[[]socket.Connection](c, cmd, socket.ConnectionList, request)
			if err != nil {
				return err
			}
			return c.print(connections, func() {
				var rows [][]string
				for _, k := range connections {
					rows = append(rows, []string{short(k.ID), k.Agent, k.Contact, string(k.Status), remarks(k), when(k.UpdatedAt)})
				}
				c.table("There is no connection yet. Ask for one with: agentlink connection request ADDRESS",
					[]string{"ID", "AGENT", "CONTACT", "STATUS", "REMARKS", "CHANGED"}, rows)
			})
		},
	}
	command.Flags().StringVar(&request.Agent, "agent", "", "only this agent's")
	command.Flags().IntVar(&request.Limit, "limit", 0, "at most this many, 1 to 100 (default 50)")
	return command
}

func remarks(k socket.Connection) string {
	var all []string
	for _, remark := range []string{
		yes(k.KeyChanged, "key changed"), yes(k.OfferedKey != nil, "announces a new key"),
		yes(k.KnownKey != "" && !k.KeyChanged, "goes by your earlier key"), yes(k.KeyDeclined, "refused your new key"),
		yes(k.StructuredOnly, "structured only"),
	} {
		if remark != "" {
			all = append(all, remark)
		}
	}
	return strings.Join(all, ", ")
}

func (c *cli) connectionShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show one connection", Args: args("ID"),
		Example: "  agentlink connection show 4f0c92ab",
		RunE: func(cmd *cobra.Command, args []string) error {
			connection, err := ask[socket.Connection](c, cmd, socket.ConnectionShow, socket.ByID{ID: args[0]})
			if err != nil {
				return err
			}
			return c.print(connection, func() { c.showConnection(connection) })
		},
	}
}

func (c *cli) showConnection(k socket.Connection) {
	asked := "the contact asked"
	if k.Initiated {
		asked = "your side asked"
	}
	var offered, disputed string
	if k.OfferedKey != nil {
		offered, disputed = display.Grouped(k.OfferedKey.Fingerprint), display.Grouped(k.OfferedKey.Disputed)
	}
	c.facts("Id", k.ID, "Agent", k.Agent, "Contact", k.Contact, "Status", string(k.Status)+" ("+asked+")",
		"Fingerprint", display.Grouped(k.Fingerprint), "New key", offered, "Contradicts", disputed, "Note", k.Note, "Remarks", remarks(k),
		"Made", when(k.CreatedAt), "Changed", when(k.UpdatedAt))
}

func (c *cli) connectionRequest() *cobra.Command {
	var request socket.RequestConnection
	command := &cobra.Command{
		Use: "request ADDRESS|INVITATION", Short: "Ask to connect with another agent", Args: args("ADDRESS or INVITATION"),
		Long: `Ask to connect with the agent at an address (handle@host), or follow an
invitation link. Since you ask yourself, the request leaves straight away; the
other owner decides about it.`,
		Example: `  agentlink connection request juno@node.example --note "It's Ada, about Friday"
  agentlink connection request 'https://node.example/i#…'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if request.Address = args[0]; strings.Contains(args[0], "://") {
				request.Address, request.Invitation = "", args[0]
			}
			sent, err := tell[socket.Sent](c, cmd, socket.ConnectionRequest, request)
			if err != nil {
				return err
			}
			return c.print(sent, func() {
				c.say("The request is %s: connection %s. The other owner decides.", sent.Status, short(sent.ID))
			})
		},
	}
	agentFlag(command, &request.Agent)
	command.Flags().StringVar(&request.Note, "note", "", "words for the other owner, at most 500 characters")
	return c.needsPassword(command)
}

func (c *cli) connectionApprove() *cobra.Command {
	var fingerprint string
	command := &cobra.Command{
		Use: "approve ID", Short: "Accept a request to connect that came in", Args: args("ID"),
		Long: `Accept a request to connect. Before you do, compare the fingerprint with the
other owner, by telephone or face to face. A script gives the expected one with
--fingerprint; another one is refused.`,
		Example: `  agentlink connection approve 4f0c92ab
  agentlink connection approve 4f0c92ab --fingerprint mfzwizltoq3t… --password-file password.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			connection, err := ask[socket.Connection](c, cmd, socket.ConnectionShow, socket.ByID{ID: args[0]})
			if err != nil {
				return err
			}
			if err := c.checkRequest(cmd, connection, fingerprint); err != nil {
				return err
			}
			return c.changeConnection(cmd, socket.ConnectionAccept, connection.ID)
		},
	}
	command.Flags().StringVar(&fingerprint, "fingerprint", "", "the fingerprint that the contact's node must have")
	return c.needsPassword(command)
}

// checkRequest shows what is accepted and compares the fingerprint.
func (c *cli) checkRequest(cmd *cobra.Command, k socket.Connection, fingerprint string) error {
	if k.Status == coordination.PendingOwner {
		return usage(cmd, "this is a request of your own agent, which waits as an approval: agentlink approvals list")
	}
	fingerprint = strings.ToLower(strings.ReplaceAll(fingerprint, " ", ""))
	if fingerprint != "" && fingerprint != k.Fingerprint {
		return unsafe("The contact's node has another fingerprint than the one given: %s", display.Grouped(k.Fingerprint))
	}
	if !c.json {
		c.say("You accept this connection:")
		c.showConnection(k)
	}
	return nil
}

func (c *cli) connectionReject() *cobra.Command {
	return c.endsConnection("reject", "Reject a request to connect that came in", socket.ConnectionReject)
}

func (c *cli) connectionRevoke() *cobra.Command {
	return c.endsConnection("revoke", "End a connection; the other side is told", socket.ConnectionRevoke)
}

func (c *cli) endsConnection(verb, short, command string) *cobra.Command {
	return c.needsPassword(&cobra.Command{
		Use: verb + " ID", Short: short, Args: args("ID"),
		Example: "  agentlink connection " + verb + " 4f0c92ab",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeConnection(cmd, command, args[0])
		},
	})
}

func (c *cli) changeConnection(cmd *cobra.Command, command, id string) error {
	connection, err := tell[socket.Connection](c, cmd, command, socket.ByID{ID: id})
	if err != nil {
		return err
	}
	return c.print(connection, func() { c.say("The connection with %s is %s.", connection.Contact, connection.Status) })
}

func (c *cli) connectionInvite() *cobra.Command {
	var request socket.AgentRef
	command := &cobra.Command{
		Use: "invite", Short: "Make an invitation link, good once and for 7 days", Args: args(),
		Long: `Make an invitation link for one agent. It carries the agent's address, the node's
fingerprint and a secret: who follows it need not compare fingerprints. You still
decide about the request that comes of it.`,
		Example: "  agentlink connection invite --agent scout",
		RunE: func(cmd *cobra.Command, _ []string) error {
			invitation, err := tell[socket.Invitation](c, cmd, socket.ConnectionInvite, request)
			if err != nil {
				return err
			}
			return c.print(invitation, func() {
				c.say("The link is shown only now. It works once, until %s:", when(invitation.ExpiresAt))
				c.say("  %s", invitation.Link)
			})
		},
	}
	agentFlag(command, &request.Agent)
	return c.needsPassword(command)
}

func (c *cli) connectionStructuredOnly() *cobra.Command {
	command := &cobra.Command{
		Use: "structured-only ID on|off", Short: "Hold all free text to a contact", Args: args("ID", "on or off"),
		Long: `Switch whether free text to this contact (chat messages, titles, reasons and
notes) is always held for you. Structured fields follow your grants as before.`,
		Example: "  agentlink connection structured-only 4f0c92ab on",
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[1] != "on" && args[1] != "off" {
				return usage(cmd, "%q is neither on nor off", args[1])
			}
			connection, err := tell[socket.Connection](c, cmd, socket.ConnectionSettings,
				socket.ChangeConnection{ID: args[0], StructuredOnly: args[1] == "on"})
			if err != nil {
				return err
			}
			return c.print(connection, func() { c.say("Structured only is %s for %s.", args[1], connection.Contact) })
		},
	}
	return c.needsPassword(command)
}
