package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"unicode/utf8"

	"agentlink/node"
)

// Source is a database to be copied, within one transaction.
type Source interface {
	DumpTables(tx node.Tx) ([]string, error)
	Columns(tx node.Tx, table string) ([]string, error)
	Dump(tx node.Tx, table string, columns []string, row func([]any) error) error
}

// Write writes the whole archive. One row is in memory at a time.
func Write(tx node.Tx, source Source, head Head, w io.Writer) (Report, error) {
	a := &writer{out: bufio.NewWriterSize(w, 64<<10), all: sha256.New()}
	head.Format = Format
	if err := a.value(head); err != nil {
		return Report{}, err
	}
	report := Report{Head: head}
	names, err := source.DumpTables(tx)
	if err != nil {
		return Report{}, err
	}
	for _, name := range names {
		table, err := a.table(tx, source, name)
		if err != nil {
			return Report{}, err
		}
		report.Tables = append(report.Tables, table)
	}
	report.SHA256 = hex.EncodeToString(a.all.Sum(nil))
	if err := a.value(Tail{Tables: report.Tables, SHA256: report.SHA256}); err != nil {
		return Report{}, err
	}
	report.sum()
	return report, a.out.Flush()
}

type writer struct {
	out  *bufio.Writer
	all  hash.Hash // of everything
	rows hash.Hash // of a table's rows; nil between tables
	line bytes.Buffer
}

func (a *writer) table(tx node.Tx, source Source, name string) (Table, error) {
	columns, err := source.Columns(tx, name)
	if err != nil {
		return Table{}, err
	}
	if err := a.value(tableLine{Table: name, Columns: columns}); err != nil {
		return Table{}, err
	}
	table := Table{Name: name}
	a.rows = sha256.New()
	err = source.Dump(tx, name, columns, func(row []any) error {
		table.Rows++
		return a.row(name, row)
	})
	table.SHA256 = hex.EncodeToString(a.rows.Sum(nil))
	a.rows = nil
	return table, err
}

func (a *writer) row(table string, row []any) error {
	cells := make([]any, len(row))
	for i, value := range row {
		switch value := value.(type) {
		case nil, int64:
			cells[i] = value
		case string:
			if !utf8.ValidString(value) {
				return fmt.Errorf("back up %s: a text is not UTF-8", table)
			}
			cells[i] = value
		case []byte:
			cells[i] = map[string]string{"b": base64.StdEncoding.EncodeToString(value)}
		default:
			return fmt.Errorf("back up %s: a %T cannot be written", table, value)
		}
	}
	return a.value(cells)
}

// value writes a line.
func (a *writer) value(v any) error {
	a.line.Reset()
	encoder := json.NewEncoder(&a.line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if a.line.Len() > maxLine {
		return fmt.Errorf("write the backup: a row has %d bytes", a.line.Len())
	}
	a.all.Write(a.line.Bytes())
	if a.rows != nil {
		a.rows.Write(a.line.Bytes())
	}
	if _, err := a.out.Write(a.line.Bytes()); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	return nil
}
