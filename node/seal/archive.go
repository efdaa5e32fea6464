package seal

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
)

// ArchiveKey opens or closes an archive: an age recipient (age1…) to write, an
// age identity (AGE-SECRET-KEY-1…) to read, or a passphrase for both. Exactly one
// of those that count is set.
type ArchiveKey struct {
	Recipient  string
	Identity   string
	Passphrase []byte
}

// NewArchive writes an age file around what is written to it. Close ends it; a
// file without its end does not open.
func NewArchive(w io.Writer, key ArchiveKey) (io.WriteCloser, error) {
	recipient, err := key.recipient()
	if err != nil {
		return nil, err
	}
	out, err := age.Encrypt(w, recipient)
	if err != nil {
		return nil, fmt.Errorf("encrypt the archive: %w", err)
	}
	return out, nil
}

// OpenArchive reads what NewArchive wrote. What it gives is authentic, piece by
// piece; that the end is there is known only at io.EOF.
func OpenArchive(r io.Reader, key ArchiveKey) (io.Reader, error) {
	identity, err := key.identity()
	if err != nil {
		return nil, err
	}
	content, err := age.Decrypt(r, identity)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotOpened, err)
	}
	return content, nil
}

func (k ArchiveKey) recipient() (age.Recipient, error) {
	if k.Recipient != "" {
		if !ValidRecipient(k.Recipient) {
			return nil, errors.New("this is not an age recipient that can be sealed for; it begins with age1")
		}
		return age.ParseX25519Recipient(k.Recipient)
	}
	recipient, err := age.NewScryptRecipient(string(k.Passphrase))
	if err != nil {
		return nil, errors.New("the passphrase is empty")
	}
	recipient.SetWorkFactor(workFactor)
	return recipient, nil
}

func (k ArchiveKey) identity() (age.Identity, error) {
	if k.Identity != "" {
		return identityIn(k.Identity)
	}
	identity, err := scryptIdentity(k.Passphrase)
	if err != nil {
		return nil, errors.New("the passphrase is empty")
	}
	return identity, nil
}

// identityIn finds the identity in the text of a file that age-keygen wrote, where
// lines that begin with # are comments. age's error is dropped: it could quote the
// key.
func identityIn(text string) (age.Identity, error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if key, err := age.ParseX25519Identity(line); err == nil {
			return key, nil
		}
		break
	}
	return nil, errors.New("this is no file with an age identity; its line begins with AGE-SECRET-KEY-1")
}
