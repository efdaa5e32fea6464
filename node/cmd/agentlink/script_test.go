package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agentlink/node/store/storetest"
)

// TestMain lets the scripts run this very program as agentlink, each call a
// process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"agentlink": main})
}

// TestScripts runs the command line as a person or a script does. Files that
// begin with postgres- need a PostgreSQL server.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runScript(t, file, strings.HasPrefix(name, "postgres-"))
		})
	}
}

func runScript(t *testing.T, file string, postgres bool) {
	t.Helper()
	database := ""
	if postgres {
		database = storetest.Postgres(t).URL
	}
	nodes := newNodes()
	t.Cleanup(nodes.killAll)
	testscript.Run(t, testscript.Params{
		Files:               []string{file},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TZ", "UTC")
			env.Setenv("POSTGRES", database)
			return os.WriteFile(filepath.Join(env.WorkDir, "password"), []byte("correct horse battery staple\n"), 0o600)
		},
		Cmds: nodes.commands(),
	})
}
