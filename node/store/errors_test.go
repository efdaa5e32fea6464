package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"agentlink/node"
)

// TestPostgresFaults reads SQLSTATEs. What stands in messages does not matter.
func TestPostgresFaults(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]struct {
		code  node.Code
		again bool
	}{
		"40001": {node.Unavailable, true}, "40P01": {node.Unavailable, true},
		"08006": {node.Unavailable, false}, "53100": {node.Unavailable, false}, "53300": {node.Unavailable, false},
		"57P01": {node.Unavailable, false}, "57P03": {node.Unavailable, false}, "58030": {node.Unavailable, false},
		"28P01": {node.Unavailable, false}, "3D000": {node.Unavailable, false}, "25006": {node.Unavailable, false},
		"23505": {node.Internal, false}, "42601": {node.Internal, false}, "42P01": {node.Internal, false},
		"22P02": {node.Internal, false}, "": {node.Internal, false},
	} {
		got := postgresFault(fmt.Errorf("a statement: %w", &pgconn.PgError{Code: state, Message: "40001 disk full"}))
		if node.CodeOf(got.err) != want.code || got.again != want.again {
			t.Errorf("%s is %v, again %v; want %v, %v", state, node.CodeOf(got.err), got.again, want.code, want.again)
		}
	}
}

// TestLostConnections: what database/sql and the network report is unavailable,
// and a context's end stays what it is.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	for _, lost := range []error{
		driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, &net.OpError{Op: "read", Err: errors.New("reset")},
		&pgconn.ConnectError{Config: &pgconn.Config{}},
	} {
		if got := postgresFault(fmt.Errorf("a statement: %w", lost)); node.CodeOf(got.err) != node.Unavailable || got.again {
			t.Errorf("%v is %v, again %v", lost, got.err, got.again)
		}
	}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		for _, read := range []func(error) *fault{postgresFault, sqliteFault} {
			got := read(fmt.Errorf("a statement: %w", ended))
			if _, ok := node.AsError(got.err); ok || !errors.Is(got.err, ended) || got.again {
				t.Errorf("%v becomes %v, again %v", ended, got.err, got.again)
			}
		}
	}
	if got := sqliteFault(errors.New("database is locked (5)")); node.CodeOf(got.err) != node.Internal {
		t.Errorf("a text was read: %v", got.err)
	}
}
