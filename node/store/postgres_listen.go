package store

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// channel names what replicas that share a schema announce on. It is hashed
// since PostgreSQL cuts names at 63 bytes.
const channel = "'agentlink_' || md5(current_schema())"

// listening is an advisory lock that all share who listen on a schema.
const listening = "hashtextextended('agentlink listening ' || current_schema(), 0)"

const (
	firstReconnect = 100 * time.Millisecond
	lastReconnect  = 5 * time.Second
)

// listen starts the one listening connection of this store.
func (e *postgres) listen(hub *wakeHub) {
	e.once.Do(func() { e.heard.Go(func() { e.hear(hub) }) })
}

// hear keeps a connection that listens. What was announced while there was none
// is lost, so everybody is woken at each try to connect, and once it is there.
func (e *postgres) hear(hub *wakeHub) {
	wait := firstReconnect
	for e.ctx.Err() == nil {
		if e.hearOnce(hub) {
			wait = firstReconnect
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-e.ctx.Done():
		}
		timer.Stop()
		hub.wakeAll()
		wait = min(2*wait, lastReconnect)
	}
}

// hearOnce listens until the connection is lost, and says whether there was one.
func (e *postgres) hearOnce(hub *wakeHub) bool {
	conn, err := pgx.ConnectConfig(e.ctx, e.config.Copy())
	if err != nil {
		return false
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	var name string
	var free bool
	if err := conn.QueryRow(e.ctx, "SELECT "+channel+", pg_try_advisory_lock_shared("+listening+")").Scan(&name, &free); err != nil || !free {
		return false
	}
	if _, err := conn.Exec(e.ctx, "LISTEN "+pgx.Identifier{name}.Sanitize()); err != nil {
		return false
	}
	hub.wakeAll()
	for {
		heard, err := e.next(conn)
		if err != nil {
			return true
		}
		if from, topics, ok := strings.Cut(heard.Payload, " "); ok && from != e.self {
			hub.wake(strings.Fields(topics)...)
		}
	}
}

// silence is how long a connection may say nothing before it is asked whether it
// is still there.
const silence = 15 * time.Second

// next waits for an announcement.
func (e *postgres) next(conn *pgx.Conn) (*pgconn.Notification, error) {
	for {
		ctx, cancel := context.WithTimeout(e.ctx, silence)
		heard, err := conn.WaitForNotification(ctx)
		cancel()
		if err == nil || e.ctx.Err() != nil || !pgconn.Timeout(err) {
			return heard, err
		}
		ctx, cancel = context.WithTimeout(e.ctx, lastReconnect)
		err = conn.Ping(ctx)
		cancel()
		if err != nil {
			return nil, err
		}
	}
}
