package main

import (
	"github.com/spf13/cobra"

	"agentlink/node/api/socket"
)

func (c *cli) link() *cobra.Command {
	command := &cobra.Command{
		Use: "link", Short: "Print a link that signs you in to the dashboard", Args: args(),
		Long: `Print a link that opens the dashboard of the running node, signed in. It works
once, within 10 minutes. Whoever has it is you: give it to nobody.`,
		Example: "  agentlink link",
		RunE: func(cmd *cobra.Command, _ []string) error {
			link, err := tell[socket.SignInLink](c, cmd, socket.OwnerLink, nil)
			if err != nil {
				return err
			}
			return c.print(link, func() { c.say("%s", link.URL) })
		},
	}
	return c.needsPassword(command)
}
