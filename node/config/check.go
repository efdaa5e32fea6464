package config

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agentlink/node"
)

// maxSocketPath is the shortest limit that systems have on a socket's path.
const maxSocketPath = 103

// Check refuses settings that are not safe, in one sentence that says what to
// set. It looks at the files that are named and changes nothing.
func (c Config) Check() error {
	for _, check := range []func(Config) error{
		Config.checkTLS, Config.checkListeners, Config.checkPublicURL, Config.checkDatabase, Config.checkDataDir, Config.checkMasterKey,
	} {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) checkTLS() error {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return refuse("a certificate needs its key and a key its certificate: set both %s and %s, or neither", TLSCertName, TLSKeyName)
	}
	if !c.TLS() {
		return nil
	}
	if info, err := os.Stat(c.TLSKey); err == nil && info.Mode().Perm()&0o007 != 0 {
		return refuse("others can read the key %s: run chmod 600 on it", c.TLSKey)
	}
	if _, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey); err != nil {
		return refuse("%s and %s cannot be used: %w", TLSCertName, TLSKeyName, err)
	}
	return nil
}

// checkListeners keeps tokens and envelopes' headers off the network in clear.
func (c Config) checkListeners() error {
	if c.PublicListen == c.Listen && !strings.HasSuffix(c.Listen, ":0") {
		return refuse("%s and %s are the same address: leave %s out, or give it another port", PublicListenName, ListenName, PublicListenName)
	}
	for _, listener := range []struct{ name, address string }{{ListenName, c.Listen}, {PublicListenName, c.PublicListen}} {
		if listener.address == "" || node.IsLoopback(listener.address) || c.TLS() || c.AllowPlainHTTP {
			continue
		}
		return refuse("%s is %q, which other machines reach without TLS: set %s and %s, or %s=true where something else encrypts",
			listener.name, listener.address, TLSCertName, TLSKeyName, AllowPlainHTTPName)
	}
	return nil
}

func (c Config) checkPublicURL() error {
	if c.PublicURL == "" && wildcard(strings.TrimPrefix(strings.TrimPrefix(c.URL(), "https://"), "http://")) {
		return refuse("the node listens on every address, which names none: set %s to the one that peers reach", PublicURLName)
	}
	if strings.HasPrefix(c.DashboardURL, "http://") && !node.IsLoopback(urlHost(c.DashboardURL)) && !c.AllowPlainHTTP {
		return refuse("%s is http: set it to https, or %s=true where something else encrypts", DashboardURLName, AllowPlainHTTPName)
	}
	if strings.HasPrefix(c.PublicURL, "http://") && !node.IsLoopback(c.Host()) && !c.AllowPlainHTTP {
		return refuse("%s is http: set it to https, or %s=true where something else encrypts", PublicURLName, AllowPlainHTTPName)
	}
	return nil
}

// checkDatabase keeps rows off the network in clear, and away from whoever
// answers in the server's place: PostgreSQL's own default falls back to no TLS.
func (c Config) checkDatabase() error {
	if c.AllowPlainHTTP || !c.Database.exposed() {
		return nil
	}
	return refuse("%s names a server on another machine: add sslmode=verify-full to it (and sslrootcert=FILE for an authority of your own), or set %s=true where something else encrypts",
		DatabaseURLName, AllowPlainHTTPName)
}

// checkDataDir accepts a folder that is not there yet.
func (c Config) checkDataDir() error {
	if len(c.SocketPath()) > maxSocketPath {
		return refuse("the data folder's path is too long for a socket in it: set %s to one of at most %d characters",
			DataDirName, maxSocketPath-len("/"+filepath.Base(c.SocketPath())))
	}
	info, err := os.Stat(c.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return refuse("the data folder cannot be used, set %s to another: %w", DataDirName, err)
	case !info.IsDir():
		return refuse("%s is not a folder: set %s to one", c.DataDir, DataDirName)
	case info.Mode().Perm()&0o077 != 0:
		return refuse("others can read the data folder %s: run chmod 700 on it, or set %s to another", c.DataDir, DataDirName)
	}
	return nil
}

// checkMasterKey repeats what seal.LoadMaster refuses, before anything is opened.
func (c Config) checkMasterKey() error {
	for _, file := range []struct{ name, path string }{{MasterKeyFileName, c.MasterKeyFile}, {MasterPassphraseFileName, c.MasterPassphraseFile}} {
		info, err := os.Stat(file.path)
		if file.path == "" || err != nil {
			continue // what is missing is for init to make, or for LoadMaster to miss
		}
		if info.Mode().Perm()&0o077 != 0 {
			return refuse("others can read %s: run chmod 600 on it, or set %s to another file", file.path, file.name)
		}
	}
	return nil
}

// MakeDataDir makes the data folder where it is missing, for its user alone.
func (c Config) MakeDataDir() error {
	if err := os.MkdirAll(filepath.Dir(c.DataDir), 0o755); err != nil {
		return refuse("the data folder cannot be made, set %s to another: %w", DataDirName, err)
	}
	if err := os.Mkdir(c.DataDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return refuse("the data folder cannot be made, set %s to another: %w", DataDirName, err)
	}
	return c.checkDataDir()
}
