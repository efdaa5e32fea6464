package hookup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Change is what became of a file.
type Change string

// The changes.
const (
	Added     Change = "added"
	Replaced  Change = "replaced"
	Removed   Change = "removed"
	Unchanged Change = "unchanged" // it was so already
)

// Written tells what was done to a file.
type Written struct {
	File   string `json:"file"`
	Change Change `json:"change"`
	// Backup is the file as it was, where it was changed.
	Backup string `json:"backup,omitempty"`
}

// ByHand says why a file is left as it is, and what a person has to put into it.
type ByHand struct {
	File, Reason string
	Lines        string // "" where something is to be taken out
}

// Error implements error.
func (b *ByHand) Error() string {
	text := b.File + " " + b.Reason + "; it was left as it is."
	if b.Lines == "" {
		return text + " Take the server out by hand."
	}
	return text + " Put this into it by hand:\n\n" + b.Lines
}

// Add puts a server into the client's file. What is not ours stays as it is. A
// file that cannot be changed safely is left: *ByHand.
func (c Client) Add(file string, s Server, now time.Time) (Written, error) {
	written, err := edit(file, now, func(content []byte) ([]byte, Change, error) {
		if c.format == asTOML {
			return c.addTOML(content, s)
		}
		return c.addJSON(content, s)
	})
	return written, byHand(err, file, c.Lines(s))
}

// Remove takes a server out of the client's file.
func (c Client) Remove(file, name string, now time.Time) (Written, error) {
	written, err := edit(file, now, func(content []byte) ([]byte, Change, error) {
		if c.format == asTOML {
			return c.removeTOML(content, name)
		}
		return c.removeJSON(content, name)
	})
	return written, byHand(err, file, "")
}

// leave is the reason why a file is not changed.
type leave string

func (l leave) Error() string { return string(l) }

func byHand(err error, file, lines string) error {
	var reason leave
	if errors.As(err, &reason) {
		return &ByHand{File: file, Reason: string(reason), Lines: lines}
	}
	return err
}

// edit changes a file as a whole or not at all, and keeps the old one beside it.
// A link stays one: what it leads to is changed.
func edit(file string, now time.Time, change func([]byte) ([]byte, Change, error)) (Written, error) {
	written := Written{File: file, Change: Unchanged}
	target, err := filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		target, err = file, nil
	}
	if err != nil {
		return written, fmt.Errorf("find %s: %w", file, err)
	}
	old, mode, err := read(target)
	if err != nil {
		return written, err
	}
	content, what, err := change(old)
	if err != nil || what == Unchanged {
		return written, err
	}
	if old != nil {
		if written.Backup, err = backUp(target, old, mode, now); err != nil {
			return written, err
		}
	}
	written.Change = what
	return written, replace(target, old, content, mode)
}

// read gives nil for a file that is not there, and the mode that it is to have.
func read(file string) ([]byte, fs.FileMode, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the settings: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, 0, fmt.Errorf("read the settings: %w", err)
	}
	if content == nil {
		content = []byte{}
	}
	return content, info.Mode().Perm(), nil
}

// backUp never overwrites an older copy.
func backUp(file string, content []byte, mode fs.FileMode, now time.Time) (string, error) {
	name := file + ".bak-" + now.UTC().Format("20060102T150405Z")
	for i := 2; ; i++ {
		copied, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if errors.Is(err, fs.ErrExist) {
			base, _, _ := strings.Cut(name, "Z-")
			name = fmt.Sprintf("%sZ-%d", strings.TrimSuffix(base, "Z"), i)
			continue
		}
		if err != nil {
			return "", fmt.Errorf("keep a copy of the settings: %w", err)
		}
		return name, errors.Join(fill(copied, content, mode), copied.Close())
	}
}

func fill(file *os.File, content []byte, mode fs.FileMode) error {
	if _, err := file.Write(content); err != nil {
		return err
	}
	if err := file.Chmod(mode); err != nil {
		return err
	}
	return file.Sync()
}

var errBusy = leave("was changed by somebody else just now")

// replace puts the content into the file's place at once, unless somebody else
// changed the file since it was read: old.
func replace(file string, old, content []byte, mode fs.FileMode) error {
	folder := filepath.Dir(file)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the folder of the settings: %w", err)
	}
	fresh, err := os.CreateTemp(folder, ".agentlink-*")
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	defer os.Remove(fresh.Name()) // gone already where all went well
	if err := errors.Join(fill(fresh, content, mode), fresh.Close()); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	if now, _, err := read(file); err != nil || !bytes.Equal(now, old) {
		return errors.Join(err, errBusy)
	}
	if err := os.Rename(fresh.Name(), file); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	return nil
}

// StoreKey keeps a key where only its user can read it, and says whether that
// changed anything.
func StoreKey(file, key string) (Change, error) {
	old, _, err := read(file)
	if err != nil {
		return Unchanged, err
	}
	if string(bytes.TrimSpace(old)) == key {
		return Unchanged, os.Chmod(file, 0o600)
	}
	if err := replace(file, old, []byte(key+"\n"), 0o600); err != nil {
		return Unchanged, fmt.Errorf("keep the key: %w", err)
	}
	if old == nil {
		return Added, nil
	}
	return Replaced, nil
}
