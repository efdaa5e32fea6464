package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agentlink/node/api/socket"
	"agentlink/node/display"
)

func (c *cli) key() *cobra.Command {
	return parent("key", "The key that your node signs with, and replacing it", `Your contacts know your node by its key: everything that it sends is signed with
it. Here you see it, and replace it by a new one, for example when somebody may
have copied it. Each contact's owner then decides whether to accept the new key.
What to do when a key is stolen or lost stands in node/docs/keys.md.`,
		c.keyShow(), c.keyRotate())
}

func (c *cli) keyShow() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the node's key, earlier ones, and who still goes by them", Args: args(),
		Example: "  agentlink key show --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, err := ask[socket.Keys](c, cmd, socket.KeyShow, nil)
			if err != nil {
				return err
			}
			return c.print(keys, func() { c.showKeys(keys) })
		},
	}
}

func (c *cli) showKeys(keys socket.Keys) {
	c.facts("Fingerprint", display.Grouped(keys.Fingerprint), "Public key", keys.PublicKey, "Since", when(keys.Since))
	for _, k := range keys.Earlier {
		c.say("")
		c.say("An earlier key, until %s:", when(k.Until))
		c.facts("Fingerprint", display.Grouped(k.Fingerprint), "Public key", k.PublicKey, "Secret part", secretPart(k))
		if k.ErasedAt == nil {
			c.say("  Contacts that have not accepted the key after it:")
		} else if len(k.Waiting) > 0 {
			c.say("  Contacts that have never accepted the key after it. Connect with them again:")
		}
		for _, contact := range k.Waiting {
			c.say("    %s  %s", short(contact.ID), strings.Join([]string{contact.Contact, remarks(contact)}, "  "))
		}
		if k.More {
			c.say("    and others")
		}
	}
}

func secretPart(k socket.EarlierKey) string {
	if k.ErasedAt != nil {
		return "erased " + when(*k.ErasedAt)
	}
	return "kept until all contacts have accepted, at most until " + when(*k.KeptUntil)
}

func (c *cli) keyRotate() *cobra.Command {
	var yes bool
	command := &cobra.Command{
		Use: "rotate", Short: "Replace the node's key by a new one", Args: args(),
		Long: `Make a new key for your node and tell every contact, signed with the old one. Until
a contact's owner has accepted it, what is for that contact is signed with the old
key, for 30 days at most. Tell your contacts the new fingerprint, by telephone or
face to face. Your agents fetch a new access token by themselves.`,
		Example: `  agentlink key rotate
  agentlink key rotate --yes --password-file password.txt`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.sure(yes, "Replace the node's key?"); err != nil {
				return err
			}
			done, err := tell[socket.RotatedKey](c, cmd, socket.KeyRotate, nil)
			if err != nil {
				return err
			}
			return c.print(done, func() {
				c.say("The node has a new key.")
				c.facts("Fingerprint", display.Grouped(done.Fingerprint), "Before", display.Grouped(done.Before), "Contacts told", fmt.Sprint(done.Told))
			})
		},
	}
	command.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c.needsPassword(command)
}

// sure asks on the terminal whether to go on.
func (c *cli) sure(yes bool, question string) error {
	if yes {
		return nil
	}
	answer, somebody, err := c.prompt(question + " [y/N] ")
	switch {
	case err != nil:
		return err
	case !somebody:
		return unsafe("There is no terminal to ask on: use --yes.")
	case !strings.EqualFold(answer, "y") && !strings.EqualFold(answer, "yes"):
		return unsafe("Nothing was changed.")
	}
	return nil
}

func (c *cli) connectionAcceptKey() *cobra.Command {
	var fingerprint string
	command := &cobra.Command{
		Use: "accept-key ID", Short: "Accept the new key of a contact's node", Args: args("ID"),
		Long: `Accept the new key that a contact's node has announced. Before you do, ask the
other owner whether they have replaced their key, and compare the new fingerprint,
by telephone or face to face: whoever has stolen the old key can announce one too.
It holds for every connection with that node. A script gives the expected
fingerprint with --fingerprint; another one is refused.`,
		Example: `  agentlink connection accept-key 4f0c92ab
  agentlink connection accept-key 4f0c92ab --fingerprint mfzwizltoq3t… --password-file password.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.decideKey(cmd, args[0], fingerprint, socket.ConnectionAcceptKey, "Accept this new key?")
		},
	}
	command.Flags().StringVar(&fingerprint, "fingerprint", "", "the fingerprint that the new key must have")
	return c.needsPassword(command)
}

func (c *cli) connectionRefuseKey() *cobra.Command {
	return c.needsPassword(&cobra.Command{
		Use: "refuse-key ID", Short: "Refuse the new key of a contact's node", Args: args("ID"),
		Long: `Refuse the new key that a contact's node has announced. What comes signed with the
key that you know counts as before.`,
		Example: "  agentlink connection refuse-key 4f0c92ab",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.decideKey(cmd, args[0], "", socket.ConnectionRefuseKey, "")
		},
	})
}

// decideKey decides about the key that the owner is shown, and about no other.
func (c *cli) decideKey(cmd *cobra.Command, id, fingerprint, command, question string) error {
	k, err := ask[socket.Connection](c, cmd, socket.ConnectionShow, socket.ByID{ID: id})
	if err != nil {
		return err
	}
	if k.OfferedKey == nil {
		return usage(cmd, "%s has announced no new key", k.Contact)
	}
	fingerprint = strings.ToLower(strings.ReplaceAll(fingerprint, " ", ""))
	if fingerprint != "" && fingerprint != k.OfferedKey.Fingerprint {
		return unsafe("The new key has another fingerprint than the one given: %s", display.Grouped(k.OfferedKey.Fingerprint))
	}
	if question != "" && fingerprint == "" {
		if !c.json {
			c.showConnection(k)
		}
		if err := c.sure(false, question); err != nil {
			return err
		}
	}
	k, err = tell[socket.Connection](c, cmd, command, socket.DecideKey{ID: k.ID, Fingerprint: k.OfferedKey.Fingerprint})
	if err != nil {
		return err
	}
	return c.print(k, func() { c.say("%s is known by the key %s.", k.Contact, display.Grouped(k.Fingerprint)) })
}
