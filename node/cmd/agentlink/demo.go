package main

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"agentlink/node/demo"
)

func (c *cli) demo() *cobra.Command {
	var auto, keep bool
	command := &cobra.Command{
		Use: "demo", Short: "Watch two nodes settle and book a dinner", Args: args(),
		Long: `Start two nodes on this machine, with two agents that use nothing but the REST
API, and play a whole dinner: both sides beside each other. You decide for both
owners, here or by click: the demo prints a link to each owner's dashboard. Where
there is no terminal, or with --auto, the demo says yes for them.`,
		Example: `  agentlink demo
  agentlink demo --auto
  agentlink demo --keep       (leaves both nodes running, and tells how to reach them)`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			config := demo.Config{Out: c.stdout, Keep: keep, Width: widthOf(c.stdout)}
			switch {
			case auto:
			case isTerminal(c.stdin):
				config.In = c.stdin
			default:
				c.say("There is no terminal to ask on, so the demo says yes for both owners (as --auto does).")
			}
			return demo.Run(ctx, config)
		},
	}
	command.Flags().BoolVar(&auto, "auto", false, "decide for both owners")
	command.Flags().BoolVar(&keep, "keep", false, "leave both nodes running at the end")
	return command
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// usualWidth is for output that goes to no terminal.
const usualWidth = 100

func widthOf(out io.Writer) int {
	if file, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			return width
		}
	}
	return usualWidth
}
