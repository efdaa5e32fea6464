package main

import (
	"slices"

	"github.com/spf13/cobra"

	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/policy"
)

// Words that stand for every group of tools and for none of them.
const (
	allTools = "all"
	noTools  = "none"
)

func (c *cli) agentTools() *cobra.Command {
	command := &cobra.Command{
		Use: "tools HANDLE [GROUPS]", Short: "Show or choose which groups of tools an agent sees over MCP",
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 {
				return args("HANDLE")(cmd, given)
			}
			return atMost("HANDLE", "GROUPS")(cmd, given)
		},
		Long: `Show which groups of tools an agent sees over MCP, or choose them. GROUPS is a list
with commas, or all, or none:
  read     look: contacts, messages, tasks, approvals, news
  talk     ask to connect, send messages
  tasks    start tasks, propose, respond, cancel
  actions  ask for approvals, run actions

This is what a model is shown, and no permission: what may leave the node is decided
by the agent's mode and grants, whichever way it asks.`,
		Example: `  agentlink agent tools scout
  agentlink agent tools scout read,talk
  agentlink agent tools scout all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, err := c.toolsOf(cmd, args)
			if err != nil {
				return err
			}
			return c.print(agent, func() { c.say("%s sees: %s", agent.Handle, toolWords(agent.Tools)) })
		},
	}
	return c.needsPassword(command)
}

// toolsOf gives the agent as it is, or as it is after the choice.
func (c *cli) toolsOf(cmd *cobra.Command, args []string) (socket.Agent, error) {
	if len(args) == 2 {
		return tell[socket.Agent](c, cmd, socket.AgentTools, socket.ChangeTools{Agent: args[0], Tools: toolGroups(args[1])})
	}
	agents, err := ask[[]socket.Agent](c, cmd, socket.AgentList, nil)
	if err != nil {
		return socket.Agent{}, err
	}
	at := slices.IndexFunc(agents, func(a socket.Agent) bool { return a.Handle == args[0] || a.ID == args[0] })
	if at < 0 {
		return socket.Agent{}, node.Errorf(node.NotFound, "There is no agent of this name. See: agentlink agent list")
	}
	return agents[at], nil
}

// toolGroups reads a choice; the node says what is wrong with it.
func toolGroups(text string) []policy.ToolGroup {
	switch text {
	case allTools:
		return policy.ToolGroups
	case noTools:
		return []policy.ToolGroup{}
	}
	return policy.SplitTools(text)
}

func toolWords(groups []policy.ToolGroup) string {
	switch len(groups) {
	case len(policy.ToolGroups):
		return allTools
	case 0:
		return noTools
	}
	return policy.JoinTools(groups)
}
