package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"agentlink/node/app"
	"agentlink/node/config"
	"agentlink/node/display"
	"agentlink/node/seal"
)

// restoreFlags say what opens an archive.
type restoreFlags struct {
	identityFile, passphraseFile string
	verify                       bool
}

func (c *cli) restore() *cobra.Command {
	var flags restoreFlags
	command := &cobra.Command{
		Use: "restore FILE", Short: "Make a node from a backup, or verify the backup", Args: args("FILE"),
		Long: `Make a node from a backup, in the new data folder --data, with the copy of the
master key that you kept (--master-key-file). With --database-url postgres://… the
database goes to that server, whichever kind the backup is from. A folder or
database that is not empty is refused.

The restored node knows nothing of what came after the backup. So no approval from
before opens anything, no unfinished run starts again, access tokens end, and every
unfinished task first asks the other node whether the two copies still follow one
another. Rules, keys and connections that you changed after the backup are as they
were: look at them.

--verify writes nothing that stays: it decrypts the archive, compares its sums,
walks the audit log with the data of every row, and opens every task, message and
approval with the master key. The exit code is 1 where something is wrong.`,
		Example: `  agentlink restore --verify monday.age --identity-file age.key --master-key-file master.key
  agentlink restore monday.age --data ~/agentlink-new --identity-file age.key --master-key-file master.key
  agentlink restore monday.age --data new --passphrase-file passphrase.txt --master-key-file master.key --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.restoreNode(cmd, args[0], flags) },
	}
	addDataSettings(command)
	command.Flags().StringVar(&flags.identityFile, "identity-file", "", "file with the age identity that opens the archive, which only you may read")
	command.Flags().StringVar(&flags.passphraseFile, "passphrase-file", "", "read the passphrase of the archive from this file, which only you may read (default: ask on the terminal)")
	command.Flags().BoolVar(&flags.verify, "verify", false, "check the archive and write nothing that stays")
	return command
}

func (c *cli) restoreNode(cmd *cobra.Command, path string, flags restoreFlags) error {
	if !flags.verify && c.data == "" && c.getenv(config.DataDirName) == "" {
		return usage(cmd, "--data is missing: name the new data folder")
	}
	settings, err := c.config(cmd.Flags())
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return unsafe("There is no file %s.", path)
	}
	if err != nil {
		return unsafe("The backup cannot be read: %v", err)
	}
	defer file.Close()
	key, err := c.openingKey(cmd, flags)
	if err != nil {
		return err
	}
	archive, err := seal.OpenArchive(file, key)
	if err != nil {
		return fmt.Errorf("%s does not open: it is no age file, or not for this key or passphrase", path)
	}
	restore := app.Restore
	if flags.verify {
		restore = app.VerifyBackup
	}
	report, err := restore(cmd.Context(), settings, app.Options{Log: c.logger(false), Passphrase: c.passphrase, Version: thisBuild().Version}, archive)
	if err != nil {
		return startProblem(err)
	}
	return c.print(report, func() { c.showRestore(path, report) })
}

func (c *cli) openingKey(cmd *cobra.Command, flags restoreFlags) (key seal.ArchiveKey, err error) {
	switch {
	case flags.identityFile != "" && flags.passphraseFile != "":
		return key, usage(cmd, "--identity-file and --passphrase-file do not go together")
	case flags.identityFile != "":
		key.Identity, err = c.secretFrom(flags.identityFile)
		return key, err
	case flags.passphraseFile != "":
		text, err := c.secretFrom(flags.passphraseFile)
		return seal.ArchiveKey{Passphrase: []byte(text)}, err
	}
	text, err := c.readSecret("Passphrase of the archive: ", "There is no terminal to ask for the passphrase of the archive on: use --passphrase-file or --identity-file.")
	return seal.ArchiveKey{Passphrase: []byte(text)}, err
}

func (c *cli) showRestore(path string, r app.RestoreReport) {
	facts := []string{
		"Node", display.Grouped(r.Fingerprint), "Backup from", when(r.MadeAt), "Rows", fmt.Sprint(r.Rows), "Values opened", fmt.Sprint(r.Values),
		"Audit log", fmt.Sprintf("%d rows, head %s", r.AuditRows, r.AuditHash), "Unfinished runs", fmt.Sprint(r.LostRuns),
	}
	if r.DataDir == "" {
		c.say("The backup %s is whole.", path)
		c.facts(facts...)
		return
	}
	c.say("The node is restored.")
	c.facts(append(facts, "Data folder", r.DataDir)...)
	c.say(`
It knows nothing of what came after the backup. Approvals from before open nothing.
Look at your rules, agents' keys and connections, and make new recovery codes.
Stop the old node for good before you start this one: agentlink serve --data %s`, r.DataDir)
}
