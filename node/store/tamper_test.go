package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

const loggedRows = 20

// writeLog fills a log with rows of every shape.
func writeLog(t *testing.T, s *store.Store, log *audit.Log) {
	t.Helper()
	for i := range loggedRows {
		inTx(t, s, func(tx node.Tx) error {
			event := audit.Event{
				Type: audit.Feed[i%len(audit.Feed)], Actor: node.Actor{Kind: node.ActorAgent, OwnerID: "o1", AgentID: "a1", Via: "v"},
				AgentID: fmt.Sprint("a", i%3), ConnectionID: "c1", TaskUID: fmt.Sprint("t", i), Subject: fmt.Sprint("s", i),
			}
			if i%2 == 0 {
				event.Data = map[string]any{"fields": []string{"disclose.diet"}, "number": i}
			}
			return log.Append(tx, event)
		})
	}
}

// tampering is one change by somebody who can write to the database.
type tampering struct {
	name string
	// hidden changes only what is sealed; it takes opening to find it.
	hidden bool
	do     func(x *attack) error
}

// attack is a tampering's transaction and the row that it aims at.
type attack struct {
	s   *store.Store
	tx  node.Tx
	row int
	rng *rand.Rand
}

// run runs a statement and insists that it changed something.
func (x *attack) run(query string, args ...any) error {
	rows, err := x.s.Exec(x.tx, query, args...)
	if err == nil && rows == 0 {
		err = fmt.Errorf("%s: nothing was changed", query)
	}
	return err
}

// other is a row that is not the one aimed at.
func (x *attack) other() int { return (x.row+x.rng.IntN(loggedRows-1))%loggedRows + 1 }

// edit sets a column of the row, by an expression over its old value.
func edit(column, expression string) tampering {
	return tampering{name: "edit " + column, do: func(x *attack) error {
		return x.run(fmt.Sprintf(`UPDATE audit_log SET %s = %s WHERE position = $1`, column, expression), x.row)
	}}
}

// head changes the head.
func head(name, assignment string) tampering {
	return tampering{name: "head: " + name, do: func(x *attack) error { return x.run(`UPDATE audit_head SET ` + assignment) }}
}

// swap exchanges what two rows hold in the given columns.
func swap(name, columns string) tampering {
	return tampering{name: "swap " + name, do: func(x *attack) error {
		other := x.other()
		return x.run(fmt.Sprintf(`UPDATE audit_log SET (%s) = (SELECT %s FROM audit_log o WHERE o.position = $1 - audit_log.position)
			WHERE position IN ($2, $3)`, columns, columns), x.row+other, x.row, other)
	}}
}

func tamperings() []tampering {
	list := []tampering{
		edit("at", "at + 1"), edit("at", "0"), edit("actor_kind", "CASE actor_kind WHEN 'owner' THEN 'peer' ELSE 'owner' END"),
		edit("position", "position + 1000"), edit("position", "1000000"),
		head("one further", "position = position + 1"), head("one back", "position = position - 1"),
		head("empty", "position = 0, hash = '"+audit.GenesisHash+"', mac = ''"), head("hash", "hash = mac"), head("MAC", "mac = hash"),
		head("no MAC", "mac = ''"), head("of an earlier row", `(position, hash) = (SELECT position, hash FROM audit_log WHERE position = 7)`),
		{name: "head: gone", do: func(x *attack) error { return x.run(`DELETE FROM audit_head`) }},
		{name: "delete", do: func(x *attack) error { return x.run(`DELETE FROM audit_log WHERE position = $1`, x.row) }},
		{name: "cut the tail", do: func(x *attack) error { return x.run(`DELETE FROM audit_log WHERE position >= $1`, x.row) }},
		{name: "cut the tail and move the head", do: func(x *attack) error {
			err := x.run(`DELETE FROM audit_log WHERE position >= $1`, max(x.row, 2))
			return errors.Join(err, x.run(`UPDATE audit_head SET (position, hash) = (SELECT position, hash FROM audit_log ORDER BY position DESC LIMIT 1)`))
		}},
		{name: "delete and close the gap", do: func(x *attack) error {
			row := min(x.row, loggedRows-1)
			err := x.run(`DELETE FROM audit_log WHERE position = $1`, row)
			err = errors.Join(err, x.run(`UPDATE audit_log SET position = position + 100000 WHERE position > $1`, row))
			return errors.Join(err, x.run(`UPDATE audit_log SET position = position - 100001 WHERE position > 100000`))
		}},
		{name: "repeat a row", do: func(x *attack) error {
			return x.run(`INSERT INTO audit_log SELECT position + $1, at, owner_id, type, actor_kind, via, agent_id, connection_id, task_uid,
				subject, data, data_hash, previous, hash FROM audit_log WHERE position = $2`, loggedRows, x.row)
		}},
		{name: "a made-up row at the end", do: func(x *attack) error { return x.insert(loggedRows+1, false) }},
		{name: "a made-up row at the end, and the head on it", do: func(x *attack) error { return x.insert(loggedRows+1, true) }},
		{name: "a made-up row in between, and all after it chained anew", do: func(x *attack) error {
			err := x.run(`UPDATE audit_log SET position = position + 100000 WHERE position >= $1`, x.row)
			err = errors.Join(err, x.run(`UPDATE audit_log SET position = position - 99999 WHERE position > 100000`))
			return errors.Join(err, x.insert(x.row, false), x.chain(x.row, loggedRows+1, x.row%2 == 0))
		}},
		{name: "an edit, and all after it chained anew", do: func(x *attack) error {
			err := x.run(`UPDATE audit_log SET subject = 's' WHERE position = $1`, x.row)
			return errors.Join(err, x.chain(x.row, loggedRows, false))
		}},
		{name: "an edit, all after it chained anew, and the head on it", do: func(x *attack) error {
			err := x.run(`UPDATE audit_log SET subject = 's' WHERE position = $1`, x.row)
			return errors.Join(err, x.chain(x.row, loggedRows, true))
		}},
		{name: "a row dropped, and all after it chained anew", do: func(x *attack) error {
			row := min(x.row, loggedRows-1)
			err := x.run(`DELETE FROM audit_log WHERE position = $1`, row)
			err = errors.Join(err, x.run(`UPDATE audit_log SET position = position + 100000 WHERE position > $1`, row))
			err = errors.Join(err, x.run(`UPDATE audit_log SET position = position - 100001 WHERE position > 100000`))
			return errors.Join(err, x.chain(row, loggedRows-1, true))
		}},
		{name: "hide an edit behind the hash of its own", do: func(x *attack) error {
			return x.run(`UPDATE audit_log SET type = 'node.started', hash = previous WHERE position = $1`, x.row)
		}},
		{name: "data gone", hidden: true, do: func(x *attack) error {
			return x.run(`UPDATE audit_log SET data = NULL WHERE position = $1 AND data IS NOT NULL`, (x.row-1)/2*2+1)
		}},
		{name: "data of another row", hidden: true, do: func(x *attack) error {
			row := (x.row-1)/2*2 + 1
			return x.run(`UPDATE audit_log SET data = (SELECT o.data FROM audit_log o WHERE o.position = $1) WHERE position = $2`, (row+1)%loggedRows+1, row)
		}},
		{name: "data made up", hidden: true, do: func(x *attack) error {
			return x.run(`UPDATE audit_log SET data = $1 WHERE position = $2`, []byte(`{"fields":[]}`), x.row)
		}},
		{name: "a byte of the data", hidden: true, do: flipByte},
		swap("two subjects", "subject, task_uid"),
		swap("two rows", "at, type, agent_id, task_uid, subject, data, data_hash, previous, hash"),
	}
	for _, column := range []string{"owner_id", "type", "via", "agent_id", "connection_id", "task_uid", "subject", "data_hash", "previous", "hash"} {
		list = append(list, edit(column, column+" || ' '"), edit(column, "''"), edit(column, "'0'"))
	}
	return list
}

