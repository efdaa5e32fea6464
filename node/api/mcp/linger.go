package mcp

import (
	"errors"
	"io"
	"time"

	"agentlink/node/api"
)

// lingering keeps the end of the input back until what was asked before it is
// answered: a client that writes and closes still gets its answers.
type lingering struct {
	io.ReadCloser
	busy func() bool
}

// quiet is how long nothing may be under way before the end is believed.
const quiet = 100 * time.Millisecond

// Read implements io.Reader.
func (l lingering) Read(into []byte) (int, error) {
	n, err := l.ReadCloser.Read(into)
	if n == 0 && errors.Is(err, io.EOF) {
		l.linger()
	}
	return n, err
}

func (l lingering) linger() {
	const step = quiet / 5
	still := time.Duration(0)
	for waited := time.Duration(0); still < quiet && waited < api.MaxWait; waited += step {
		time.Sleep(step)
		if still += step; l.busy() {
			still = 0
		}
	}
}
