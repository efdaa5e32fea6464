package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/outbox"
	"agentlink/node/store/storetest"
)

// witnessed is an agent whose messages are acknowledged at times of the test's
// choosing.
type witnessed struct {
	*ledgered
	clock *node.FakeClock
}

func newWitnessed(t *testing.T, fresh func(*testing.T) storetest.Database) witnessed {
	t.Helper()
	database, clock := fresh(t), node.NewFakeClock(time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	database.Clock = clock
	return witnessed{newLedgered(t, database.Open(t)), clock}
}

// sends queues a message and makes its first attempt.
func (w witnessed) sends() (id string) {
	w.t.Helper()
	id = w.starts(w.owner, nil).ID
	inTx(w.t, w.store, func(tx node.Tx) error {
		_, err := w.coordination.Dispatch(tx, outbox.Item{AgentID: w.agent.AgentID, Ref: id}, func(coordination.Dispatch) ([]byte, error) { return []byte("signed"), nil })
		return err
	})
	return id
}

// answered settles a message by the peer's answer with a head.
func (w witnessed) answered(id string, head *wire.Head) {
	w.t.Helper()
	inTx(w.t, w.store, func(tx node.Tx) error {
		done, err := w.coordination.Acknowledged(tx, w.agent.AgentID, wire.Ack{Ref: id, Status: wire.Applied, Head: head})
		if !done {
			w.t.Errorf("%s is not settled", id)
		}
		return err
	})
}

func numbered(n int64) *wire.Head { return &wire.Head{N: n, Seal: fmt.Sprint("head ", n)} }

// keeps compares what is kept: "line/number" of each, the latest first.
func (w witnessed) keeps(want ...string) {
	w.t.Helper()
	inTx(w.t, w.store, func(tx node.Tx) error {
		list, err := w.store.PeerHeads(tx, "c1", 100)
		var got []string
		for _, h := range list {
			got = append(got, fmt.Sprintf("%d/%d", h.Line, h.N))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			w.t.Errorf("kept are %v, want %v", got, want)
		}
		return err
	})
}

// told compares the rows that say that the peer's log differs.
func (w witnessed) told(want ...string) {
	w.t.Helper()
	inTx(w.t, w.store, func(tx node.Tx) error {
		rows, err := w.store.AuditRows(tx, audit.Filter{Types: []audit.Type{audit.ConnectionLogDiffers}})
		var got []string
		for _, row := range rows {
			var data struct {
				How  string
				Had  int64
				Came int64
			}
			if err := json.Unmarshal(row.Data, &data); err != nil {
				return err
			}
			got = append(got, fmt.Sprintf("%s %d after %d", data.How, data.Came, data.Had))
			if row.ConnectionID != "c1" || row.AgentID != w.agent.AgentID || row.ActorKind != node.ActorPeer {
				w.t.Errorf("the row is %+v", row)
			}
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			w.t.Errorf("the log says %q, want %q", got, want)
		}
		return err
	})
}

// TestHeadsOfPeers: what becomes of the heads that come with answers.
func TestHeadsOfPeers(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		for name, test := range map[string]func(w witnessed){
			"each goes on": func(w witnessed) {
				for n := range int64(4) {
					w.answered(w.sends(), numbered(3*n+1))
				}
				w.keeps("0/10")
				w.told()
			},
			"an old node gives none": func(w witnessed) {
				w.answered(w.sends(), nil)
				w.keeps()
				w.answered(w.sends(), numbered(1))
				w.answered(w.sends(), nil)
				w.keeps("0/1")
				w.told()
			},
			"what is no head": func(w witnessed) {
				for _, head := range []*wire.Head{{}, {N: 1}, {N: -1, Seal: "s"}, {N: 0, Seal: "s"}, {N: 1, Seal: strings.Repeat("s", 10_000)}} {
					w.answered(w.sends(), head)
				}
				w.keeps()
			},
			"answers cross": func(w witnessed) {
				first, second := w.sends(), w.sends()
				w.answered(second, numbered(9))
				w.clock.Advance(time.Hour)
				w.answered(first, numbered(8)) // left before the ninth came
				w.keeps("0/9")
				w.told()
			},
			"the clocks of two replicas differ": func(w witnessed) {
				w.answered(w.sends(), numbered(9))
				w.clock.Advance(wire.MaxSkew)
				w.answered(w.sends(), numbered(8))
				w.keeps("0/9")
				w.told()
			},
			"set back": func(w witnessed) {
				w.answered(w.sends(), numbered(9))
				w.clock.Advance(wire.MaxSkew + time.Second)
				w.answered(w.sends(), numbered(8))
				w.keeps("1/8", "0/9")
				w.told("lower 8 after 9")
				w.answered(w.sends(), numbered(9)) // goes on from there, and is said once
				w.keeps("1/9", "0/9")
				w.told("lower 8 after 9")
				w.clock.Advance(wire.MaxSkew + time.Second)
				w.answered(w.sends(), numbered(1))
				w.keeps("2/1", "1/9", "0/9")
				w.told("lower 8 after 9", "lower 1 after 9")
			},
			"another one under a known number": func(w witnessed) {
				w.answered(w.sends(), numbered(9))
				w.answered(w.sends(), &wire.Head{N: 9, Seal: "another"})
				w.keeps("1/9", "0/9")
				w.told("another 9 after 9")
			},
			"the same again": func(w witnessed) {
				first, second := w.sends(), w.sends()
				w.answered(first, numbered(9))
				w.clock.Advance(time.Hour)
				w.answered(second, numbered(9))
				w.keeps("0/9")
				w.told()
			},
			"under the number of an earlier day": func(w witnessed) {
				w.answered(w.sends(), numbered(5))
				w.clock.Advance(24 * time.Hour)
				crossed := w.sends()
				w.answered(w.sends(), numbered(7))
				w.answered(crossed, &wire.Head{N: 5, Seal: "another"})
				w.keeps("1/5", "0/7", "0/5")
				w.told("another 5 after 7")
			},
			"the last of each day for thirty days": func(w witnessed) {
				for day := range int64(45) {
					w.answered(w.sends(), numbered(2*day+1))
					w.clock.Advance(time.Hour)
					w.answered(w.sends(), numbered(2*day+2))
					w.clock.Advance(23 * time.Hour)
				}
				want := make([]string, 0, 31)
				for day := 44; day >= 15; day-- {
					want = append(want, fmt.Sprintf("0/%d", 2*day+2))
				}
				w.keeps(append(want, "0/30")...)
				w.told()
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(newWitnessed(t, fresh))
			})
		}
	})
}

