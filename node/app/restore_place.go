package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"agentlink/node/config"
)

// The files of a data folder that a restore makes.
const (
	databaseFile  = "node.db"
	masterKeyFile = "master.key"
)

// stagingFolder lies in a data folder while a restore fills it. No node starts
// beside it.
const stagingFolder = ".restoring"

// place is the data folder of a restore.
type place struct {
	folder string
	lock   *lock
}

// takePlace makes the folder, or takes an empty one, or one that a restore which
// was cut off has left. Nothing else is ever touched.
func takePlace(settings config.Config) (*place, error) {
	if path, isFile := settings.Database.Path(); isFile && path != filepath.Join(settings.DataDir, databaseFile) {
		return nil, fmt.Errorf("a restore puts an SQLite database into the data folder: leave %s out", config.DatabaseURLName)
	}
	if err := settings.MakeDataDir(); err != nil {
		return nil, err
	}
	p := &place{folder: settings.DataDir}
	if err := p.free(); err != nil {
		return nil, err
	}
	var err error
	if p.lock, err = lockFolder(p.folder); err != nil {
		return nil, err
	}
	if err := errors.Join(p.free(), p.sweep(), os.Mkdir(p.staged(""), 0o700), syncFolder(p.folder)); err != nil {
		return nil, errors.Join(err, p.lock.release())
	}
	return p, nil
}

func (p *place) staged(name string) string { return filepath.Join(p.folder, stagingFolder, name) }

// free refuses a folder with anything in it that is not a restore's.
func (p *place) free() error {
	entries, err := os.ReadDir(p.folder)
	if err != nil {
		return fmt.Errorf("the data folder cannot be read: %w", err)
	}
	ours := []string{"lock"}
	if _, err := os.Lstat(p.staged("")); err == nil {
		ours = append(ours, stagingFolder, databaseFile, masterKeyFile, epochFile)
	}
	for _, entry := range entries {
		if !slices.Contains(ours, entry.Name()) {
			return fmt.Errorf("the data folder %s is not empty: a restore needs a new one", p.folder)
		}
	}
	return nil
}

// sweep removes what a restore that was cut off has left. The staging folder goes
// last: it is what says that the rest may go.
func (p *place) sweep() error {
	if _, err := os.Lstat(p.staged("")); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, name := range []string{databaseFile, masterKeyFile, epochFile} {
		if err := os.Remove(filepath.Join(p.folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return errors.Join(syncFolder(p.folder), os.RemoveAll(p.staged("")))
}

// giveUp leaves the folder as it was, but for its lock.
func (p *place) giveUp() error { return p.sweep() }

// settle puts everything in its place. The staging folder goes last.
func (p *place) settle(key []byte, epoch int64) error {
	if err := writeSynced(p.staged(epochFile), []byte(strconv.FormatInt(epoch, 10)+"\n")); err != nil {
		return err
	}
	if err := writeSynced(p.staged(masterKeyFile), key); err != nil {
		return err
	}
	names := []string{epochFile, masterKeyFile}
	if _, err := os.Stat(p.staged(databaseFile)); err == nil {
		names = append(names, databaseFile)
	}
	for _, name := range names {
		if err := os.Rename(p.staged(name), filepath.Join(p.folder, name)); err != nil {
			return err
		}
	}
	return errors.Join(syncFolder(p.folder), os.Remove(p.staged("")), syncFolder(p.folder))
}

func writeSynced(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// refuseHalf keeps a node out of a folder that a restore has not finished.
func refuseHalf(folder string) error {
	if _, err := os.Lstat(filepath.Join(folder, stagingFolder)); err == nil {
		return fmt.Errorf("a restore into %s was cut off: run it again", folder)
	}
	return nil
}
