package simulation

import (
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// TestExpiryIsSteady: a step looks at 50 tasks, 50 messages and 500 kept answers, says
// whether there may be more, and the log has each task once.
func TestExpiryIsSteady(t *testing.T) {
	const step, answers = 50, 500
	for name, test := range map[string]struct {
		tasks, chats, answers int
		more                  []bool
	}{
		"nothing":            {0, 0, 0, []bool{false}},
		"fewer":              {step - 1, 0, 0, []bool{false, false}},
		"a step of tasks":    {step, 0, 0, []bool{true, false}},
		"more tasks":         {step + 1, 0, 0, []bool{true, false}},
		"a step of messages": {0, step, 0, []bool{true, false}},
		"more messages":      {0, 2 * step, 0, []bool{true, true, false}},
		"a step of answers":  {0, 0, answers, []bool{true, false}},
		"fewer answers":      {0, 0, answers - 1, []bool{false, false}},
		"fewer messages":     {0, step - 1, 0, []bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			for range test.tasks {
				p.start(nil)
			}
			for range test.chats {
				p.says(p.a)
			}
			p.a.in(t, func(tx node.Tx) (err error) {
				for i := 0; i < test.answers && err == nil; i++ {
					err = p.a.store.KeepAck(tx, p.a.agent.ID, p.a.ids.New(), p.b.address(), []byte("signed"), tx.Now())
				}
				return err
			})
			p.clock.Advance(30 * 24 * time.Hour)
			for i, want := range test.more {
				more, err := p.a.coordination.ExpireStep(t.Context())
				if err != nil || more != want {
					t.Errorf("step %d: more %v, %v", i+1, more, err)
				}
			}
			if got := p.events(p.a, audit.TaskExpired, ""); got != test.tasks {
				t.Errorf("the log says of %d tasks that they expired", got)
			}
			if left := p.queued(p.a); len(left) != 0 {
				t.Errorf("%d messages are still queued", len(left))
			}
		})
	}
}
