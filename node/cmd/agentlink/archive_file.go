package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"agentlink/node/backup"
	"agentlink/node/seal"
)

// unfinished begins the name of an archive until it is whole.
const unfinished = ".agentlink-backup-"

// writeArchive makes the file under another name and gives it its own only when
// all of it is on the disk. It never replaces a file. What a backup into the same
// folder has left that was killed goes first.
func writeArchive(ctx context.Context, path string, key seal.ArchiveKey, from func(context.Context, io.Writer) (backup.Report, error)) (report backup.Report, err error) {
	folder := filepath.Dir(path)
	sweep(folder)
	file, err := newUnfinished(folder)
	if err != nil {
		return report, unsafe("The backup cannot be written: %v", err)
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name()), file.Close()) }()
	if report, err = encryptTo(ctx, file, key, from); err != nil {
		return report, err
	}
	if err := os.Link(file.Name(), path); errors.Is(err, fs.ErrExist) {
		return report, unsafe("There is already a file %s: name another.", path)
	} else if err != nil {
		return report, unsafe("The backup cannot be written: %v", err)
	}
	return report, syncFolder(folder)
}

// newUnfinished makes a file that is locked for as long as its writer lives, so
// that no other backup takes it for a left one. One that did so before the lock
// has removed it: then there is another try. Where files cannot be locked, none is
// ever taken for left.
func newUnfinished(folder string) (*os.File, error) {
	for {
		file, err := os.CreateTemp(folder, unfinished) // with mode 0600
		if err != nil {
			return nil, err
		}
		if err := lockNow(file); !errors.Is(err, syscall.EWOULDBLOCK) && stillThere(file) {
			return file, nil
		}
		_ = file.Close()
	}
}

func stillThere(file *os.File) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(file.Name())
	return err == nil && os.SameFile(opened, named)
}

// sweep removes unfinished files that nobody writes any more. One that cannot be
// removed is no reason for having no backup.
func sweep(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), unfinished) && entry.Type().IsRegular() {
			removeLeft(filepath.Join(folder, entry.Name()))
		}
	}
}

func removeLeft(name string) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	if lockNow(file) == nil {
		_ = os.Remove(name)
	}
}

// lockNow makes the file this process's alone, or fails at once. The kernel gives
// the lock up with the process, however that ends.
func lockNow(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

func encryptTo(ctx context.Context, file *os.File, key seal.ArchiveKey, from func(context.Context, io.Writer) (backup.Report, error)) (report backup.Report, err error) {
	archive, err := seal.NewArchive(file, key)
	if err != nil {
		return report, err
	}
	if report, err = from(ctx, archive); err != nil {
		return report, err
	}
	return report, errors.Join(archive.Close(), file.Sync())
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
