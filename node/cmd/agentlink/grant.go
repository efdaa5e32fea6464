package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentlink/node/api/socket"
	"agentlink/policy"
)

func (c *cli) grant() *cobra.Command {
	return parent("grant", "Set what an agent may do, must ask for, or may not do", `A grant sets one capability to allow, ask or deny, towards one contact or for the
agent as a whole. Of several that fit, the exact name beats a wildcard, the longer
wildcard the shorter, the contact's the agent-wide one, and deny beats ask beats
allow. Wildcards are task.*, disclose.*, action.* and action.‹…›.*.`,
		c.grantSet(), c.grantList(), c.grantRemove(), c.grantExplain())
}

func (c *cli) grantSet() *cobra.Command {
	var (
		request     socket.SetGrant
		constraints constraintFlags
		expires     string
	)
	command := &cobra.Command{
		Use: "set CAPABILITY allow|ask|deny", Short: "Set a grant, and print what now holds", Args: args("CAPABILITY", "allow, ask or deny"),
		Long: `Set a grant. One of the same agent, contact, capability and mode is replaced; its
constraints stay unless new ones are given (--no-constraints removes them).

It prints the answer that now holds for each capability that the grant covers.`,
		Example: `  agentlink grant set disclose.budget deny
  agentlink grant set disclose.dietary allow --contact juno@node.example
  agentlink grant set 'disclose.*' allow --dry-run
  agentlink grant set action.reservation.book allow --max-amount 80 --value venue='"Da Piero"' --expires 720h`,
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Capability, request.Mode = args[0], policy.GrantMode(args[1])
			var err error
			if request.Constraints, err = constraints.read(cmd); err != nil {
				return err
			}
			if request.ExpiresAt, err = c.expiry(cmd, expires); err != nil {
				return err
			}
			change, err := tell[socket.GrantChange](c, cmd, socket.GrantSet, request)
			if err != nil {
				return err
			}
			return c.print(change, func() { c.showChange("Set", change) })
		},
	}
	agentFlag(command, &request.Agent)
	c.dryRunFlag(command, &request.DryRun)
	command.Flags().StringVar(&request.Contact, "contact", "", "address of the contact (default: every contact)")
	command.Flags().StringVar(&expires, "expires", "", "when the grant ends: a time (2026-12-24T18:00:00Z) or a span from now (72h)")
	constraints.add(command)
	return c.needsPassword(command)
}

// constraintFlags are the flags that narrow an allow grant.
type constraintFlags struct {
	maxAmount float64
	values    []string
	none      bool
}

func (f *constraintFlags) add(command *cobra.Command) {
	command.Flags().Float64Var(&f.maxAmount, "max-amount", 0, "the request's amount must be no larger than this")
	command.Flags().StringArrayVar(&f.values, "value", nil, "FIELD=JSON: a value that the field may have; repeat it for more values")
	command.Flags().BoolVar(&f.none, "no-constraints", false, "remove the constraints of the grant")
}

// read gives nil where no flag was given: constraints that are there stay.
func (f *constraintFlags) read(cmd *cobra.Command) (*policy.Constraints, error) {
	limited := cmd.Flags().Changed("max-amount")
	if f.none && (limited || len(f.values) > 0) {
		return nil, usage(cmd, "--no-constraints goes with neither --max-amount nor --value")
	}
	if !f.none && !limited && len(f.values) == 0 {
		return nil, nil
	}
	var constraints policy.Constraints
	if limited {
		constraints.MaxAmount = &f.maxAmount
	}
	for _, text := range f.values {
		field, raw, found := strings.Cut(text, "=")
		if !found || field == "" {
			return nil, usage(cmd, "--value %q is not FIELD=JSON", text)
		}
		if constraints.AllowedValues == nil {
			constraints.AllowedValues = map[string][]any{}
		}
		constraints.AllowedValues[field] = append(constraints.AllowedValues[field], jsonOrText(raw))
	}
	return &constraints, nil
}

// jsonOrText reads JSON; what is none is meant as a string.
func jsonOrText(raw string) any {
	var value any
	if err := json.Unmarshal([]byte(raw), &value); err != nil {
		return raw
	}
	return value
}

// expiry reads a time or a span from now; "" is never.
func (c *cli) expiry(cmd *cobra.Command, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC(), nil
	}
	span, err := time.ParseDuration(text)
	if err != nil || span <= 0 {
		return time.Time{}, usage(cmd, "--expires %q is neither a time nor a span like 72h", text)
	}
	return c.clock.Now().Add(span), nil
}

func (c *cli) grantList() *cobra.Command {
	var request socket.ListGrants
	command := &cobra.Command{
		Use: "list", Short: "List the grants", Args: args(),
		Example: "  agentlink grant list --contact juno@node.example",
		RunE: func(cmd *cobra.Command, _ []string) error {
			grants, err := ask[[]socket.Grant](c, cmd, socket.GrantList, request)
			if err != nil {
				return err
			}
			return c.print(grants, func() { c.showGrants(grants) })
		},
	}
	command.Flags().StringVar(&request.Agent, "agent", "", "only this agent's")
	command.Flags().StringVar(&request.Contact, "contact", "", "only those towards this contact")
	return command
}

