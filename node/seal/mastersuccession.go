package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// successorSuffix names the file of the key that is to follow.
const successorSuffix = ".new"

// Successor is where the key that is to follow the one at path waits until everything
// is sealed with it.
func Successor(path string) string { return path + successorSuffix }

// CreateSuccessor reads the master key at path, makes the one that is to follow it, and
// writes that to Successor(path), protected by the same passphrase where there is one.
func CreateSuccessor(path string, passphrase func() ([]byte, error)) (present, next Master, err error) {
	return createSuccessor(path, passphrase, workFactor)
}

func createSuccessor(path string, passphrase func() ([]byte, error), cost int) (present, next Master, err error) {
	var secret []byte // stays empty where the file is not protected
	present, err = LoadMaster(path, func() ([]byte, error) {
		if passphrase == nil {
			return nil, errors.New("none was given")
		}
		secret, err = passphrase()
		return secret, err
	})
	if err != nil {
		return Master{}, Master{}, err
	}
	next = present.Next()
	return present, next, next.save(Successor(path), secret, cost)
}

// HasSuccessor says whether a key waits to follow the one at path.
func HasSuccessor(path string) (bool, error) {
	_, err := os.Lstat(Successor(path))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// SettleSuccessor puts the waiting key in the place of the one at path, whose file is
// gone then.
func SettleSuccessor(path string) error {
	if err := os.Rename(Successor(path), path); err != nil {
		return fmt.Errorf("the new master key cannot take its place: %w", err)
	}
	return syncFolder(filepath.Dir(path))
}

// DropSuccessor removes the waiting key: nothing is sealed with it.
func DropSuccessor(path string) error {
	return errors.Join(os.Remove(Successor(path)), syncFolder(filepath.Dir(path)))
}
