package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"agentlink/actions"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/display"
)

func (c *cli) receipt() *cobra.Command {
	return parent("receipt", "Export and verify receipts of what ran", `A receipt is a signed statement that an approved action ran. Who holds it can verify
it offline; the parameters of what ran are in it only as a hash.`,
		c.receiptExport(), c.receiptVerify())
}

func (c *cli) receiptExport() *cobra.Command {
	var path string
	command := &cobra.Command{
		Use: "export RUN|TASK", Short: "Write the receipt of a run, or of a task's confirmation, to a file", Args: args("RUN or TASK"),
		Long: `Write a receipt as a file that receipt verify reads. Of one of your own runs it
holds the parameters too, so that whoever gets the file can read them; delete
"parameters" and "salt" from it where they should not.`,
		Example: "  agentlink receipt export 4f0c92ab --output dinner.receipt",
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := ask[actions.ReceiptFile](c, cmd, socket.ReceiptExport, socket.ByID{ID: args[0]})
			if err != nil {
				return err
			}
			text, err := indented(file)
			if err != nil {
				return err
			}
			text = append(text, '\n')
			if path == "" {
				_, err = c.stdout.Write(text)
				return err
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				return fmt.Errorf("the receipt cannot be written: %w", err)
			}
			return nil
		},
	}
	command.Flags().StringVarP(&path, "output", "o", "", "write to this file (default: standard output)")
	return command
}

func (c *cli) receiptVerify() *cobra.Command {
	var fingerprint string
	command := &cobra.Command{
		Use: "verify FILE", Short: "Verify a receipt offline", Args: args("FILE"),
		Long: `Verify a receipt. No node is asked: the file holds the key that signed it, and its
fingerprint says whose it is. Give the one that you know with --fingerprint, or
compare it yourself. The exit code is 1 where something does not fit.`,
		Example: `  agentlink receipt verify dinner.receipt --fingerprint mfzwizltoq3t…
  agentlink receipt verify - < dinner.receipt`,
		RunE: func(_ *cobra.Command, args []string) error {
			content, err := c.readFile(args[0])
			if err != nil {
				return err
			}
			fingerprint = strings.ToLower(strings.ReplaceAll(fingerprint, " ", ""))
			verified, err := actions.VerifyReceipt(content, fingerprint)
			if err != nil {
				return err
			}
			return c.print(verified, func() { c.showReceipt(verified, fingerprint != "") })
		},
	}
	command.Flags().StringVar(&fingerprint, "fingerprint", "", "the fingerprint of the node that must have signed it")
	return command
}

// readFile reads a small file; "-" is standard input.
func (c *cli) readFile(path string) ([]byte, error) {
	var reader = c.stdin
	if path != "-" {
		file, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil, unsafe("There is no file %s.", path)
		}
		if err != nil {
			return nil, unsafe("The file cannot be read: %v", err)
		}
		defer file.Close()
		reader = file
	}
	content, err := io.ReadAll(io.LimitReader(reader, node.MaxJSONBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return content, nil
}

func (c *cli) showReceipt(v actions.VerifiedReceipt, compared bool) {
	c.say("The receipt is genuine.")
	c.facts("Signed by", display.Grouped(v.Fingerprint), "Action", v.Action, "Decision", v.Decision, "Decided", when(v.DecidedAt),
		"Ran", when(v.ExecutedAt), "Code", v.Code, "Simulated", yes(v.Simulated, "yes: nothing outside the node was touched"),
		"Run", v.RunID, "Approval", v.ApprovalID, "Audit row", fmt.Sprint(v.Position))
	if v.ParametersMatch {
		c.say("The parameters in the file are what ran.")
	} else {
		c.say("The file does not say with which parameters it ran.")
	}
	if !compared {
		c.say("Compare the fingerprint with the one that you know the node by.")
	}
}
