package simulation

import (
	"fmt"
	"testing"

	"agentlink/node/store/storetest"
)

// postgresSeeds is how many seeds run on PostgreSQL, perWorld of them one after
// the other on the same two databases.
const (
	postgresSeeds = 300
	perWorld      = 25
)

// TestSimulationOnPostgres runs the same histories on the real statements of
// PostgreSQL.
func TestSimulationOnPostgres(t *testing.T) {
	t.Parallel()
	storetest.RequirePostgres(t)
	if raceDetector {
		t.Skip("runs without -race: make sim")
	}
	count := asked(t, "AGENTLINK_SIM_POSTGRES_SEEDS", postgresSeeds)
	for first := 0; first < count; first += perWorld {
		t.Run(fmt.Sprintf("%d-%d", first+1, min(first+perWorld, count)), func(t *testing.T) {
			t.Parallel()
			w := newPostgresWorld(t)
			for seed := first; seed < min(first+perWorld, count); seed++ {
				w.run(t, firstSeed+uint64(seed))
			}
		})
	}
}

func newPostgresWorld(t *testing.T) *world {
	t.Helper()
	clock := newClock()
	return &world{clock: clock, disks: [2]*disk{
		newCluster(t, "ana.test").replica(t, clock), newCluster(t, "ben.test").replica(t, clock),
	}}
}
