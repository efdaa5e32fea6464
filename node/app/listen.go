package app

import (
	"errors"
	"fmt"
	"net"

	"agentlink/node/api/socket"
	"agentlink/node/config"
)

// listeners are what a node listens on: the owner's and agents' side, the
// peers' side (nil where it is the same), and the owner's socket.
type listeners struct {
	private, public, owner net.Listener
}

// listen opens them, and writes the real addresses into the settings where a
// port was left to chance.
func listen(settings *config.Config, o Options) (l listeners, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
			l = listeners{}
		}
	}()
	if l.private, err = listenTCP(o.Listener, &settings.Listen, config.ListenName); err != nil {
		return l, err
	}
	if settings.PublicListen != "" || o.PublicListener != nil {
		if l.public, err = listenTCP(o.PublicListener, &settings.PublicListen, config.PublicListenName); err != nil {
			return l, err
		}
	}
	l.owner, err = socket.Listen(settings.SocketPath())
	return l, err
}

// listenTCP keeps the host that the settings name: localhost stays localhost.
func listenTCP(given net.Listener, address *string, setting string) (net.Listener, error) {
	listener := given
	if listener == nil {
		var err error
		if listener, err = net.Listen("tcp", *address); err != nil {
			return nil, fmt.Errorf("the node cannot listen on %s, set %s to another address: %w", *address, setting, err)
		}
	}
	host, _, err := net.SplitHostPort(*address)
	if err != nil {
		host = ""
	}
	actual, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	if given != nil {
		host = actual
	}
	*address = net.JoinHostPort(host, port)
	return listener, nil
}

// close closes those that are open; closing twice is fine.
func (l listeners) close() error {
	var err error
	for _, listener := range []net.Listener{l.private, l.public, l.owner} {
		if listener == nil {
			continue
		}
		if e := listener.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}
