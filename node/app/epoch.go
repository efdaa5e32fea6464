package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"agentlink/node"
	"agentlink/node/config"
	"agentlink/node/store"
)

// epochFile counts the restores of a node. It stands beside the master key and
// not in the database, which a restore sets back. A node that was never
// restored has none.
const epochFile = "restore-epoch"

const firstEpoch = 1

func readEpoch(settings config.Config) (int64, error) {
	return epochIn(filepath.Dir(settings.MasterKeyFile))
}

func epochIn(folder string) (int64, error) {
	path := filepath.Join(folder, epochFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return firstEpoch, nil
	}
	if err != nil {
		return 0, fmt.Errorf("the restore epoch cannot be read: %w", err)
	}
	epoch, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
	if err != nil || epoch < firstEpoch {
		return 0, fmt.Errorf("the file %s holds no restore epoch, a whole number from %d", path, firstEpoch)
	}
	return epoch, nil
}

// restoredName is the setting that remembers the last restore.
const restoredName = "restored"

// Restored is what a node remembers of the restore that it lives since.
type Restored struct {
	Epoch      int64     `json:"epoch"`
	At         time.Time `json:"at"`
	BackupFrom time.Time `json:"backupFrom"`
	// Whole is false until everything that a restore means has been done. A node
	// does not start on a database where it is not.
	Whole bool `json:"whole"`
}

// lastRestore is the zero value for a node that was never restored.
func lastRestore(tx node.Tx, s *store.Store) (restored Restored, err error) {
	raw, err := s.Setting(tx, restoredName)
	if node.CodeOf(err) == node.NotFound {
		return Restored{}, nil
	}
	if err != nil {
		return Restored{}, err
	}
	return restored, node.Wrap(json.Unmarshal(raw, &restored), "read when the node was restored")
}

func setRestored(tx node.Tx, s *store.Store, restored Restored) error {
	raw, err := json.Marshal(restored)
	if err != nil {
		return node.Wrap(err, "remember the restore")
	}
	return s.SetSetting(tx, restoredName, raw)
}

// epoch is the higher of what stands beside the master key and what the database
// remembers: whoever moves the key and forgets the file opens no old approval.
func (f *foundation) epoch(settings config.Config, restored Restored) (int64, error) {
	if !restored.Whole && restored.Epoch > 0 {
		return 0, errors.New("the restore into this database was cut off: empty the database and restore again")
	}
	epoch, err := readEpoch(settings)
	return max(epoch, restored.Epoch), err
}

// readRestore reads both from the database and the folder of the master key.
func (n *Node) readRestore() error {
	err := n.store.View(context.Background(), func(tx node.Tx) (err error) {
		n.restored, err = lastRestore(tx, n.store)
		return err
	})
	if err == nil {
		n.restoreEpoch, err = n.epoch(n.settings, n.restored)
	}
	return err
}
