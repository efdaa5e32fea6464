package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/node/seal"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

// unsealed are the columns of bytes that are not sealed.
var unsealed = map[string]bool{
	"decisions.answers": true, // names of capabilities and what was answered
}

var errRead = errors.New("it was read")

// TestSwappedCells (S3, S4): sealed values of two rows, two columns or two tables
// change places 1,000 times, in every sealed column that the schema has. None is
// ever read as what it is not: the row is an error, or says that it is damaged.
func TestSwappedCells(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		cells := storetest.Cells(t, s)
		complete(t, cells)
		for _, c := range cells {
			inTx(t, s, func(tx node.Tx) error {
				if damaged, err := c.Read(tx); err != nil || damaged {
					t.Fatalf("%s: damaged %v, %v, before anything was swapped", nameOf(c), damaged, err)
				}
				return nil
			})
		}
		rng, touched := rand.New(rand.NewPCG(3, 4)), map[string]int{}
		for range 1000 {
			a, b := twoCells(rng, cells)
			touched[nameOf(a)]++
			touched[nameOf(b)]++
			err := s.InTx(t.Context(), func(tx node.Tx) error {
				return errors.Join(swapped(s, tx, a, b), errPutBack)
			})
			if err.Error() != errPutBack.Error() {
				t.Error(err)
			}
		}
		for _, c := range cells {
			if touched[nameOf(c)] == 0 {
				t.Errorf("%s was never swapped", nameOf(c))
			}
		}
	})
}

// twoCells are two of one column half of the time, and any two otherwise.
func twoCells(rng *rand.Rand, cells []storetest.Cell) (a, b storetest.Cell) {
	a = cells[rng.IntN(len(cells))]
	wide := rng.IntN(2) == 0
	for range 10_000 {
		b = cells[rng.IntN(len(cells))]
		if sameCell := nameOf(a) == nameOf(b) && a.Where == b.Where; !sameCell && (wide || nameOf(a) == nameOf(b)) {
			return a, b
		}
		wide = wide || alone(a, cells)
	}
	panic("there is no other cell")
}

// alone says whether a column has one cell.
func alone(a storetest.Cell, cells []storetest.Cell) bool {
	count := 0
	for _, c := range cells {
		if nameOf(c) == nameOf(a) {
			count++
		}
	}
	return count == 1
}

func nameOf(c storetest.Cell) string { return c.Table + "." + c.Column }

// swapped puts each of two values in the other's place and reads both rows.
func swapped(s *store.Store, tx node.Tx, a, b storetest.Cell) error {
	first, err := valueOf(s, tx, a)
	second, err2 := valueOf(s, tx, b)
	if err := errors.Join(err, err2, put(s, tx, a, second), put(s, tx, b, first)); err != nil {
		return err
	}
	for _, c := range []storetest.Cell{a, b} {
		damaged, err := c.Read(tx)
		if !damaged && !errors.Is(err, seal.ErrNotOpened) {
			return fmt.Errorf("%s where %s took the value of another cell (%s and %s): %w", nameOf(c), c.Where, nameOf(a), nameOf(b), errors.Join(errRead, err))
		}
	}
	return nil
}

func valueOf(s *store.Store, tx node.Tx, c storetest.Cell) (value []byte, err error) {
	err = s.One(tx, fmt.Sprintf(`SELECT %s FROM %s WHERE %s`, c.Column, c.Table, c.Where), nil, &value)
	if err == nil && (len(value) < 42 || value[0] != 1) {
		err = fmt.Errorf("%s is not sealed: %.40q", nameOf(c), value)
	}
	return value, err
}

func put(s *store.Store, tx node.Tx, c storetest.Cell, value []byte) error {
	rows, err := s.Exec(tx, fmt.Sprintf(`UPDATE %s SET %s = $1 WHERE %s`, c.Table, c.Column, c.Where), value)
	if err == nil && rows != 1 {
		err = fmt.Errorf("%s where %s: %d rows", nameOf(c), c.Where, rows)
	}
	return err
}

// complete holds the cells to the schema: no column of bytes is left out.
func complete(t *testing.T, cells []storetest.Cell) {
	t.Helper()
	have := map[string]bool{}
	for _, c := range cells {
		have[nameOf(c)] = true
	}
	for column, kind := range describe(t, storetest.OpenMemory(t), sqliteColumns, sqliteIndexes).Columns {
		if strings.HasPrefix(kind, "BLOB") && have[column] == unsealed[column] {
			t.Errorf("%s is a column of bytes: is it sealed (%v), or not (%v)?", column, have[column], unsealed[column])
		}
	}
}

// TestForgedCells (S3): who can write to the database and knows every public part
// of the node, but not its key, cannot make a value that is read.
func TestForgedCells(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		cells := storetest.Cells(t, s)
		_, recipient := seal.NewKeyPair()
		forger := seal.NewBox(seal.NewMaster().Key(seal.UseRows))
		for _, c := range cells {
			for name, forge := range map[string]func(original []byte) ([]byte, error){
				"for a known recipient": func([]byte) ([]byte, error) { return seal.ToRecipient(recipient, []byte(`{}`)) },
				"by another key": func([]byte) ([]byte, error) {
					return forger.Seal(seal.Place{Table: c.Table, Column: c.Column}, []byte(`{}`)), nil
				},
				"in the clear":            func([]byte) ([]byte, error) { return []byte(`{"parameters":{}}`), nil },
				"nothing after the head":  func(o []byte) ([]byte, error) { return o[:25], nil },
				"the end cut":             func(o []byte) ([]byte, error) { return o[:len(o)-1], nil },
				"something after the end": func(o []byte) ([]byte, error) { return append(bytes.Clone(o), 0), nil },
				"twice":                   func(o []byte) ([]byte, error) { return append(bytes.Clone(o), o...), nil },
			} {
				err := s.InTx(t.Context(), func(tx node.Tx) error {
					original, err := valueOf(s, tx, c)
					if err != nil {
						return err
					}
					forged, err := forge(original)
					if err := errors.Join(err, put(s, tx, c, forged)); err != nil {
						return err
					}
					if damaged, err := c.Read(tx); !damaged && !errors.Is(err, seal.ErrNotOpened) {
						return fmt.Errorf("%s forged %s: %w", nameOf(c), name, errors.Join(errRead, err))
					}
					return errPutBack
				})
				if !errors.Is(err, errPutBack) {
					t.Error(err)
				}
			}
		}
	})
}
