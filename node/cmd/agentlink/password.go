package main

import (
	"github.com/spf13/cobra"

	"agentlink/node/api/socket"
)

func (c *cli) password() *cobra.Command {
	var file string
	command := &cobra.Command{
		Use: "password", Short: "Change the owner's password", Args: args(),
		Example: `  agentlink password
  agentlink password --password-file old.txt --new-password-file new.txt`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fresh, err := c.newPassword("New password", file)
			if err != nil {
				return err
			}
			done, err := tell[struct{}](c, cmd, socket.OwnerPassword, socket.ChangePassword{New: fresh})
			if err != nil {
				return err
			}
			return c.print(done, func() { c.say("The password is changed.") })
		},
	}
	command.Flags().StringVar(&file, "new-password-file", "", "read the new password from this file, which only you may read")
	return c.needsPassword(command)
}
