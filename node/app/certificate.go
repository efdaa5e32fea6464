package app

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"agentlink/node"
)

// certificate is read again when its file has changed, so that a renewed one
// needs no restart.
type certificate struct {
	certFile, keyFile string
	clock             node.Clock
	log               *slog.Logger

	mu       sync.Mutex
	loaded   tls.Certificate
	modified time.Time
	looked   time.Time
}

// lookAgain is how often the file is looked at.
const lookAgain = time.Minute

func newCertificate(certFile, keyFile string, clock node.Clock, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, clock: clock, log: log}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("the certificate cannot be read: %w", err)
	}
	return c, nil
}

func (c *certificate) load() error {
	info, err := os.Stat(c.certFile)
	if err != nil {
		return err
	}
	loaded, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.loaded, c.modified, c.looked = loaded, info.ModTime(), c.clock.Now()
	return nil
}

// get implements tls.Config.GetCertificate. Files that no longer fit leave the
// old certificate in use: they may be half written.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.clock.Now(); now.Sub(c.looked) >= lookAgain {
		c.looked = now
		if info, err := os.Stat(c.certFile); err != nil || !info.ModTime().Equal(c.modified) {
			if err := c.load(); err != nil {
				c.log.Warn("the changed certificate cannot be read; the old one stays in use", "error", err)
			}
		}
	}
	loaded := c.loaded
	return &loaded, nil
}
