package main

import (
	"strings"

	"agentlink/actions"
	"agentlink/node/api/socket"
)

// confirm asks what a yes needs beyond the password: a look at what was printed,
// the override of D6, the word of D7. A script gives all of it as flags.
func (c *cli) confirm(approval socket.Approval, flags *decideFlags) error {
	if flags.hash == "" {
		answer, asked, err := c.askYes()
		if err != nil {
			return err
		}
		if !asked {
			return unsafe("There is no terminal to ask on. A script gives the hash that it was shown: --hash %s", approval.Hash)
		}
		if !strings.EqualFold(answer, "yes") {
			return unsafe("Nothing was decided.")
		}
	}
	for _, warning := range approval.Warnings {
		if err := c.confirmWarning(warning.Kind, flags); err != nil {
			return err
		}
	}
	return nil
}

// askYes asks a person. With --json nothing was shown that could be approved.
func (c *cli) askYes() (answer string, asked bool, err error) {
	if c.json {
		return "", false, nil
	}
	return c.prompt("\nApprove exactly this? Type yes: ")
}

func (c *cli) confirmWarning(kind string, flags *decideFlags) error {
	switch {
	case kind == actions.NotExecutingRole && !flags.override:
		answer, asked, err := c.prompt("The other side has to run this. Type override to run it all the same: ")
		if err != nil {
			return err
		}
		if !asked || answer != "override" {
			return unsafe("Nothing was decided. To run it although the other side has to, give --override.")
		}
		flags.override = true
	case kind == actions.AlreadyRan && flags.word == "":
		answer, asked, err := c.prompt("This already ran. Type the word above to run it again: ")
		if err != nil {
			return err
		}
		if !asked || answer == "" {
			return unsafe("Nothing was decided. To run it again, give the word above with --word.")
		}
		flags.word = answer
	}
	return nil
}