func flipByte(x *attack) error {
	row := (x.row-1)/2*2 + 1
	var data []byte
	if err := x.s.One(x.tx, `SELECT data FROM audit_log WHERE position = $1`, []any{row}, &data); err != nil {
		return err
	}
	data[x.rng.IntN(len(data))] ^= byte(1 + x.rng.IntN(255))
	return x.run(`UPDATE audit_log SET data = $1 WHERE position = $2`, data, row)
}

var errPutBack = errors.New("put back")

// TestTampering: 1,000 changes of single rows of the stored log, each found.
func TestTampering(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		log := audit.New(s, []byte("the key of the audit head"))
		writeLog(t, s, log)
		inTx(t, s, func(tx node.Tx) error { // who forges rows knows how
			row, err := (&attack{s: s, tx: tx}).rowAt(7)
			if hashOf(row) != row.Hash {
				t.Errorf("the hash of %+v is not %s", row, hashOf(row))
			}
			return err
		})
		list, rng := tamperings(), rand.New(rand.NewPCG(1, 2))
		for i := range 1000 {
			tampering := list[i%len(list)]
			row := 1 + rng.IntN(loggedRows)
			err := s.InTx(context.Background(), func(tx node.Tx) error {
				if err := tampering.do(&attack{s: s, tx: tx, row: row, rng: rng}); err != nil {
					return fmt.Errorf("%s, row %d: %w", tampering.name, row, err)
				}
				return errors.Join(found(log, tx, tampering, row), errPutBack)
			})
			if err.Error() != errPutBack.Error() {
				t.Error(err)
			}
		}
		inTx(t, s, func(tx node.Tx) error {
			report, err := log.Verify(tx, true)
			if !report.OK() || report.Rows != loggedRows {
				t.Errorf("the log was not put back: %+v", report)
			}
			return err
		})
	})
}

func found(log *audit.Log, tx node.Tx, tampering tampering, row int) error {
	for _, deep := range []bool{true, false} {
		report, err := log.Verify(tx, deep)
		if err != nil {
			return err
		}
		if report.OK() && (deep || !tampering.hidden) {
			return fmt.Errorf("%s, row %d: not found (deep %v)", tampering.name, row, deep)
		}
	}
	return nil
}

// TestForgedLog: a whole log written anew by somebody without the key is found.
func TestForgedLog(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		writeLog(t, s, audit.New(s, []byte("the attacker's key")))
		inTx(t, s, func(tx node.Tx) error {
			report, err := audit.New(s, []byte("the key of the audit head")).Verify(tx, true)
			if report.OK() {
				t.Error("a log with a forged head is whole")
			}
			return err
		})
	})
}
