// Package simulation runs two owners' nodes in one thread: the real services on
// their real statements (SQLite in memory), under a fake clock, a fake network
// and processes that die between transactions. A seed decides everything that
// happens, so a failing one replays with
//
//	AGENTLINK_SIM_SEED=… go test -run TestSimulation -v ./node/simulation
//
// What it proves: the two copies of a task agree or both say that they do not,
// an action runs at most once, nothing waits for ever, and the logs are whole.
package simulation
