package seal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMasterKeys(t *testing.T) {
	t.Parallel()
	one, two := NewMaster(), NewMaster()
	seen := map[string]string{}
	for _, use := range []Use{UseRows, UseRowMAC, UseApproval, UseTokens, UseAudit, UseCursor, UseSessions, UseSearch} {
		for name, master := range map[string]Master{"one": one, "two": two} {
			key := master.Key(use)
			if len(key) != 32 || !bytes.Equal(key, master.Key(use)) {
				t.Errorf("%s: %d bytes, or not the same twice", use, len(key))
			}
			if other := seen[string(key)]; other != "" {
				t.Errorf("%s of %s is also %s", use, name, other)
			}
			seen[string(key)] = fmt.Sprint(use, " of ", name)
		}
	}
}

// The labels are part of the format of every database: a golden, so that no one
// changes them by accident.
func TestMasterKeysAreStable(t *testing.T) {
	t.Parallel()
	master := Master{key: bytes.Repeat([]byte{7}, masterSize)}
	if got, want := fmt.Sprintf("%x", master.Key(UseRows)), "52349d9eb9a176b6dfa32cbfa102f3dcd88062a5c99409b210fa86a5ace8a4c3"; got != want {
		t.Errorf("rows: %s, want %s", got, want)
	}
	if got, want := NewBox(master.Key(UseRows)).Lookup("address", "ada@example.org"), "cee2584c1d8664fb33a9e65adf64a29fe953c4928cf4922a4888bfb482f59089"; got != want {
		t.Errorf("lookup: %s, want %s", got, want)
	}
}

func TestMasterNeverShows(t *testing.T) {
	t.Parallel()
	master := Master{key: []byte("0123456789abcdef0123456789abcdef")}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("start", "master", master, "all", struct{ M Master }{master})
	asJSON, err := json.Marshal(struct{ M Master }{master})
	if err != nil {
		t.Fatal(err)
	}
	shown := fmt.Sprintf("%v %+v %#v %s %v %+v %s %s", master, master, master, master, &master, struct{ M Master }{master}, log.String(), asJSON)
	for _, part := range []string{"0123456789abcdef", "48 49 50", "0x30, 0x31", "30313233"} {
		if strings.Contains(shown, part) {
			t.Errorf("%q shows in %s", part, shown)
		}
	}
}

func TestMasterUnmadePanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a Master that nobody made gives keys")
		}
	}()
	Master{}.Key(UseRows)
}

func phrase(text string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(text), nil }
}

func TestMasterFile(t *testing.T) {
	t.Parallel()
	for name, passphrase := range map[string]string{"plain": "", "with a passphrase": "correct horse battery"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "master.key")
			made, err := CreateMaster(path, []byte(passphrase))
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode() != 0o600 {
				t.Fatalf("%v, %v", info.Mode(), err)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if protected := !bytes.HasPrefix(content, []byte(masterPrefix)); protected != (passphrase != "") {
				t.Errorf("the file begins with %.30q", content)
			}
			loaded, err := LoadMaster(path, phrase(passphrase))
			if err != nil || !bytes.Equal(loaded.key, made.key) {
				t.Errorf("loaded another key, or %v", err)
			}
			if _, err := CreateMaster(path, nil); err == nil || !strings.Contains(err.Error(), "already") {
				t.Errorf("a second time: %v", err)
			}
			if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, content) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestMasterFilePassphrase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	if _, err := createMaster(path, []byte("correct horse battery"), 10); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		ask  func() ([]byte, error)
		want string
	}{
		"none":   {nil, "is protected by a passphrase, and none was given"},
		"empty":  {phrase(""), "is empty"},
		"wrong":  {phrase("correct horse batterx"), "does not open"},
		"no tty": {func() ([]byte, error) { return nil, errors.New("no terminal") }, "cannot be read: no terminal"},
	} {
		if _, err := LoadMaster(path, test.ask); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "horse") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMasterFileRefusals(t *testing.T) {
	t.Parallel()
	line := masterPrefix + strings.Repeat("A", 43) + "\n"
	write := func(content string, mode fs.FileMode) string {
		path := filepath.Join(t.TempDir(), "master.key")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := LoadMaster(write(line, 0o400), nil); err != nil {
		t.Errorf("mode 0400: %v", err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o644, 0o660, 0o606, 0o610, 0o601, 0o620, 0o602, 0o666} {
		if _, err := LoadMaster(write(line, mode), nil); err == nil || !strings.Contains(err.Error(), "run chmod 600") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	for name, content := range map[string]string{
		"empty": "", "only the prefix": masterPrefix, "short": line[:len(line)-2], "long": strings.TrimSuffix(line, "\n") + "A\n",
		"two lines": line + line, "a first key that is none": line + firstPrefix + "\n", "the first key first": keyLine(firstPrefix, make([]byte, 32)) + line,
		"three lines": line + keyLine(firstPrefix, make([]byte, 32)) + line, "space before": " " + line, "return": strings.TrimSuffix(line, "\n") + "\r\n", "other base64": strings.Replace(line, "A", "+", 1),
		"loose bits": strings.TrimSuffix(line, "A\n") + "B\n", "line break inside": line[:40] + "\n" + line[41:], "padding": strings.TrimSuffix(line, "A\n") + "=\n",
		"other version": strings.Replace(line, "-1:", "-2:", 1), "huge": line + strings.Repeat("\n", 1<<20), "raw": strings.Repeat("k", 32),
		"broken age file": ageFirstLine + "-> scrypt x\n",
	} {
		if _, err := LoadMaster(write(content, 0o600), phrase("x")); err == nil || strings.Contains(err.Error(), "AAAAAA") {
			t.Errorf("%s: %v", name, err)
		}
	}
	missing := filepath.Join(t.TempDir(), "none")
	if _, err := LoadMaster(missing, nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "agentlink init") {
		t.Errorf("missing: %v", err)
	}
	if _, err := LoadMaster(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := CreateMaster(filepath.Join(missing, "deeper"), nil); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("no folder: %v", err)
	}
}

// The file names the cost of its own opening: one that asks for the memory of
// the whole machine is refused unread.
func TestMasterFileCostIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	if _, err := createMaster(path, []byte("x"), 10); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	costly := bytes.Replace(content, []byte(" 10\n"), []byte(fmt.Sprintf(" %d\n", maxWorkFactor+1)), 1)
	if bytes.Equal(costly, content) {
		t.Fatalf("no cost in %.80q", content)
	}
	identity, err := scryptIdentity([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decrypt(identity, costly, maxPrivateFile); err == nil || !strings.Contains(err.Error(), "work factor") {
		t.Errorf("%v", err)
	}
}

func TestWriteNewFollowsNoLink(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "key")
	if err := os.Symlink(filepath.Join(folder, "elsewhere"), path); err != nil {
		t.Fatal(err)
	}
	if err := writeNew(path, []byte("secret")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("through a dangling link: %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "elsewhere")); err == nil {
		t.Error("it wrote through the link")
	}
}
