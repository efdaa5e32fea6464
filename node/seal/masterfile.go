package seal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"filippo.io/age"
)

// The file of a master key holds one line, masterPrefix and 43 characters of
// base64url, and where that key has followed another a second line, firstPrefix and the
// node's first key. With a passphrase the file is an age file whose content they are.
const (
	masterPrefix   = "agentlink-master-key-1:"
	firstPrefix    = "agentlink-first-key-1:"
	ageFirstLine   = "age-encryption.org/v1\n"
	maxPrivateFile = 4 << 10
)

// The cost of a passphrase, as log2 of scrypt's N: 17 takes 128 MiB and about half
// a second at each start. Files that were protected elsewhere may ask for eight
// times that.
const (
	workFactor    = 17
	maxWorkFactor = 20
)

// CreateMaster makes a master key and writes it to a new file with mode 0600,
// protected by the passphrase unless that is empty. A file that exists is never
// touched.
func CreateMaster(path string, passphrase []byte) (Master, error) {
	return createMaster(path, passphrase, workFactor)
}

func createMaster(path string, passphrase []byte, cost int) (Master, error) {
	master := NewMaster()
	return master, master.save(path, passphrase, cost)
}

func (m Master) save(path string, passphrase []byte, cost int) error {
	content, err := m.marshal(passphrase, cost)
	if err != nil {
		return err
	}
	err = writeNew(path, content)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("there is already a master key at %s", path)
	}
	if err != nil {
		return fmt.Errorf("the master key cannot be written: %w", err)
	}
	return nil
}

// LoadMaster reads the master key of a file. passphrase is called only where the
// file is protected by one; it may be nil. Every error is one sentence for the
// person who starts the node.
func LoadMaster(path string, passphrase func() ([]byte, error)) (Master, error) {
	content, err := ReadPrivate(path, "master key")
	if errors.Is(err, fs.ErrNotExist) {
		return Master{}, fmt.Errorf("%w: run agentlink init, or name the file with AGENTLINK_MASTER_KEY_FILE", err)
	}
	if err != nil {
		return Master{}, err
	}
	if bytes.HasPrefix(content, []byte(ageFirstLine)) {
		if content, err = withPassphrase(path, content, passphrase); err != nil {
			return Master{}, err
		}
	}
	master, ok := parseMaster(string(content))
	if !ok {
		return Master{}, fmt.Errorf("the file %s holds no master key", path)
	}
	return master, nil
}

func (m Master) marshal(passphrase []byte, cost int) ([]byte, error) {
	lines := []byte(keyLine(masterPrefix, m.key))
	if m.first != nil {
		lines = append(lines, keyLine(firstPrefix, m.first)...)
	}
	if len(passphrase) == 0 {
		return lines, nil
	}
	recipient, err := age.NewScryptRecipient(string(passphrase))
	if err != nil {
		return nil, fmt.Errorf("protect the master key: %w", err)
	}
	recipient.SetWorkFactor(cost)
	defer debug.FreeOSMemory()
	return encrypt(recipient, lines)
}

func keyLine(prefix string, key []byte) string {
	return prefix + base64.RawURLEncoding.EncodeToString(key) + "\n"
}

func parseMaster(text string) (Master, bool) {
	line, second, followed := strings.Cut(strings.TrimSuffix(text, "\n"), "\n")
	key, ok := parseKeyLine(masterPrefix, line)
	if !ok || !followed {
		return Master{key: key}, ok
	}
	first, ok := parseKeyLine(firstPrefix, second)
	return Master{key: key, first: first}, ok
}

func parseKeyLine(prefix, line string) ([]byte, bool) {
	encoded, found := strings.CutPrefix(line, prefix)
	if !found || len(encoded) != base64.RawURLEncoding.EncodedLen(masterSize) {
		return nil, false
	}
	key, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	return key, err == nil && len(key) == masterSize
}

func withPassphrase(path string, sealed []byte, passphrase func() ([]byte, error)) ([]byte, error) {
	if passphrase == nil {
		return nil, fmt.Errorf("the master key %s is protected by a passphrase, and none was given", path)
	}
	secret, err := passphrase()
	if err != nil {
		return nil, fmt.Errorf("the passphrase of the master key cannot be read: %w", err)
	}
	identity, err := scryptIdentity(secret)
	if err != nil {
		return nil, fmt.Errorf("the passphrase of the master key %s is empty", path)
	}
	defer debug.FreeOSMemory() // scrypt's memory would otherwise stay for minutes
	line, err := decrypt(identity, sealed, maxPrivateFile)
	if err != nil {
		return nil, fmt.Errorf("the passphrase does not open the master key %s", path)
	}
	return line, nil
}

func scryptIdentity(passphrase []byte) (age.Identity, error) {
	identity, err := age.NewScryptIdentity(string(passphrase))
	if err != nil {
		return nil, err
	}
	identity.SetMaxWorkFactor(maxWorkFactor)
	return identity, nil
}

// ReadPrivate reads a small regular file that nobody but its user can read:
// a key, a password. what names it in errors, which are one sentence each. The
// mode is asked of the open file, so that it cannot be another one by then.
func ReadPrivate(path, what string) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &missing{what: what, path: path}
	}
	if err != nil {
		return nil, fmt.Errorf("the %s cannot be read: %w", what, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("the %s cannot be read: %w", what, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the %s %s is not a regular file", what, path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others can read the %s %s: run chmod 600 on it", what, path)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxPrivateFile+1))
	if err != nil {
		return nil, fmt.Errorf("the %s cannot be read: %w", what, err)
	}
	if len(content) > maxPrivateFile {
		return nil, fmt.Errorf("the %s %s is larger than %d bytes", what, path, maxPrivateFile)
	}
	return content, nil
}

// missing is fs.ErrNotExist in a sentence of ours.
type missing struct{ what, path string }

func (m *missing) Error() string        { return fmt.Sprintf("there is no %s at %s", m.what, m.path) }
func (m *missing) Is(target error) bool { return target == fs.ErrNotExist }

// writeNew writes a file that must not exist yet, and returns once file and
// name are on the disk. What it began and could not finish it removes.
func writeNew(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(0o600), file.Sync(), file.Close())
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
