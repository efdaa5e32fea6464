package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// durablePostgres starts a PostgreSQL of its own that syncs each commit, as the
// one of the tests does not, and ends it with the test.
func durablePostgres(t *testing.T) {
	t.Helper()
	script := func(verb string) string {
		command := exec.Command(filepath.Join(root, ".ci/postgres"), verb)
		command.Env = append(os.Environ(), "AGENTLINK_POSTGRES_STATE=.postgres-durable", "AGENTLINK_POSTGRES_FSYNC=on")
		command.Stderr = os.Stderr
		output, err := command.Output()
		if err != nil {
			t.Fatalf(".ci/postgres %s: %v", verb, err)
		}
		return string(output)
	}
	t.Cleanup(func() { script("stop") })
	_, address, found := strings.Cut(script("start"), "='")
	if !found {
		t.Fatal(".ci/postgres start gives no address")
	}
	t.Setenv("AGENTLINK_TEST_DATABASE_URL", strings.TrimSuffix(strings.TrimSpace(address), "'"))
}
