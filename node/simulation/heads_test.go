package simulation

import (
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
)

// The heads of logs that contacts show each other, and keep (G8).

// chat writes a message of the owner's, and takes it to its attempt.
func (p *pair) chat(s *side) (id string) {
	p.t.Helper()
	id = p.says(s)
	p.attempt(s, id)
	return id
}

func (p *pair) keptHeads(s *side) (heads []coordination.PeerHead) {
	p.t.Helper()
	c := p.connectionOf(s)
	s.in(p.t, func(tx node.Tx) (err error) {
		heads, err = s.store.PeerHeads(tx, c.ID, 100)
		return err
	})
	return heads
}

// TestHeadsThatGoOn: what comes after a head numbered 10, and what a makes of it.
func TestHeadsThatGoOn(t *testing.T) {
	const first = 10
	seal := func(letter string) string { return strings.Repeat(letter, 200) }
	for name, test := range map[string]struct {
		n     int64
		seal  string
		after time.Duration // that its message left after the first head had come
		early bool          // or before
		told  bool          // the log says that their log is another
		kept  int64         // the latest number
		days  int           // heads that are kept
	}{
		"the next":                        {first + 1, "b", time.Second, false, false, first + 1, 1},
		"the next, a day later":           {first + 1, "b", 24 * time.Hour, false, false, first + 1, 2},
		"the next, as long as heads last": {first + 1, "b", coordination.KeepHeads, false, false, first + 1, 2},
		"the next, when the first is old": {first + 1, "b", coordination.KeepHeads + time.Second, false, false, first + 1, 1},
		"the same":                        {first, "a", time.Hour, false, false, first, 1},
		"another under its number":        {first, "b", time.Second, false, true, first, 2},
		"an earlier one, late":            {first - 1, "b", 0, true, false, first, 1},
		"an earlier one, by the clocks":   {first - 1, "b", wire.MaxSkew, false, false, first, 1},
		"an earlier one, asked for later": {first - 1, "b", wire.MaxSkew + time.Second, false, true, first - 1, 2},
		"none that makes sense":           {0, "b", time.Second, false, false, first, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.clock.Advance(time.Hour)
			shows := func(id string, n int64, letter string) {
				p.answered(p.a, wire.Ack{Ref: id, Status: wire.Applied, Head: &wire.Head{N: n, Seal: seal(letter)}})
			}
			id, next := p.chat(p.a), ""
			if test.early {
				next = p.chat(p.a)
			}
			shows(id, first, "a")
			p.clock.Advance(test.after)
			if !test.early {
				next = p.chat(p.a)
			}
			shows(next, test.n, test.seal)
			heads := p.keptHeads(p.a)
			if len(heads) != test.days || heads[0].N != test.kept {
				t.Errorf("%d heads are kept, the latest is %d; want %d and %d", len(heads), heads[0].N, test.days, test.kept)
			}
			if got := p.events(p.a, audit.ConnectionLogDiffers, next); (got == 1) != test.told {
				t.Errorf("the log says %d times that theirs is another", got)
			}
		})
	}
}

// TestHeadsAreShown to active contacts that ask, and to nobody else.
func TestHeadsAreShown(t *testing.T) {
	for name, test := range map[string]struct {
		asked  bool
		change func(*coordination.Connection)
		shown  bool
	}{
		"asked":                    {true, func(*coordination.Connection) {}, true},
		"not asked":                {false, func(*coordination.Connection) {}, false},
		"of a revoked connection":  {true, revoked, false},
		"by who has another key":   {true, func(c *coordination.Connection) { c.KeyChanged = true }, false},
		"by who asks to connect":   {true, func(c *coordination.Connection) { c.Status = coordination.PendingIncoming }, false},
		"by who has not said yes":  {true, func(c *coordination.Connection) { c.Status = coordination.PendingOutgoing }, false},
		"by who was told no":       {true, func(c *coordination.Connection) { c.Status = coordination.ConnRejected }, false},
		"before the owner decides": {true, func(c *coordination.Connection) { c.Status = coordination.PendingOwner }, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.alter(p.b, test.change)
			c := p.connectionOf(p.b)
			got, err := p.hears(p.b, coordination.Incoming{
				Envelope:     wire.Envelope{JTI: p.a.ids.New(), Type: wire.Message},
				ConnectionID: c.ID, Head: test.asked, Inner: wire.Inner{Author: "agent", Content: []byte(`{"text":"Hi"}`)},
			})
			must(t, err)
			var witnesses []coordination.Witness
			p.b.in(t, func(tx node.Tx) (err error) {
				witnesses, err = p.b.coordination.Witnesses(tx)
				return err
			})
			if (got.Head != nil) != test.shown {
				t.Errorf("a head is shown: %v", got.Head != nil)
			}
			if active := c.Status == coordination.ConnActive && !c.KeyChanged; (len(witnesses) == 1) != active {
				t.Errorf("%d contacts keep heads", len(witnesses))
			}
		})
	}
}
