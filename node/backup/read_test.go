package backup_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/backup"
)

// tables is a source and a target.
type tables struct {
	order []string
	rows  map[string][][]any
	begun bool
	last  string
}

func (s *tables) DumpTables(node.Tx) ([]string, error) { return s.order, nil }

func (s *tables) Columns(node.Tx, string) ([]string, error) { return []string{"a", "b"}, nil }

func (s *tables) Dump(_ node.Tx, table string, _ []string, row func([]any) error) error {
	for _, r := range s.rows[table] {
		if err := row(r); err != nil {
			return err
		}
	}
	return nil
}

func (s *tables) Begin(backup.Head) error { s.begun, s.rows = true, map[string][][]any{}; return nil }

func (s *tables) Table(name string, _ []string) error {
	s.last, s.order = name, append(s.order, name)
	return nil
}

func (s *tables) Row(row []any) error {
	s.rows[s.last] = append(s.rows[s.last], row)
	return nil
}

func archive(t testing.TB) []byte {
	t.Helper()
	source := &tables{order: []string{"one", "none", "two"}, rows: map[string][][]any{
		"one": {{"text <&> \u2028 é", int64(1764488000000001)}, {nil, []byte{0, 255}}, {"", []byte{}}},
		"two": {{int64(-1 << 63), int64(1<<63 - 1)}},
	}}
	var out bytes.Buffer
	report, err := backup.Write(nil, source, backup.Head{Schema: 3, Epoch: 1, Fingerprint: "f"}, &out)
	if err != nil || report.Rows != 4 {
		t.Fatalf("%+v, %v", report, err)
	}
	return out.Bytes()
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	var target tables
	report, err := backup.Read(bytes.NewReader(archive(t)), &target)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][][]any{
		"one": {{"text <&> \u2028 é", int64(1764488000000001)}, {nil, []byte{0, 255}}, {"", []byte{}}},
		"two": {{int64(-1 << 63), int64(1<<63 - 1)}},
	}
	if diff := cmp.Diff(want, target.rows); diff != "" {
		t.Error(diff)
	}
	if report.Rows != 4 || len(report.Tables) != 3 || report.Schema != 3 {
		t.Errorf("%+v", report)
	}
}

// TestEveryCut: an archive that ends anywhere before its end is refused, and so is
// one with a byte changed or added.
func TestEveryCut(t *testing.T) {
	t.Parallel()
	whole := archive(t)
	refused := func(what string, at int, content []byte) {
		t.Helper()
		if _, err := backup.Read(bytes.NewReader(content), &tables{}); node.CodeOf(err) != node.BadRequest {
			t.Errorf("%s %d: %v", what, at, err)
		}
	}
	for i := range len(whole) - 1 { // the last line break may be missing
		refused("cut at", i, whole[:i])
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		refused("changed at", i, changed)
	}
	refused("more behind", len(whole), append(bytes.Clone(whole), "[]\n"...))
}

func TestRefused(t *testing.T) {
	t.Parallel()
	head := `{"format":"agentlink-backup-1","version":"","schema":1,"fingerprint":"","epoch":1,"madeAt":"2026-01-01T00:00:00Z","auditRows":0,"auditHash":""}` + "\n"
	for name, content := range map[string]string{
		"nothing":           "",
		"no head":           "[]\n",
		"another format":    strings.Replace(head, "backup-1", "backup-2", 1),
		"an unknown member": strings.Replace(head, `"schema"`, `"scheme"`, 1),
		"no epoch":          strings.Replace(head, `"epoch":1`, `"epoch":0`, 1),
		"a row alone":       head + "[1]\n",
		"a long line":       head + "[" + strings.Repeat("1", 5<<20) + "]\n",
		"no columns":        head + `{"table":"a","columns":[]}` + "\n",
		"a table twice":     head + `{"table":"a","columns":["x"]}` + "\n" + `{"table":"a","columns":["x"]}` + "\n",
		"a cell too many":   head + `{"table":"a","columns":["x"]}` + "\n[1,2]\n",
		"a fraction":        head + `{"table":"a","columns":["x"]}` + "\n[1.5]\n",
		"a bool":            head + `{"table":"a","columns":["x"]}` + "\n[true]\n",
		"an object":         head + `{"table":"a","columns":["x"]}` + "\n" + `[{"b":"AA==","c":"AA=="}]` + "\n",
		"no base64":         head + `{"table":"a","columns":["x"]}` + "\n" + `[{"b":"!"}]` + "\n",
	} {
		if _, err := backup.Read(strings.NewReader(content), &tables{}); node.CodeOf(err) != node.BadRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTargetRefuses: the target's refusal ends the reading.
func TestTargetRefuses(t *testing.T) {
	t.Parallel()
	refusal := errors.New("no")
	if _, err := backup.Read(bytes.NewReader(archive(t)), refusing{refusal}); !errors.Is(err, refusal) {
		t.Errorf("%v", err)
	}
}

type refusing struct{ err error }

func (r refusing) Begin(backup.Head) error      { return nil }
func (r refusing) Table(string, []string) error { return nil }
func (r refusing) Row([]any) error              { return r.err }

func FuzzRead(f *testing.F) {
	whole := archive(f)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("{}\n[]\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		var target tables
		report, err := backup.Read(bytes.NewReader(content), &target)
		if err != nil {
			if node.CodeOf(err) != node.BadRequest {
				t.Fatalf("%v", err)
			}
			return
		}
		// What is taken says the same once more.
		again, err := backup.Read(bytes.NewReader(content), backup.Nowhere{})
		if diff := cmp.Diff(report, again); err != nil || diff != "" {
			t.Fatalf("%v %s", err, diff)
		}
	})
}
