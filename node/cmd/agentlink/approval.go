package main

import (
	"github.com/spf13/cobra"

	"agentlink/approvals"
	"agentlink/node/api/socket"
)

func (c *cli) approvals() *cobra.Command {
	return parent("approvals", "Decide what waits for you", `An approval is a decision that the node asks you for: a held message, a request to
connect, or an action. It is bound to its exact parameters, expires, and works
once. Silence is always no.

Commands that take an ID accept it in full, or eight or more characters of its
beginning or end, as lists show them.`,
		c.approvalsList(), c.approvalsShow(), c.approvalsApprove(), c.approvalsReject())
}

func (c *cli) approvalsList() *cobra.Command {
	var (
		request socket.ListApprovals
		all     bool
	)
	command := &cobra.Command{
		Use: "list", Short: "List the approvals that wait, the most urgent first", Args: args(),
		Example: `  agentlink approvals list
  agentlink approvals list --all --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all && request.Status != "" {
				return usage(cmd, "--all and --status do not go together")
			}
			if !all && request.Status == "" {
				request.Status = approvals.Pending
			}
			list, err := ask[[]socket.Approval](c, cmd, socket.ApprovalList, request)
			if err != nil {
				return err
			}
			return c.print(list, func() { c.listApprovals(list) })
		},
	}
	command.Flags().StringVar(&request.Agent, "agent", "", "only this agent's")
	command.Flags().BoolVar(&all, "all", false, "those that are decided too, newest first")
	command.Flags().StringVar((*string)(&request.Status), "status", "", "pending, approved, rejected, expired or consumed (default pending)")
	command.Flags().IntVar(&request.Limit, "limit", 0, "at most this many, 1 to 100 (default 50)")
	return command
}

func (c *cli) listApprovals(list []socket.Approval) {
	var rows [][]string
	for _, a := range list {
		status := string(a.Status)
		if a.Damaged {
			status = "DAMAGED"
		}
		rows = append(rows, []string{short(a.ID), string(a.Kind), a.Action, a.Agent, a.Contact, status, when(a.ExpiresAt)})
	}
	c.table("Nothing waits for you.", []string{"ID", "KIND", "ACTION", "AGENT", "CONTACT", "STATUS", "EXPIRES"}, rows)
}

func (c *cli) approvalsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show an approval in full: what exactly would happen", Args: args("ID"),
		Example: "  agentlink approvals show 4f0c92ab",
		RunE: func(cmd *cobra.Command, args []string) error {
			approval, err := ask[socket.Approval](c, cmd, socket.ApprovalShow, socket.ByID{ID: args[0]})
			if err != nil {
				return err
			}
			return c.print(approval, func() { c.showApproval(approval) })
		},
	}
}

// decideFlags are what the owner may say beside yes or no.
type decideFlags struct {
	hash, note, word string
	override         bool
}

func (c *cli) approvalsApprove() *cobra.Command {
	var flags decideFlags
	command := &cobra.Command{
		Use: "approve ID", Short: "Approve exactly what is shown", Args: args("ID"),
		Long: `Approve. The command prints exactly what will happen and then asks; it sends the
hash of what it printed, so that nothing else can be approved.

A script reads the hash first (approvals show --json) and gives it with --hash:
where the stored parameters have another one, nothing happens.

An action that the other side has to run needs --override. One that already ran
needs the word that is shown, typed on the terminal or given with --word.`,
		Example: `  agentlink approvals approve 4f0c92ab --note "Window seat, please"
  agentlink approvals approve 4f0c92ab --hash 9b1c… --password-file password.txt`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.decide(cmd, args[0], true, flags) },
	}
	command.Flags().StringVar(&flags.hash, "hash", "", "the hash that the approval must have; no question is asked")
	command.Flags().StringVar(&flags.note, "note", "", "a note for yourself, at most 500 characters")
	command.Flags().BoolVar(&flags.override, "override", false, "run the action although the other side has to")
	command.Flags().StringVar(&flags.word, "word", "", "the word that repeats an action which already ran")
	return c.needsPassword(command)
}

func (c *cli) approvalsReject() *cobra.Command {
	var flags decideFlags
	command := &cobra.Command{
		Use: "reject ID", Short: "Say no", Args: args("ID"),
		Example: `  agentlink approvals reject 4f0c92ab --note "Too far away"`,
		RunE:    func(cmd *cobra.Command, args []string) error { return c.decide(cmd, args[0], false, flags) },
	}
	command.Flags().StringVar(&flags.hash, "hash", "", "the hash that the approval must have")
	command.Flags().StringVar(&flags.note, "note", "", "a note for yourself, at most 500 characters")
	return c.needsPassword(command)
}

// decide shows what is decided and sends the hash of what it showed.
func (c *cli) decide(cmd *cobra.Command, id string, approve bool, flags decideFlags) error {
	approval, err := ask[socket.Approval](c, cmd, socket.ApprovalShow, socket.ByID{ID: id})
	if err != nil {
		return err
	}
	if approval.Damaged {
		return unsafe("This approval is damaged: what is stored is not what was asked for. It can only expire.")
	}
	if flags.hash != "" && flags.hash != approval.Hash {
		return unsafe("The approval has another hash than the one given; nothing was decided. Its hash is %s.", approval.Hash)
	}
	if !c.json {
		c.showApproval(approval)
	}
	if approve && approval.Status == approvals.Pending {
		if err := c.confirm(approval, &flags); err != nil {
			return err
		}
	}
	effect, err := tell[socket.Effect](c, cmd, socket.ApprovalDecide, socket.DecideApproval{
		ID: approval.ID, Hash: approval.Hash, Approve: approve, Note: flags.note, Override: flags.override, Word: flags.word,
	})
	if err != nil {
		return err
	}
	if err := c.print(effect, func() { c.say("\n%s", effectText(effect)) }); err != nil {
		return err
	}
	if effect.Outcome == "failed" {
		return &quietFailure{}
	}
	return nil
}

// effectText says what came of a decision.
func effectText(effect socket.Effect) string {
	switch effect.Outcome {
	case "queued":
		return "Approved: the message is on its way."
	case "requested":
		return "Approved: the request to connect is on its way."
	case "approved":
		return "Approved: the agent may run it once, until " + when(effect.Approval.ExpiresAt) + "."
	case "running":
		return "Approved: the node runs it now."
	case "rejected":
		return "Rejected."
	case "failed":
		return "Approved, but it no longer fits (" + effect.Code + "): nothing was sent, and the approval is used up."
	}
	return "Decided: " + effect.Outcome + "."
}
