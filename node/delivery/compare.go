package delivery

import (
	"context"
	"errors"
	"sync"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
)

// Comparer compares this node's audit log with what its contacts keep of it.
type Comparer struct {
	*Witnesses
	DB           node.DB
	Coordination interface {
		Witnesses(tx node.Tx) ([]coordination.Witness, error)
	}
	Audit *audit.Log

	one sync.Mutex // comparison at a time
}

const (
	askAtOnce = 8
	// askTimeout bounds asking everybody; who has not answered by then counts as
	// unreachable.
	askTimeout = 40 * time.Second
)

// testified is what came of asking one contact.
type testified struct {
	heads []wire.HeldHead
	err   error
}

// Compare verifies the log, asks every active contact, compares, and notes for
// owner what came of it in the log.
func (c *Comparer) Compare(ctx context.Context, owner node.Actor) (report audit.Witnessed, err error) {
	if !c.one.TryLock() {
		return report, node.ConflictFor(node.ReasonBadState, "A comparison is under way. Wait for it.")
	}
	defer c.one.Unlock()
	var contacts []coordination.Witness
	err = c.DB.View(ctx, func(tx node.Tx) (err error) {
		contacts, err = c.Coordination.Witnesses(tx)
		return err
	})
	if err != nil {
		return report, err
	}
	answers := c.askAll(ctx, contacts)
	err = c.DB.View(ctx, func(tx node.Tx) (err error) {
		report.Contacts = nil
		if report.Log, err = c.Audit.Verify(tx, false); err != nil {
			return err
		}
		for i, contact := range contacts {
			said, err := c.compare(tx, contact, answers[i])
			if err != nil {
				return err
			}
			report.Contacts = append(report.Contacts, said)
		}
		return nil
	})
	if err != nil {
		return report, err
	}
	return report, c.DB.InTx(ctx, func(tx node.Tx) error { return c.Audit.Append(tx, report.Event(owner)) })
}

func (c *Comparer) askAll(ctx context.Context, contacts []coordination.Witness) []testified {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answers := make([]testified, len(contacts))
	slots := make(chan struct{}, askAtOnce)
	var all sync.WaitGroup
	for i, contact := range contacts {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			answers[i].heads, answers[i].err = c.Ask(ctx, contact)
		})
	}
	all.Wait()
	return answers
}

func (c *Comparer) compare(tx node.Tx, contact coordination.Witness, said testified) (audit.WitnessedBy, error) {
	by := audit.WitnessedBy{Contact: contact.Contact, Address: contact.Address, ConnectionID: contact.ConnectionID}
	switch {
	case errors.Is(said.err, ErrTooOld):
		by.Verdict = audit.TooOld
	case errors.Is(said.err, ErrRefused):
		by.Verdict = audit.Refused
	case said.err != nil:
		by.Verdict = audit.Unreachable
	default:
		compared, err := c.Audit.Compare(tx, coordination.HeldHeads(contact.ConnectionID, said.heads))
		by.Comparison = compared
		return by, err
	}
	return by, nil
}
