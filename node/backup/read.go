package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"agentlink/node"
)

// Target takes what an archive holds.
type Target interface {
	// Begin is called before anything else.
	Begin(head Head) error
	// Table announces rows. It refuses a table or column that it does not know.
	Table(name string, columns []string) error
	// Row takes a row of the last table: nil, int64, string or []byte each.
	Row(row []any) error
}

// Read gives an archive to its target, piece by piece. The target may keep nothing
// of it unless Read returns nil: only then the archive was whole. One line is in
// memory at a time. Code: bad_request for what is no whole archive.
func Read(r io.Reader, target Target) (Report, error) {
	a := &reader{lines: bufio.NewScanner(r), all: sha256.New(), target: target}
	a.lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	if err := a.head(); err != nil {
		return Report{}, err
	}
	for {
		line, err := a.next()
		if err != nil {
			return Report{}, err
		}
		done, err := a.take(line)
		if err != nil {
			return Report{}, err
		}
		if done {
			a.report.sum()
			return a.report, a.nothingMore()
		}
	}
}

type reader struct {
	lines   *bufio.Scanner
	all     hash.Hash
	rows    hash.Hash
	columns int
	target  Target
	report  Report
}

func (a *reader) next() ([]byte, error) {
	if a.lines.Scan() {
		return a.lines.Bytes(), nil
	}
	return nil, a.broken("its end is missing")
}

// broken says why there is no further line. The layer beneath says when bytes are
// not authentic, or missing.
func (a *reader) broken(end string) error {
	err := a.lines.Err()
	switch {
	case err == nil:
		return notAnArchive(end)
	case errors.Is(err, bufio.ErrTooLong):
		return notAnArchive("a line is too long")
	}
	return &node.Error{Code: node.BadRequest, Message: "This is not a whole AgentLink backup: it was cut off or changed.", Err: err}
}

func (a *reader) nothingMore() error {
	if a.lines.Scan() {
		return notAnArchive("something follows its end")
	}
	if a.lines.Err() != nil {
		return a.broken("")
	}
	return nil
}

func (a *reader) head() error {
	line, err := a.next()
	if err != nil {
		return err
	}
	var head Head
	if strict(line, &head) != nil || head.Format != Format || head.Schema < 1 || head.Epoch < 1 {
		return notAnArchive("it does not begin with a head of the format " + Format)
	}
	a.report.Head = head
	a.count(line)
	return a.target.Begin(head)
}

// count adds a line to the sums; the scanner has taken its line break off.
func (a *reader) count(line []byte) {
	a.all.Write(line)
	a.all.Write([]byte{'\n'})
}

func (a *reader) take(line []byte) (done bool, err error) {
	switch {
	case bytes.HasPrefix(line, []byte("[")):
		return false, a.row(line)
	case bytes.HasPrefix(line, []byte(`{"tables":`)):
		return true, a.tail(line)
	}
	return false, a.table(line)
}

func (a *reader) table(line []byte) error {
	var t tableLine
	if strict(line, &t) != nil || t.Table == "" || len(t.Columns) == 0 || len(t.Columns) > maxColumns || len(a.report.Tables) == maxTables {
		return notAnArchive("a line is not one of its lines")
	}
	if slices.ContainsFunc(a.report.Tables, func(other Table) bool { return other.Name == t.Table }) {
		return notAnArchive("a table is there twice")
	}
	a.endTable()
	a.report.Tables = append(a.report.Tables, Table{Name: t.Table})
	a.rows, a.columns = sha256.New(), len(t.Columns)
	a.count(line)
	return a.target.Table(t.Table, t.Columns)
}

func (a *reader) endTable() {
	if a.rows != nil {
		a.report.Tables[len(a.report.Tables)-1].SHA256 = hex.EncodeToString(a.rows.Sum(nil))
	}
}

func (a *reader) row(line []byte) error {
	if a.rows == nil {
		return notAnArchive("a row stands before its table")
	}
	row, err := cells(line)
	if err != nil || len(row) != a.columns {
		return notAnArchive("a row does not fit its table")
	}
	a.report.Tables[len(a.report.Tables)-1].Rows++
	a.rows.Write(line)
	a.rows.Write([]byte{'\n'})
	a.count(line)
	return a.target.Row(row)
}

func (a *reader) tail(line []byte) error {
	var tail Tail
	if strict(line, &tail) != nil {
		return notAnArchive("its last line cannot be read")
	}
	a.endTable()
	a.report.SHA256 = hex.EncodeToString(a.all.Sum(nil))
	if tail.SHA256 != a.report.SHA256 || !slices.Equal(tail.Tables, a.report.Tables) {
		return notAnArchive("its content does not have the sums that its end names")
	}
	return nil
}

// strict refuses unknown and double names.
func strict(line []byte, into any) error {
	return jsonv2.Unmarshal(line, into, jsonv2.RejectUnknownMembers(true))
}

// cells reads a row.
func cells(line []byte) ([]any, error) {
	var raw []any
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&raw); err != nil {
		return nil, fmt.Errorf("read a row: %w", err)
	}
	if decoder.InputOffset() != int64(len(line)) {
		return nil, errors.New("read a row: something follows it")
	}
	for i := range raw {
		value, err := cell(raw[i])
		if err != nil {
			return nil, err
		}
		raw[i] = value
	}
	return raw, nil
}

func cell(value any) (any, error) {
	switch value := value.(type) {
	case nil, string:
		return value, nil
	case json.Number:
		return value.Int64()
	case map[string]any:
		text, ok := value["b"].(string)
		if ok && len(value) == 1 {
			return base64.StdEncoding.Strict().DecodeString(text)
		}
	}
	return nil, errors.New("read a row: a value of no known kind")
}

// Nowhere takes an archive only to see whether it is whole.
type Nowhere struct{}

// Begin implements Target.
func (Nowhere) Begin(Head) error { return nil }

// Table implements Target.
func (Nowhere) Table(string, []string) error { return nil }

// Row implements Target.
func (Nowhere) Row([]any) error { return nil }
