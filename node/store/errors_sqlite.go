package store

import (
	"errors"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"agentlink/node"
)

// sqliteFault reads SQLite's result codes: https://sqlite.org/rescode.html.
func sqliteFault(err error) *fault {
	var known *sqlite.Error
	switch {
	case isContext(err):
		return &fault{err: err}
	case isGone(err):
		return &fault{err: unavailable(err)}
	case !errors.As(err, &known):
		return &fault{err: broken(err)}
	}
	switch known.Code() & 0xff { // the primary code; what is above it only details it
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return &fault{err: unavailable(err), again: true}
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_NOMEM, lib.SQLITE_PERM, lib.SQLITE_INTERRUPT, lib.SQLITE_PROTOCOL:
		return &fault{err: unavailable(err)}
	case lib.SQLITE_NOTADB, lib.SQLITE_CORRUPT:
		return &fault{err: &node.Error{Code: node.Internal, Message: "The database file is damaged, or no database at all.", Err: err}}
	default:
		return &fault{err: broken(err)}
	}
}
