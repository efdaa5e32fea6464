package dashboard

import (
	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
)

// nodeKey shows the node's key and who still goes by an earlier one.
func (v *visit) nodeKey() error {
	var page view.NodeKeyPage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "The node's key", "/settings"); err != nil {
			return err
		}
		keys, err := v.d.Coordination.OwnKeys(tx)
		if err != nil {
			return err
		}
		names, err := v.d.agentNames(tx)
		page.Fingerprint, page.Since = keys.Fingerprint, keys.Since
		for _, key := range keys.Earlier {
			page.Earlier = append(page.Earlier, earlierKeyRow(key, names))
		}
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.NodeKey(page))
}

func earlierKeyRow(key coordination.OwnEarlierKey, names map[string]string) view.EarlierKeyRow {
	row := view.EarlierKeyRow{
		Fingerprint: key.Fingerprint, Until: key.Until, ErasedAt: key.ErasedAt, KeptUntil: key.KeptUntil(), More: key.More,
	}
	for _, c := range key.Waiting {
		row.Waiting = append(row.Waiting, view.KeyContact{
			URL: contactURL(c.ID), Contact: c.Contact, Agent: names[c.AgentID], Declined: c.KeyDeclined,
		})
	}
	return row
}

func (v *visit) rotateKey() error {
	if v.field("confirm") != "yes" {
		return node.BadFields(node.Field{Field: "confirm", Problem: "must be ticked to replace the key"})
	}
	err := v.write(func(tx node.Tx) error {
		_, err := v.d.Coordination.RotateKey(tx, v.actor(""))
		return err
	})
	if err != nil {
		return err
	}
	return v.goTo("/settings/key?done=rotated")
}

// contactKey shows the new key of a contact's node beside the known one.
func (v *visit) contactKey() error {
	var page view.ContactKeyPage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "A contact's key changes", "/contacts"); err != nil {
			return err
		}
		c, err := v.d.Coordination.Connection(tx, "", v.c.Params("id"))
		if err != nil {
			return err
		}
		if c.Offer == nil || c.Status != coordination.ConnActive {
			return node.ConflictFor(node.ReasonBadState, "No new key of this contact waits for you.")
		}
		names, err := v.d.agentNames(tx)
		page.ID, page.Contact, page.Agent = c.ID, c.Contact, names[c.AgentID]
		page.Known, page.New = c.Peer.Fingerprint, newKeyOf(c)
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.ContactKey(page))
}

// decideKey answers the key that the owner was shown, and no other.
func (v *visit) decideKey() error {
	decide, done := v.d.Coordination.AcceptKey, "newkey"
	switch v.field("decision") {
	case "accept":
	case "refuse":
		decide, done = v.d.Coordination.RefuseKey, "oldkey"
	default:
		return node.BadFields(node.Field{Field: "decision", Problem: "must be accept or refuse"})
	}
	fingerprint := v.field("fingerprint")
	return v.changeContact(done, func(tx node.Tx, actor node.Actor, id string) (coordination.Connection, error) {
		return decide(tx, actor, id, fingerprint)
	})
}

func newKeyOf(c coordination.Connection) view.NewKey {
	if c.Offer == nil {
		return view.NewKey{}
	}
	return view.NewKey{Fingerprint: c.Offer.Fingerprint, Disputed: c.Offer.Disputed, At: c.Offer.At}
}

// describeKeys fills in what stands with the keys of both sides.
func (v *visit) describeKeys(page *view.ContactPage, c coordination.Connection) {
	earlier := c.KnownKey != "" && c.KnownKey != v.d.Signer.Fingerprint() && !c.Status.Ended()
	if c.Status == coordination.ConnActive {
		page.NewKey = newKeyOf(c)
	}
	page.OursGone = earlier && c.KeyChanged && !v.d.Signer.Holds(c.KnownKey)
	page.OursWaits = earlier && !c.KeyChanged
	page.OursDeclined = page.OursWaits && c.KeyDeclined
	if page.OursWaits {
		page.Ours = c.KnownKey // what their page shows of us
	}
}
