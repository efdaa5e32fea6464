package bench

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// each runs one in so many senders at once, until there were count in all or
// the time is over, and gives how long each took. It ends at the first error.
func each(senders, count int, limit time.Duration, one func(sender int) (time.Duration, error)) (all sample, elapsed time.Duration, err error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	var taken atomic.Int64
	begun := now()
	more := func() bool {
		if count > 0 {
			return taken.Add(1) <= int64(count)
		}
		return now().Sub(begun) < limit
	}
	for sender := range senders {
		group.Go(func() {
			var mine sample
			var failed error
			for failed == nil && more() {
				var took time.Duration
				if took, failed = one(sender); failed == nil {
					mine = append(mine, took)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
			if err == nil {
				err = failed
			}
		})
	}
	group.Wait()
	return all, now().Sub(begun), err
}

func listenLoopback() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

func newBody(content []byte) io.Reader { return bytes.NewReader(content) }
