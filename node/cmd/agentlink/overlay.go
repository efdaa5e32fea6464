package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/policy"
)

func (c *cli) overlay() *cobra.Command {
	return parent("overlay", "Narrow what all agents may do by rules of your own", `Rules of your own, written in Rego, are asked after the node's. They hold for all
agents and can only make an answer stricter: allow into hold or refuse, hold into
refuse. Where they give no answer, everything is refused. What they read and answer
is described in node/docs/overlay.md.`,
		c.overlayShow(), c.overlayCheck(), c.overlaySet(), c.overlayRemove(), c.overlayHistory())
}

func (c *cli) overlayShow() *cobra.Command {
	return &cobra.Command{
		Use: "show [NUMBER]", Short: "Print the rules of your own that hold, or an earlier version", Args: atMost("NUMBER"),
		Example: "  agentlink overlay show\n  agentlink overlay show 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			var request socket.ShowOverlay
			if len(args) == 1 {
				var err error
				if request.Number, err = strconv.ParseInt(args[0], 10, 64); err != nil || request.Number < 1 {
					return usage(cmd, "NUMBER %q is not the number of a version", args[0])
				}
			}
			overlay, err := ask[socket.Overlay](c, cmd, socket.OverlayShow, request)
			if err != nil {
				return err
			}
			return c.print(overlay, func() {
				if overlay.Version == "" {
					c.say("There are no rules of your own here.")
					return
				}
				c.say("%s", strings.TrimSuffix(overlay.Source, "\n"))
			})
		},
	}
}

func (c *cli) overlayHistory() *cobra.Command {
	var request socket.PastOverlays
	command := &cobra.Command{
		Use: "history", Short: "List the versions of your own rules", Args: args(),
		Example: "  agentlink overlay history",
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := ask[[]socket.Overlay](c, cmd, socket.OverlayHistory, request)
			if err != nil {
				return err
			}
			return c.print(list, func() {
				var rows [][]string
				for _, overlay := range list {
					version := "(removed)"
					if overlay.Version != "" {
						version = overlay.Version[:16]
					}
					rows = append(rows, []string{strconv.FormatInt(overlay.Number, 10), version, when(overlay.CreatedAt)})
				}
				c.table("There never were rules of your own.", []string{"NUMBER", "VERSION", "SINCE"}, rows)
			})
		},
	}
	command.Flags().Int64Var(&request.Below, "below", 0, "only versions with a smaller number")
	return command
}

func (c *cli) overlayCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "Compile a text and tell which decisions it would have turned", Args: args("FILE"),
		Long: `Compile a text as rules of your own, and make the decisions of the last 30 days again
under it. Nothing is changed. FILE - is standard input.`,
		Example: "  agentlink overlay check quiet.rego",
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := c.overlayFile(args[0])
			if err != nil {
				return err
			}
			forecast, err := ask[socket.OverlayForecast](c, cmd, socket.OverlayCheck, socket.CheckOverlay{Source: source})
			if err != nil {
				return err
			}
			if len(forecast.Problems) > 0 && !c.json {
				return policy.BadOverlay(forecast.Problems)
			}
			return c.print(forecast, func() { c.showOverlayForecast(forecast) })
		},
	}
}

func (c *cli) overlaySet() *cobra.Command {
	var yes bool
	command := &cobra.Command{
		Use: "set FILE", Short: "Make a text the rules of your own", Args: args("FILE"),
		Long: `Make a text the rules of your own, for all agents, in place of those that hold. It
first tells which decisions of the last 30 days would have been others, and asks.
FILE - is standard input.`,
		Example: "  agentlink overlay set quiet.rego",
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := c.overlayFile(args[0])
			if err != nil {
				return err
			}
			if source == "" {
				return usage(cmd, "the file is empty; agentlink overlay rm removes your own rules")
			}
			seen, err := c.lookedAt(cmd, source, yes, "Make these your rules?")
			if err != nil {
				return err
			}
			overlay, err := tell[socket.Overlay](c, cmd, socket.OverlaySet, socket.SetOverlay{Source: source, Seen: seen})
			if err != nil {
				return err
			}
			return c.print(overlay, func() { c.say("Rules of your own hold: number %d, version %s.", overlay.Number, overlay.Version[:16]) })
		},
	}
	command.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c.needsPassword(command)
}

func (c *cli) overlayRemove() *cobra.Command {
	var yes bool
	command := &cobra.Command{
		Use: "rm", Short: "Remove the rules of your own", Args: args(),
		Example: "  agentlink overlay rm",
		RunE: func(cmd *cobra.Command, _ []string) error {
			seen, err := c.lookedAt(cmd, "", yes, "Remove your own rules?")
			if err != nil {
				return err
			}
			overlay, err := tell[socket.Overlay](c, cmd, socket.OverlayRemove, socket.RemoveOverlay{Seen: seen})
			if err != nil {
				return err
			}
			return c.print(overlay, func() { c.say("No rules of your own hold any more.") })
		},
	}
	command.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c.needsPassword(command)
}

// lookedAt shows what a text would do and asks whether to go on. It gives the number
// of the rules that hold now.
func (c *cli) lookedAt(cmd *cobra.Command, source string, yes bool, question string) (int64, error) {
	forecast, err := ask[socket.OverlayForecast](c, cmd, socket.OverlayCheck, socket.CheckOverlay{Source: source})
	if err != nil {
		return 0, err
	}
	if len(forecast.Problems) > 0 {
		return 0, policy.BadOverlay(forecast.Problems)
	}
	if yes {
		return forecast.Number, nil
	}
	if !c.json {
		c.showOverlayForecast(forecast)
	}
	answer, somebody, err := c.prompt(question + " [y/N] ")
	switch {
	case err != nil:
		return 0, err
	case !somebody:
		return 0, unsafe("There is no terminal to ask on: look with agentlink overlay check, then use --yes.")
	case !strings.EqualFold(answer, "y") && !strings.EqualFold(answer, "yes"):
		return 0, unsafe("Nothing was changed.")
	}
	return forecast.Number, nil
}

func (c *cli) showOverlayForecast(forecast socket.OverlayForecast) {
	for _, agent := range forecast.Agents {
		more := ""
		if agent.More {
			more = "; older ones were not looked at"
		}
		c.say("%s: %d of %d decisions of the last 30 days would have been others%s.", agent.Agent, len(agent.Turned), agent.Looked, more)
		if len(agent.Turned) > 0 {
			c.showTurned(agent.Turned)
		}
	}
	if len(forecast.Agents) == 0 {
		c.say("There is no agent yet that this could concern.")
	}
}

// overlayFile reads a text; more than its longest is not read.
func (c *cli) overlayFile(path string) (string, error) {
	reader := c.stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return "", unsafe("The file cannot be read: %v", err)
		}
		defer file.Close()
		reader = file
	}
	source, err := io.ReadAll(io.LimitReader(reader, policy.MaxOverlay+1))
	if err != nil {
		return "", fmt.Errorf("read the rules: %w", err)
	}
	if len(source) > policy.MaxOverlay {
		return "", node.Errorf(node.BadRequest, "The text is longer than %d bytes.", policy.MaxOverlay)
	}
	return string(source), nil
}
