package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentlink/node/audit"
	"agentlink/node/display"
	"agentlink/node/token"
)

// verifiedExport is what is known of an exported log.
type verifiedExport struct {
	audit.Report
	Host        string    `json:"host"`
	Fingerprint string    `json:"fingerprint"` // of the key that signed the head
	ExportedAt  time.Time `json:"exportedAt"`
}

func (c *cli) auditVerifyExport() *cobra.Command {
	var fingerprint string
	command := &cobra.Command{
		Use: "verify-export FILE", Short: "Verify an exported log offline", Args: args("FILE"),
		Long: `Verify a log that was exported on the dashboard, without asking any node: that no
row was edited, removed, swapped or cut off, and who signed its head. The file
holds the key; give the fingerprint that you know the node by with --fingerprint,
or compare it yourself. The exit code is 1 where something does not fit.`,
		Example: `  agentlink audit verify-export agentlink-log.jsonl --fingerprint mfzwizltoq3t…
  zcat old.jsonl.gz | agentlink audit verify-export -`,
		RunE: func(_ *cobra.Command, args []string) error {
			verified, err := c.verifyExport(args[0])
			if err != nil {
				return err
			}
			known := strings.ToLower(strings.Join(strings.Fields(fingerprint), ""))
			if known != "" && known != verified.Fingerprint && verified.OK() {
				verified.Problem = "another node signed it: its fingerprint is " + verified.Fingerprint
			}
			return c.showExport(verified, known != "")
		},
	}
	command.Flags().StringVar(&fingerprint, "fingerprint", "", "the fingerprint of the node that must have signed it")
	return command
}

func (c *cli) verifyExport(path string) (verifiedExport, error) {
	reader := c.stdin
	if path != "-" {
		file, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			return verifiedExport{}, unsafe("There is no file %s.", path)
		}
		if err != nil {
			return verifiedExport{}, unsafe("The file cannot be read: %v", err)
		}
		defer file.Close()
		reader = file
	}
	return readExport(reader)
}

func readExport(reader io.Reader) (verifiedExport, error) {
	head, report, err := audit.VerifyExport(reader)
	if err != nil {
		return verifiedExport{}, err
	}
	verified := verifiedExport{Report: report, Host: head.Host, ExportedAt: head.ExportedAt}
	var genuine bool
	if verified.Fingerprint, genuine = signerOf(head); !genuine && report.OK() {
		verified.Problem = "the head was not signed by the node that it names"
	}
	return verified, nil
}

// signerOf verifies the signature of an export's head.
func signerOf(head audit.ExportHead) (fingerprint string, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(head.PublicKey)
	if err != nil {
		return "", false
	}
	key, err := token.ParseKey(raw)
	if err != nil {
		return "", false
	}
	var claims audit.HeadClaims
	if token.Open(token.AuditHead, key, head.Signature, &claims) != nil {
		return "", false
	}
	fingerprint = token.Fingerprint(key)
	return fingerprint, claims.Iss == fingerprint && head.Fingerprint == fingerprint && claims.Rows == head.Rows && claims.Hash == head.Hash
}

func (c *cli) showExport(v verifiedExport, compared bool) error {
	err := c.print(v, func() {
		if !v.OK() {
			fmt.Fprintf(c.stderr, "agentlink: the log is NOT whole: %s\n", display.Text(v.Problem))
			return
		}
		c.say("The log is whole: %d rows, head %s", v.Rows, v.Head)
		c.facts("Node", display.Text(v.Host), "Signed by", display.Grouped(v.Fingerprint), "Exported", when(v.ExportedAt))
		if !compared {
			c.say("Compare the fingerprint with the one that you know the node by.")
		}
	})
	if err == nil && !v.OK() {
		err = &quietFailure{}
	}
	return err
}
