package app

import (
	"os"
	"path/filepath"
	"testing"

	"agentlink/node/config"
)

func TestFolderHasOneProcess(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, err := lockFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := lockFolder(folder); err == nil {
		t.Errorf("locked twice: %v", second.release())
	}
	if err := first.release(); err != nil {
		t.Fatal(err)
	}
	again, err := lockFolder(folder)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if err := again.release(); err != nil {
		t.Error(err)
	}
}

func TestReadEpoch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		content *string
		want    int64
		wrong   bool
	}{
		{"never restored", nil, 1, false},
		{"restored", ptr("3\n"), 3, false},
		{"empty", ptr(""), 0, true},
		{"no number", ptr("three"), 0, true},
		{"set back", ptr("0"), 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if c.content != nil {
				if err := os.WriteFile(filepath.Join(folder, epochFile), []byte(*c.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := readEpoch(config.Config{MasterKeyFile: filepath.Join(folder, "master.key")})
			if got != c.want || (err != nil) != c.wrong {
				t.Errorf("epoch %d, %v; want %d", got, err, c.want)
			}
		})
	}
}

func ptr(text string) *string { return &text }
