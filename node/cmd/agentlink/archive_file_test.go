package main

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentlink/node/seal"
)

// TestBackupKilled kills the program at 20 moments of a backup: there is never a
// file of the archive's name that is not a whole archive, and the next backup
// takes away what the killed ones left.
func TestBackupKilled(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	identity, recipient := seal.NewKeyPair()
	password, opens := write("password", "correct horse battery staple\n"), write("age.key", identity+"\n")
	data, archive := filepath.Join(folder, "ada"), filepath.Join(folder, "one.age")
	agentlink := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), "agentlink", args...)
		c.Env = append(os.Environ(), "HOME="+folder)
		return c
	}
	run := func(c *exec.Cmd) {
		t.Helper()
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c.Args[1:], err, out)
		}
	}
	run(agentlink("init", "--data", data, "--name", "Ada", "--password-file", password, "--handle", "scout"))

	backup := func(to string) *exec.Cmd {
		return agentlink("backup", to, "--data", data, "--recipient", recipient)
	}
	begin := time.Now()
	run(backup(filepath.Join(folder, "whole.age")))
	usual := time.Since(begin)
	whole, left := 0, 0
	for range 20 {
		killed := killAfter(t, backup(archive), rand.N(usual*5/4))
		left = max(left, len(unfinishedIn(t, folder)))
		switch _, err := os.Stat(archive); {
		case err == nil:
			run(agentlink("restore", "--verify", archive, "--data", data, "--identity-file", opens))
			if err := os.Remove(archive); err != nil {
				t.Fatal(err)
			}
			whole++
		case !errors.Is(err, fs.ErrNotExist) || !killed:
			t.Fatalf("killed: %t, and the archive: %v", killed, err)
		}
	}
	run(backup(archive))
	if names := unfinishedIn(t, folder); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
	t.Logf("of 20 backups that were killed within %s, %d were whole; up to %d unfinished file(s) lay there", usual, whole, left)
}

// killAfter starts a program and kills it, and says whether it was still there.
func killAfter(t *testing.T, c *exec.Cmd, d time.Duration) bool {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	_ = c.Process.Signal(syscall.SIGKILL)
	var exit *exec.ExitError
	err := c.Wait()
	return errors.As(err, &exit) && !exit.Exited()
}

func unfinishedIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinished) {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestSweepLeavesTheLiving: what another backup writes at this moment stays.
func TestSweepLeavesTheLiving(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	living, err := newUnfinished(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	if err := os.WriteFile(filepath.Join(folder, unfinished+"dead"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	sweep(folder)
	if names := unfinishedIn(t, folder); len(names) != 1 || filepath.Join(folder, names[0]) != living.Name() {
		t.Errorf("left: %v, want that of the living one alone", names)
	}
}
