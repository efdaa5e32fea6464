package dashboard_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/policy"
)

// How much a node has that has been used for years.
const (
	benchWaiting = 1_000
	benchPast    = 100_000
	benchAgents  = 20
)

// crowd is a node with much that waits and more that is past.
func crowd(b *testing.B) *bundle {
	b.Helper()
	n := newBundle(b)
	var agents []policy.Agent
	for i := range benchAgents {
		agents = append(agents, n.agent(fmt.Sprintf("agent%d", i), policy.Assisted))
	}
	for done := 0; done < benchPast; {
		n.in(func(tx node.Tx) error {
			for range 500 {
				agent := agents[done%benchAgents]
				if err := n.decided(tx, agent, done); err != nil {
					return err
				}
				done++
			}
			return nil
		})
		n.clock.Advance(time.Minute)
	}
	n.in(func(tx node.Tx) error {
		for i := range benchWaiting {
			if _, err := n.booking(tx, agents[i%benchAgents], benchPast+i); err != nil {
				return err
			}
		}
		return nil
	})
	return n
}

// booking asks for an approval of its own.
func (b *bundle) booking(tx node.Tx, agent policy.Agent, number int) (approvals.Approval, error) {
	parameters, err := json.Marshal(map[string]any{
		"venue": fmt.Sprintf("Da Piero %d", number), "date": "2026-05-09", "time": "19:30", "timezone": "Europe/Rome", "partySize": 2,
	})
	if err != nil {
		return approvals.Approval{}, err
	}
	return b.approvals.Request(tx, b.actor(agent), approvals.Request{
		AgentID: agent.ID, OwnerID: agent.OwnerID, Kind: approvals.Action, Action: "reservation.book", Parameters: parameters,
		Held: map[string]string{"action.reservation.book": string(policy.ModeNotAutonomous)},
	})
}

func (b *bundle) decided(tx node.Tx, agent policy.Agent, number int) error {
	asked, err := b.booking(tx, agent, number)
	if err != nil {
		return err
	}
	_, err = b.approvals.Decide(tx, b.owner, approvals.Decision{ID: asked.ID, Hash: asked.Hash})
	return err
}

// BenchmarkHome is the first page of such a node; p95 is in milliseconds.
func BenchmarkHome(b *testing.B) {
	n := crowd(b)
	for _, path := range []string{"/", "/approvals", "/approvals?status=rejected", "/part/waiting"} {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				begun := time.Now()
				n.get(path).want(http.StatusOK)
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}