func (c *cli) showGrants(grants []socket.Grant) {
	var rows [][]string
	for _, grant := range grants {
		contact := grant.Contact
		if contact == "" {
			contact = "(every contact)"
		}
		rows = append(rows, []string{
			short(grant.ID), grant.Agent, contact, grant.Capability, string(grant.Mode),
			constraintText(grant.Constraints), when(grant.ExpiresAt),
		})
	}
	c.table("There are no grants: disclosures are refused, actions wait for you.",
		[]string{"ID", "AGENT", "CONTACT", "CAPABILITY", "MODE", "CONSTRAINTS", "EXPIRES"}, rows)
}

func constraintText(constraints *policy.Constraints) string {
	if constraints == nil {
		return ""
	}
	var all []string
	if constraints.MaxAmount != nil {
		all = append(all, "amount ≤ "+strconv.FormatFloat(*constraints.MaxAmount, 'f', -1, 64))
	}
	for _, field := range sortedKeys(constraints.AllowedValues) {
		raw, err := json.Marshal(constraints.AllowedValues[field])
		if err != nil {
			raw = []byte("?")
		}
		all = append(all, fmt.Sprintf("%s in %s", field, raw))
	}
	return strings.Join(all, ", ")
}

func (c *cli) grantRemove() *cobra.Command {
	var dryRun bool
	command := &cobra.Command{
		Use: "rm ID", Short: "Remove a grant, and print what now holds", Args: args("ID"),
		Example: "  agentlink grant rm 4f0c92ab",
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := tell[socket.GrantChange](c, cmd, socket.GrantRemove, socket.RemoveGrant{ID: args[0], DryRun: dryRun})
			if err != nil {
				return err
			}
			return c.print(change, func() { c.showChange("Removed", change) })
		},
	}
	c.dryRunFlag(command, &dryRun)
	return c.needsPassword(command)
}

func (c *cli) showChange(verb string, change socket.GrantChange) {
	if change.DryRun {
		verb = "Would be " + strings.ToLower(verb)
	}
	c.say("%s:", verb)
	c.showGrants([]socket.Grant{change.Grant})
	if len(change.Effective) == 0 {
		c.say("\nNo capability that the node knows is covered by it yet.")
	} else {
		c.say("\nThen holds %s:", towards(change.Grant.Contact))
		c.showAnswers(change.Effective)
	}
	if change.DryRun {
		c.say("")
		c.showTurned(change.Turned)
	}
}

func towards(contact string) string {
	if contact == "" {
		return "towards a connected contact without grants of its own"
	}
	return "towards " + contact
}

func (c *cli) grantExplain() *cobra.Command {
	var (
		request  socket.ExplainGrants
		decision string
	)
	command := &cobra.Command{
		Use: "explain [CAPABILITY]", Short: "Say for each capability what would happen, and why", Args: atMost("CAPABILITY"),
		Long: `Say what would happen now, for one capability or for each, and which grant decides.
With --decision it explains a decision that was made: what was known then, and
what followed. The audit log names decisions (type policy.decided).`,
		Example: `  agentlink grant explain --contact juno@node.example
  agentlink grant explain disclose.dietary
  agentlink grant explain --decision 4f0c92ab`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if decision != "" {
				return c.explainDecision(cmd, decision)
			}
			if len(args) == 1 {
				request.Capability = args[0]
			}
			answers, err := ask[[]policy.Answer](c, cmd, socket.GrantExplain, request)
			if err != nil {
				return err
			}
			return c.print(answers, func() {
				c.say("What holds %s:", towards(request.Contact))
				c.showAnswers(answers)
			})
		},
	}
	agentFlag(command, &request.Agent)
	command.Flags().StringVar(&request.Contact, "contact", "", "address of the contact")
	command.Flags().StringVar(&decision, "decision", "", "id of a decision that was made")
	return command
}

func (c *cli) showAnswers(answers []policy.Answer) {
	var rows [][]string
	for _, answer := range answers {
		outcome := string(answer.Outcome)
		switch {
		case answer.Constraints != nil:
			outcome += " if " + constraintText(answer.Constraints) + ", else " + string(answer.Otherwise)
		case answer.Otherwise == policy.Refused:
			outcome += ", unless rules of your own refuse it"
		case answer.Otherwise != "":
			outcome += ", with free text " + string(answer.Otherwise)
		}
		rows = append(rows, []string{answer.Capability, outcome, string(answer.Reason), short(answer.GrantID)})
	}
	c.table("", []string{"CAPABILITY", "ANSWER", "REASON", "GRANT"}, rows)
}
