package main

import (
	"github.com/spf13/cobra"

	"agentlink/node/app"
	"agentlink/node/display"
	"agentlink/policy"
)

// initFlags are what init wants to know.
type initFlags struct {
	name, handle, mode string
	passphrase         bool
}

func (c *cli) init() *cobra.Command {
	var flags initFlags
	command := &cobra.Command{
		Use: "init", Short: "Make a node: data folder, master key, database and owner", Args: args(),
		Long: `Make a node. init makes the data folder (for you alone), a master key, the
database and the owner with a password, and with --handle a first agent, whose key
it prints once. It asks for nothing that its flags give.

The master key seals everything that is personal or secret in the database. Without
it the database cannot be read: keep a copy elsewhere.

` + settingsHelp,
		Example: `  agentlink init --name Ada
  agentlink init --name Ada --password-file password.txt --handle scout --mode assisted --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.makeNode(cmd, flags) },
	}
	addSettings(command)
	command.Flags().StringVar(&flags.name, "name", "", "your name (needed)")
	command.Flags().StringVar(&flags.handle, "handle", "", "make a first agent with this handle")
	command.Flags().StringVar(&flags.mode, "mode", "", "mode of the first agent: manual, assisted or autonomous (default assisted)")
	command.Flags().BoolVar(&flags.passphrase, "passphrase", false, "protect the master key with a passphrase, asked for on the terminal")
	return c.needsPassword(command)
}

func (c *cli) makeNode(cmd *cobra.Command, flags initFlags) error {
	if flags.name == "" {
		return usage(cmd, "--name is missing")
	}
	settings, err := c.config(cmd.Flags())
	if err != nil {
		return err
	}
	setup := app.Setup{OwnerName: flags.name, Handle: flags.handle, Mode: policy.Mode(flags.mode)}
	if setup.Password, err = c.newPassword("Owner's new password", c.passwordFile); err != nil {
		return err
	}
	if flags.passphrase {
		if setup.Passphrase, err = c.newPassphrase(); err != nil {
			return err
		}
	}
	made, err := app.Init(cmd.Context(), settings, setup, app.Options{Log: c.logger(false), Passphrase: c.passphrase})
	if err != nil {
		return startProblem(err)
	}
	return c.print(made, func() { c.showMade(made) })
}

func (c *cli) newPassphrase() ([]byte, error) {
	text, err := c.newPassword("New passphrase of the master key", "")
	return []byte(text), err
}

func (c *cli) showMade(made app.Made) {
	c.say("The node is made. Keep a copy of its master key elsewhere.")
	c.facts("Owner", made.Owner, "Data folder", made.DataDir, "Database", made.Database,
		"Master key", made.MasterKeyFile, "Fingerprint", display.Grouped(made.Fingerprint))
	if made.Agent != nil {
		c.say("\nThe agent's key is shown only now:")
		c.facts("Handle", made.Agent.Handle, "Id", made.Agent.ID, "Mode", string(made.Agent.Mode), "Key", made.Agent.Key)
	}
	c.say("\nStart it with: agentlink serve")
}
