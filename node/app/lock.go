package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock keeps the data folder for this process alone. The kernel gives it up
// with the process, however that ends.
type lock struct{ file *os.File }

func lockFolder(folder string) (*lock, error) {
	file, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data folder cannot be used: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return &lock{file: file}, nil
	}
	file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("another process uses the data folder %s: stop it, or name another folder", folder)
	}
	return nil, fmt.Errorf("the data folder %s cannot be locked: %w", folder, err)
}

// release is called last: nothing of the folder may be used after it.
func (l *lock) release() error { return l.file.Close() }
