package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/display"
)

func (c *cli) audit() *cobra.Command {
	return parent("audit", "Read and verify the log of every decision and change", "", c.auditTail(), c.auditVerify(), c.auditWitness(), c.auditVerifyExport())
}

func (c *cli) auditTail() *cobra.Command {
	var (
		request socket.Tail
		after   int64
		types   []string
		follow  bool
	)
	command := &cobra.Command{
		Use: "tail", Short: "Print the last rows of the log", Args: args(),
		Example: `  agentlink audit tail --limit 20
  agentlink audit tail --type approval.approved,approval.rejected
  agentlink audit tail --follow`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("after") {
				request.After = &after
			}
			for _, name := range types {
				request.Types = append(request.Types, audit.Type(name))
			}
			return c.tail(cmd, request, follow)
		},
	}
	command.Flags().StringVar(&request.Agent, "agent", "", "only what concerns this agent")
	command.Flags().StringSliceVar(&types, "type", nil, "only these types of event")
	command.Flags().Int64Var(&after, "after", 0, "rows after this position, in order")
	command.Flags().IntVar(&request.Limit, "limit", 0, "at most this many, 1 to 100 (default 50)")
	command.Flags().BoolVarP(&follow, "follow", "f", false, "wait for further rows; with --json one object a line")
	return command
}

func (c *cli) tail(cmd *cobra.Command, request socket.Tail, follow bool) error {
	events, err := ask[[]socket.Event](c, cmd, socket.AuditTail, request)
	if err != nil {
		return err
	}
	if !follow {
		return c.print(events, func() { c.showEvents(events) })
	}
	for {
		if err := c.stream(events); err != nil {
			return err
		}
		request.After = lastPosition(request.After, events)
		if err := sleep(cmd.Context(), time.Second); err != nil {
			return nil
		}
		if events, err = ask[[]socket.Event](c, cmd, socket.AuditTail, request); err != nil {
			return err
		}
	}
}

// lastPosition is where to go on; an empty log goes on at its beginning.
func lastPosition(before *int64, events []socket.Event) *int64 {
	if len(events) > 0 {
		return &events[len(events)-1].Position
	}
	if before == nil {
		before = new(int64)
	}
	return before
}

func sleep(ctx context.Context, span time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(span):
		return nil
	}
}

func (c *cli) stream(events []socket.Event) error {
	if !c.json {
		c.showEvents(events)
		return nil
	}
	for _, event := range events {
		if err := c.line(event); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) showEvents(events []socket.Event) {
	for _, event := range events {
		actor := string(event.Actor)
		if event.Via != "" {
			actor += " " + event.Via
		}
		c.say("%6d  %s  %-24s %s", event.Position, when(event.At), display.Text(string(event.Type)), display.Text(about(event, actor)))
	}
}

// about names whom and what an event concerns.
func about(event socket.Event, actor string) string {
	parts := []string{"by " + actor}
	for _, part := range []struct{ name, value string }{
		{"agent", event.Agent}, {"connection", short(event.ConnectionID)}, {"task", short(event.TaskUID)}, {"subject", short(event.Subject)},
	} {
		if part.value != "" {
			parts = append(parts, part.name+" "+part.value)
		}
	}
	if data := string(event.Data); data != "" && data != "{}" {
		parts = append(parts, data)
	}
	return strings.Join(parts, ", ")
}

func (c *cli) auditVerify() *cobra.Command {
	var request socket.VerifyLog
	command := &cobra.Command{
		Use: "verify", Short: "Check that the log is whole: no row edited, removed, swapped or cut off", Args: args(),
		Long: `Walk the whole log and compare it with its signed head. --deep opens the sealed
data of each row too. The exit code is 1 where something is wrong.

The head shown by agentlink status, written down elsewhere, proves later that the
log was not set back to an earlier state.`,
		Example: `  agentlink audit verify
  agentlink audit verify --deep --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := ask[audit.Report](c, cmd, socket.AuditVerify, request)
			if err != nil {
				return err
			}
			return c.showReport(report)
		},
	}
	command.Flags().BoolVar(&request.Deep, "deep", false, "open the data of each row and compare it with its hash")
	return command
}

func (c *cli) showReport(report audit.Report) error {
	err := c.print(report, func() {
		if report.OK() {
			c.say("The log is whole: %d rows, head %s", report.Rows, report.Head)
			return
		}
		fmt.Fprintf(c.stderr, "agentlink: the log is NOT whole: %s\n", display.Text(report.Problem))
	})
	if err == nil && !report.OK() {
		err = &quietFailure{}
	}
	return err
}
