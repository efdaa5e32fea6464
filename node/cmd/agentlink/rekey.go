package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"agentlink/node/app"
)

func (c *cli) rekey() *cobra.Command {
	var yes bool
	command := &cobra.Command{
		Use: "rekey", Short: "Give a stopped node a new master key, and seal everything anew", Args: args(),
		Long: `Make a new master key, seal everything in the database with it, and put it in the
place of the old one, protected by the same passphrase where there is one. Do it when
somebody may have read the master key. Stop the node first, every process of it. What
is cut off is finished by the same command; until then the node does not start.

A backup from before opens with the old key alone, which is gone afterwards: copy its
file first and keep it as long as such a backup, or make a new backup and delete both.
Whoever has the old key and a copy of the database from before can read that copy, and
the key in it that your node signs with: node/docs/keys.md says what else to replace.

` + settingsHelp,
		Example: `  agentlink rekey
  agentlink rekey --yes --data /srv/agentlink --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := c.config(cmd.Flags())
			if err != nil {
				return err
			}
			if err := c.sure(yes, "Replace the master key "+settings.MasterKeyFile+"? Backups from before need a copy of it."); err != nil {
				return err
			}
			done, err := app.ReplaceMaster(cmd.Context(), settings, app.Options{Log: c.logger(false), Passphrase: c.passphrase})
			if err != nil {
				return startProblem(err)
			}
			return c.print(done, func() { c.showMasterReplaced(done) })
		},
	}
	addDataSettings(command)
	command.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return command
}

func (c *cli) showMasterReplaced(done app.MasterReplaced) {
	if done.Finished {
		c.say("The replacement that was cut off is finished. Keep a copy of the new master key elsewhere.")
		c.facts("Master key", done.MasterKeyFile)
		return
	}
	c.say("The node has a new master key. Keep a copy of it elsewhere, and make a backup.")
	c.facts("Master key", done.MasterKeyFile, "Values sealed anew", fmt.Sprint(done.Values))
	if done.Damaged > 0 {
		c.facts("Did not open before", fmt.Sprint(done.Damaged))
	}
}
