package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"agentlink/node/api/socket"
	"agentlink/node/app"
	"agentlink/node/backup"
	"agentlink/node/config"
	"agentlink/node/display"
	"agentlink/node/seal"
)

// madeBackup is what the owner is told of an archive.
type madeBackup struct {
	File string `json:"file"`
	backup.Report
	// Recorded is false where the node could not note in its log that it was made.
	Recorded bool `json:"recorded"`
}

// backupFlags say for whom an archive is encrypted.
type backupFlags struct{ recipient, passphraseFile string }

func (c *cli) backup() *cobra.Command {
	var flags backupFlags
	command := &cobra.Command{
		Use: "backup FILE", Short: "Copy the whole node into one encrypted archive", Args: args("FILE"),
		Long: `Copy the whole node into one file, encrypted with age for your recipient
(--recipient age1…) or with a passphrase. A running node gives one unchanging state
while it goes on working; of a node that does not run the data folder is read.

The master key is not in the archive, and what is personal in the archive is sealed
with it. To restore you need three things, kept apart: the archive, what opens it
(the age identity or the passphrase), and a copy of the master key file with its
passphrase, if it has one.

Left out is what can be used once: sessions, one-time links, recovery codes,
invitations, and the tokens of connected programs.

FILE gets mode 0600. A file that exists is never overwritten.`,
		Example: `  agentlink backup monday.age --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p
  agentlink backup monday.age --passphrase-file passphrase.txt --password-file password.txt --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.makeBackup(cmd, args[0], flags) },
	}
	addDataSettings(command)
	command.Flags().StringVar(&flags.recipient, "recipient", "", "encrypt for this age recipient (age1…)")
	command.Flags().StringVar(&flags.passphraseFile, "passphrase-file", "", "read the passphrase of the archive from this file, which only you may read (default: ask on the terminal)")
	return c.needsPassword(command)
}

func (c *cli) makeBackup(cmd *cobra.Command, path string, flags backupFlags) error {
	settings, err := c.config(cmd.Flags())
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return unsafe("There is already a file %s: name another.", path)
	}
	key, err := c.archiveKey(cmd, flags)
	if err != nil {
		return err
	}
	from := c.runningNode(settings)
	report, err := writeArchive(cmd.Context(), path, key, from.copy)
	if errors.Is(err, socket.ErrNotRunning) {
		from = c.stoppedNode(settings)
		report, err = writeArchive(cmd.Context(), path, key, from.copy)
	}
	if err != nil {
		return startProblem(err)
	}
	made := madeBackup{File: path, Report: report, Recorded: true}
	if err := from.note(cmd.Context(), report); err != nil {
		made.Recorded = false
		fmt.Fprintf(c.stderr, "agentlink: the backup is whole, but the node's log does not say that it was made: %v\n", err)
	}
	return c.print(made, func() { c.showBackup(made) })
}

func (c *cli) archiveKey(cmd *cobra.Command, flags backupFlags) (key seal.ArchiveKey, err error) {
	switch {
	case flags.recipient != "" && flags.passphraseFile != "":
		return key, usage(cmd, "--recipient and --passphrase-file do not go together")
	case flags.recipient != "" && !seal.ValidRecipient(flags.recipient):
		return key, usage(cmd, "--recipient is no age recipient; one begins with age1")
	case flags.recipient != "":
		return seal.ArchiveKey{Recipient: flags.recipient}, nil
	}
	text, err := c.newPassword("Passphrase of the archive", flags.passphraseFile)
	return seal.ArchiveKey{Passphrase: []byte(text)}, err
}

// source is where a backup comes from.
type source struct {
	copy func(ctx context.Context, w io.Writer) (backup.Report, error)
	// note records that the backup is safe.
	note func(ctx context.Context, report backup.Report) error
}

func (c *cli) runningNode(settings config.Config) source {
	client, password := socket.Dial(settings.SocketPath()), ""
	return source{
		copy: func(ctx context.Context, w io.Writer) (report backup.Report, err error) {
			// Whether it runs is asked before the password is.
			if err := client.Call(ctx, socket.NodeStatus, "", nil, &socket.Status{}); err != nil {
				return report, err
			}
			if password, err = c.readPassword("Owner's password: "); err != nil {
				return report, err
			}
			stream, err := client.Stream(ctx, socket.NodeBackup, password)
			if err != nil {
				return report, err
			}
			defer stream.Close()
			return backup.Read(io.TeeReader(stream, w), backup.Nowhere{})
		},
		note: func(ctx context.Context, r backup.Report) error {
			done := socket.BackedUp{MadeAt: r.MadeAt, AuditRows: r.AuditRows, SHA256: r.SHA256}
			return client.Call(ctx, socket.NodeBackedUp, password, done, &struct{}{})
		},
	}
}

func (c *cli) stoppedNode(settings config.Config) source {
	options := app.Options{Log: c.logger(false), Passphrase: c.passphrase, Version: thisBuild().Version}
	return source{
		copy: func(ctx context.Context, w io.Writer) (backup.Report, error) {
			return app.Backup(ctx, settings, options, w)
		},
		note: func(ctx context.Context, report backup.Report) error {
			return app.BackedUp(ctx, settings, options, report)
		},
	}
}

func (c *cli) showBackup(made madeBackup) {
	c.say("The backup is whole: %s", made.File)
	c.facts("Node", display.Grouped(made.Fingerprint), "Made", when(made.MadeAt), "Rows", fmt.Sprint(made.Rows),
		"Audit log", fmt.Sprintf("%d rows, head %s", made.AuditRows, made.AuditHash))
	c.say("\nThe master key is not in it. Keep apart from it: a copy of the master key file, and what opens the archive.")
}
