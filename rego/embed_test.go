package rego_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentlink/rego"
)

func TestEveryRuleIsEmbeddedAndNoTestIs(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.rego")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no rules found: %v", err)
	}
	embedded := rego.Modules()
	rules := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.rego") {
			if _, found := embedded[path]; found {
				t.Errorf("%s is embedded, tests must not be", path)
			}
			continue
		}
		rules++
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if embedded[path] != string(source) {
			t.Errorf("%s is not embedded as it stands", path)
		}
	}
	if rules != len(embedded) {
		t.Errorf("%d rules stand here, %d are embedded", rules, len(embedded))
	}
}

func TestVersionIsAHash(t *testing.T) {
	t.Parallel()
	if version := rego.Version(); len(version) != 64 {
		t.Errorf("Version() = %q, want 64 hexadecimal characters", version)
	}
}
