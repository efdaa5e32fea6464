package store

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// postgresFault reads PostgreSQL's SQLSTATE:
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
func postgresFault(err error) *fault {
	var known *pgconn.PgError
	switch {
	case isContext(err):
		return &fault{err: err}
	case errors.As(err, &known):
		return stateFault(known.Code, err)
	case isGone(err), isLost(err):
		return &fault{err: unavailable(err)}
	default:
		return &fault{err: broken(err)}
	}
}

func stateFault(state string, err error) *fault {
	switch state {
	case "40001", "40P01": // serialization failure, deadlock
		return &fault{err: unavailable(err), again: true}
	case "57P01", "57P02", "57P03", // the server is going down, crashed, or is not up yet
		"57014",                   // the statement was cancelled on the server
		"25006", "25P03", "55P03", // a standby; idle for too long; a lock was not to be had
		"3D000": // no such database
		return &fault{err: unavailable(err)}
	}
	switch state[:min(2, len(state))] {
	case "08", "28", "53", "58": // connection, login, resources such as disk, the system around
		return &fault{err: unavailable(err)}
	}
	return &fault{err: broken(err)}
}

// noRoom says whether a statement failed for lack of disk, memory or the like.
func noRoom(err error) bool {
	var known *pgconn.PgError
	return errors.As(err, &known) && strings.HasPrefix(known.Code, "53")
}

// isLost says whether the connection failed rather than the statement.
func isLost(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	var unsent interface{ SafeToRetry() bool }
	return errors.As(err, &connect) || errors.As(err, &network) || errors.As(err, &unsent) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
