package main

import (
	"github.com/spf13/cobra"

	"agentlink/node/api/socket"
	"agentlink/policy"
)

func (c *cli) agent() *cobra.Command {
	return parent("agent", "Create agents, and set what they may do on their own", `An agent is a program of yours. It holds a key of the node and nothing else.

Its mode says how much it may do on its own:
  manual      every message and task write waits for your approval
  assisted    messages and task writes go ahead; connections and actions wait
  autonomous  connections go ahead too, and actions that a grant allows`,
		c.agentCreate(), c.agentList(), c.agentMode(), c.agentDisable(), c.agentEnable(), c.agentTools(), c.agentKey(),
		c.agentClients(), c.agentRevoke())
}

func (c *cli) agentCreate() *cobra.Command {
	var request socket.CreateAgent
	command := &cobra.Command{
		Use: "create HANDLE", Short: "Create an agent and print its key, once", Args: args("HANDLE"),
		Long: `Create an agent. Its handle names it to other nodes: HANDLE@your-host.

The key is printed once. Give it to the agent's program: with the agent's handle
or id it gets short-lived tokens at POST /oauth/token.`,
		Example: `  agentlink agent create scout --mode manual
  agentlink agent create scout --name "Scout" --password-file password.txt --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Handle = args[0]
			created, err := tell[socket.Agent](c, cmd, socket.AgentCreate, request)
			if err != nil {
				return err
			}
			return c.print(created, func() {
				c.say("Created. The key is shown only now:")
				c.facts("Address", created.Address, "Id", created.ID, "Mode", string(created.Mode), "Key", created.Key)
			})
		},
	}
	command.Flags().StringVar(&request.Name, "name", "", "name for people")
	command.Flags().StringVar((*string)(&request.Mode), "mode", "", "manual, assisted or autonomous (default assisted)")
	return c.needsPassword(command)
}

func (c *cli) agentList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the agents", Args: args(),
		Example: "  agentlink agent list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			agents, err := ask[[]socket.Agent](c, cmd, socket.AgentList, nil)
			if err != nil {
				return err
			}
			return c.print(agents, func() {
				var rows [][]string
				for _, agent := range agents {
					rows = append(rows, []string{agent.Handle, string(agent.Mode), string(agent.Status), toolWords(agent.Tools), agent.Address, agent.Name})
				}
				c.table("There is no agent yet. Create one with: agentlink agent create HANDLE",
					[]string{"HANDLE", "MODE", "STATUS", "TOOLS", "ADDRESS", "NAME"}, rows)
			})
		},
	}
}

func (c *cli) agentMode() *cobra.Command {
	var dryRun bool
	command := &cobra.Command{
		Use: "mode HANDLE MODE", Short: "Set an agent's mode: manual, assisted or autonomous", Args: args("HANDLE", "MODE"),
		Example: `  agentlink agent mode scout autonomous --dry-run
  agentlink agent mode scout autonomous`,
		RunE: func(cmd *cobra.Command, args []string) error {
			request := socket.ChangeMode{Agent: args[0], Mode: policy.Mode(args[1]), DryRun: dryRun}
			change, err := tell[socket.ModeChange](c, cmd, socket.AgentMode, request)
			if err != nil {
				return err
			}
			return c.print(change, func() { c.showMode(change) })
		},
	}
	c.dryRunFlag(command, &dryRun)
	return c.needsPassword(command)
}

func (c *cli) showMode(change socket.ModeChange) {
	if change.DryRun {
		c.showTurned(change.Turned)
		return
	}
	c.say("%s is %s, in %s mode.", change.Agent.Handle, change.Agent.Status, change.Agent.Mode)
}

func (c *cli) agentDisable() *cobra.Command {
	command := &cobra.Command{
		Use: "disable HANDLE", Short: "Disable an agent: it can do nothing, at once", Args: args("HANDLE"),
		Long: `Disable an agent. Its tokens are refused at once, every policy check refuses it,
and its queued messages are not sent, apart from notices of rejection and
revocation.`,
		Example: "  agentlink agent disable scout",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeAgent(cmd, socket.AgentStatus, socket.ChangeStatus{Agent: args[0], Status: policy.Disabled})
		},
	}
	return c.needsPassword(command)
}

func (c *cli) agentEnable() *cobra.Command {
	command := &cobra.Command{
		Use: "enable HANDLE", Short: "Enable a disabled agent", Args: args("HANDLE"),
		Example: "  agentlink agent enable scout",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeAgent(cmd, socket.AgentStatus, socket.ChangeStatus{Agent: args[0], Status: policy.Active})
		},
	}
	return c.needsPassword(command)
}

func (c *cli) changeAgent(cmd *cobra.Command, command string, request any) error {
	agent, err := tell[socket.Agent](c, cmd, command, request)
	if err != nil {
		return err
	}
	return c.print(agent, func() { c.say("%s is %s, in %s mode.", agent.Handle, agent.Status, agent.Mode) })
}

func (c *cli) agentKey() *cobra.Command {
	command := &cobra.Command{
		Use: "key HANDLE", Short: "Replace an agent's key and print the new one, once", Args: args("HANDLE"),
		Long:    "Replace an agent's key. The old key and every token made with it end at once.",
		Example: "  agentlink agent key scout",
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := tell[socket.Agent](c, cmd, socket.AgentKey, socket.AgentRef{Agent: args[0]})
			if err != nil {
				return err
			}
			return c.print(agent, func() {
				c.say("The old key no longer works. The new one is shown only now:")
				c.facts("Address", agent.Address, "Id", agent.ID, "Key", agent.Key)
			})
		},
	}
	return c.needsPassword(command)
}