// TestShownHeads: who is handed the head of our log, and that an answer which is
// repeated is the same in every byte, its head among them.
func TestShownHeads(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		for name, test := range map[string]struct {
			change func(*coordination.Connection)
			wanted bool
			shown  bool
		}{
			"an active contact":                  {nil, true, true},
			"one whose node does not know heads": {nil, false, false},
			"one whose connection has ended":     {func(c *coordination.Connection) { c.Status = coordination.ConnRevoked }, true, false},
			"one whose node has another key":     {func(c *coordination.Connection) { c.KeyChanged = true }, true, false},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWitnessed(t, fresh)
				if test.change != nil {
					inTx(t, w.store, func(tx node.Tx) error {
						c, err := w.store.LockConnection(tx, "c1")
						if err == nil {
							from := c.Status
							test.change(&c)
							err = w.store.SaveConnection(tx, c, from)
						}
						return err
					})
				}
				var heads []wire.Head
				for i := range 3 {
					first, ack := w.comes(i, test.wanted)
					inTx(t, w.store, func(tx node.Tx) error { // the log goes on
						return audit.New(w.store, bytes.Repeat([]byte{1}, 32)).Append(tx, audit.Event{Type: audit.NodeStarted, Actor: node.Actor{Kind: node.ActorNode}})
					})
					again, _ := w.comes(i, test.wanted)
					if string(first) != string(again) {
						t.Errorf("repeated, the answer is another:\n%s\n%s", first, again)
					}
					if (ack.Head != nil) != test.shown {
						t.Fatalf("the head is %+v", ack.Head)
					}
					if ack.Head != nil {
						heads = append(heads, *ack.Head)
					}
				}
				w.agree(heads)
			})
		}
	})
}

// comes receives the contact's chat message with this number.
func (w witnessed) comes(i int, head bool) (signed []byte, ack wire.Ack) {
	w.t.Helper()
	now := w.clock.Now()
	e := wire.Envelope{
		V: 1, Iss: toldContact, Aud: "ana@ana.test", JTI: fmt.Sprintf("01890a5d-ac96-774b-bcce-b302099a80%02d", i),
		Iat: now.Unix(), Exp: now.Add(time.Hour).Unix(), Type: wire.Message,
	}
	inTx(w.t, w.store, func(tx node.Tx) (err error) {
		signed, err = w.coordination.Receive(tx, coordination.Incoming{
			Envelope: e, Inner: wire.Inner{Author: wire.AuthorAgent, Content: json.RawMessage(`{"text":"hello"}`)}, ConnectionID: "c1", Head: head,
		}, func(ack wire.Ack) ([]byte, error) { return json.Marshal(ack) })
		return err
	})
	if err := json.Unmarshal(signed, &ack); err != nil {
		w.t.Fatal(err)
	}
	return signed, ack
}

// agree compares the heads with the log; their numbers grow.
func (w witnessed) agree(heads []wire.Head) {
	w.t.Helper()
	held := make([]wire.HeldHead, len(heads))
	for i, h := range heads {
		held[i] = wire.HeldHead{Head: h}
		if i > 0 && h.N <= heads[i-1].N {
			w.t.Errorf("number %d comes after %d", h.N, heads[i-1].N)
		}
	}
	inTx(w.t, w.store, func(tx node.Tx) error {
		got, err := audit.New(w.store, bytes.Repeat([]byte{1}, 32)).Compare(tx, coordination.HeldHeads("c1", held))
		if want := audit.Agrees; len(heads) > 0 && (got.Verdict != want || got.AgreesTo.Position < 5) {
			w.t.Errorf("%+v", got)
		}
		if other, err := audit.New(w.store, bytes.Repeat([]byte{1}, 32)).Compare(tx, coordination.HeldHeads("c2", held)); err != nil || len(heads) > 0 && other.Verdict != audit.NotOurs {
			w.t.Errorf("on another connection: %+v, %v", other, err)
		}
		return err
	})
}
