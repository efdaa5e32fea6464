// Package vector reads public test vectors. They are no part of the repository:
// they lie beside it, in ../shared/vectors seen from the root.
package vector

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Dir is the folder of the vectors. Where it is missing the test is skipped in
// one line; under CI=true it fails.
func Dir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(root(t), "..", "shared", "vectors")
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the public test vectors are missing: %v", err)
		}
		t.Skip("skipped: the public test vectors are not beside this repository (../shared/vectors)")
	}
	return dir
}

// Read gives one file, by its path in the folder.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(Dir(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// JSON reads one file into a value.
func JSON(t testing.TB, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(Read(t, name), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// root is the folder of go.mod above the test.
func root(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			t.Fatal("there is no go.mod above the test")
		}
		folder = parent
	}
}
