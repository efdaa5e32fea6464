package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agentlink/coordination"
	"agentlink/node/api/socket"
	"agentlink/node/display"
)

func (c *cli) tasks() *cobra.Command {
	return parent("tasks", "See what your agents negotiate", "", c.tasksList(), c.tasksShow())
}

func (c *cli) tasksList() *cobra.Command {
	var request socket.ListTasks
	command := &cobra.Command{
		Use: "list", Short: "List the tasks, newest first", Args: args(),
		Example: "  agentlink tasks list --status negotiating",
		RunE: func(cmd *cobra.Command, _ []string) error {
			tasks, err := ask[[]socket.Task](c, cmd, socket.TaskList, request)
			if err != nil {
				return err
			}
			return c.print(tasks, func() {
				var rows [][]string
				for _, t := range tasks {
					rows = append(rows, []string{short(t.UID), t.Title, t.Agent, t.Contact, taskStatus(t), when(t.Deadline)})
				}
				c.table("There is no task.", []string{"UID", "TITLE", "AGENT", "CONTACT", "STATUS", "DEADLINE"}, rows)
			})
		},
	}
	command.Flags().StringVar(&request.Agent, "agent", "", "only this agent's")
	command.Flags().StringVar((*string)(&request.Status), "status", "", "open, negotiating, agreed, awaiting_approval, confirmed, cancelled or expired")
	command.Flags().IntVar(&request.Limit, "limit", 0, "at most this many, 1 to 100 (default 50)")
	return command
}

// taskStatus is the status with whatever is wrong with it.
func taskStatus(t socket.Task) string {
	all := []string{string(t.Status)}
	for _, remark := range []string{
		string(t.Disagreement), yes(t.OutOfStep, "out of step"), yes(t.InDoubt, "in doubt"),
		yes(t.ConfirmOwed, "confirmation owed"), yes(t.Held, "held"),
	} {
		if remark != "" {
			all = append(all, remark)
		}
	}
	return strings.Join(all, ", ")
}

func (c *cli) tasksShow() *cobra.Command {
	var request socket.TaskRef
	command := &cobra.Command{
		Use: "show UID", Short: "Show one task with its proposals", Args: args("UID"),
		Example: "  agentlink tasks show 4f0c92ab",
		RunE: func(cmd *cobra.Command, args []string) error {
			request.UID = args[0]
			task, err := ask[socket.Task](c, cmd, socket.TaskShow, request)
			if err != nil {
				return err
			}
			return c.print(task, func() { c.showTask(task) })
		},
	}
	command.Flags().StringVar(&request.Agent, "agent", "", "whose copy, where both sides are agents of this node")
	return command
}

func (c *cli) showTask(t socket.Task) {
	c.facts("Uid", t.UID, "Title", t.Title, "Type", t.Type, "Agent", t.Agent+" ("+string(t.Role)+")", "Contact", t.Contact,
		"Status", taskStatus(t), "Deadline", when(t.Deadline), "Ended by", string(t.EndedBy), "Reason", t.CancelReason,
		"Ran", when(t.ExecutedAt))
	for _, p := range t.Proposals {
		c.say("\nProposal %d by the %s, %s, %s", p.Version, p.Author, p.Status, when(p.At))
		c.facts("Digest", p.Digest, "Reason", p.Reason)
		c.say("%s", exactly(p.Fields))
	}
	c.showConfirmation("Confirmed", t.Confirmation)
	c.showConfirmation("A confirmation that crossed", t.Crossed)
}

func (c *cli) showConfirmation(title string, k *coordination.Confirmation) {
	if k == nil {
		return
	}
	c.say("\n%s by the %s: %s", title, k.By, display.Text(k.Action))
	c.facts("Code", k.Code, "Ran", when(k.ExecutedAt), "Simulated", fmt.Sprint(k.Simulated))
}
