package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
)

// views is a database whose views see a shelf.
type views struct{ count int }

func (v *views) InTx(context.Context, func(node.Tx) error) error { return errors.New("writes nothing") }

func (v *views) View(_ context.Context, f func(node.Tx) error) error {
	v.count++
	return f(now)
}

func exportOf(t *testing.T, s *shelf) (file string, head audit.ExportHead) {
	t.Helper()
	head = audit.ExportHead{
		Format: audit.ExportFormat, Host: "ada.example", Fingerprint: "f", PublicKey: "k", ExportedAt: now.now,
		Rows: s.head.Position, Hash: s.head.Hash, Signature: "s",
	}
	var out bytes.Buffer
	if err := audit.New(s, key).Export(t.Context(), &views{}, head, &out); err != nil {
		t.Fatal(err)
	}
	return out.String(), head
}

// TestExport fixes the format. Files that exist depend on it.
func TestExport(t *testing.T) {
	t.Parallel()
	file, head := exportOf(t, logged(t, event, audit.Event{Type: audit.NodeStarted, Actor: node.Actor{Kind: node.ActorNode}}))
	want := `{"format":"agentlink-audit-export-1","host":"ada.example","fingerprint":"f","publicKey":"k","exportedAt":"2026-05-01T12:00:00.123456Z","rows":2,"hash":"b2aeb8eb7b3539992ef34d14d436bb42b66496171ad229242ed38ccda8dd2c58","signature":"s"}
{"position":1,"at":"2026-05-01T12:00:00.123456Z","owner":"o1","type":"connection.accepted","actor":"owner","via":"uid=1000 pid=4711","agent":"a1","connection":"c1","task":"t1","subject":"s1","data":{"a":["ä","<&>"],"b":1},"dataHash":"099a4b3e9c401502af72ffde27310a5ff8396b3b88397817133b7d65ef33ec14","previous":"0000000000000000000000000000000000000000000000000000000000000000","hash":"79785e612ef13aabb1153834b1bf2b1fc69c3c0ea61c49bd3d3769df7ea035ca"}
{"position":2,"at":"2026-05-01T12:00:00.123456Z","owner":"","type":"node.started","actor":"node","via":"","agent":"","connection":"","task":"","subject":"","data":{},"dataHash":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","previous":"79785e612ef13aabb1153834b1bf2b1fc69c3c0ea61c49bd3d3769df7ea035ca","hash":"b2aeb8eb7b3539992ef34d14d436bb42b66496171ad229242ed38ccda8dd2c58"}
`
	if diff := cmp.Diff(want, file); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	got, report, err := audit.VerifyExport(strings.NewReader(file))
	if err != nil || !report.OK() || report.Rows != 2 || report.Head != head.Hash {
		t.Errorf("verify gives %+v, %v", report, err)
	}
	if diff := cmp.Diff(head, got); diff != "" {
		t.Errorf("the head (-want +got):\n%s", diff)
	}
}

// TestExportPages: pages meet without a gap, and rows that come meanwhile are left out.
func TestExportPages(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{0, 1, 499, 500, 501, 1000, 1203} {
		events := make([]audit.Event, rows)
		for i := range events {
			events[i] = audit.Event{Type: audit.NodeStarted, Actor: node.Actor{Kind: node.ActorNode}, Subject: fmt.Sprint(i)}
		}
		s := logged(t, events...)
		head := s.head
		logMore(s, key)
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		s.head = head
		file, _ := exportOf(t, s)
		if lines := strings.Count(file, "\n"); lines != rows+1 {
			t.Errorf("%d rows give %d lines", rows, lines)
		}
		if _, report, err := audit.VerifyExport(strings.NewReader(file)); err != nil || !report.OK() || report.Rows != int64(rows) {
			t.Errorf("%d rows: %+v, %v", rows, report, err)
		}
	}
}

// TestExportTampered: whatever is changed in a file is found.
func TestExportTampered(t *testing.T) {
	t.Parallel()
	file, _ := exportOf(t, logged(t, event, event, event))
	lines := strings.SplitAfter(file, "\n")
	rewrite := func(line int, old, with string) string {
		changed := slices.Clone(lines)
		if !strings.Contains(changed[line], old) {
			t.Fatalf("%s has no %s", changed[line], old)
		}
		changed[line] = strings.Replace(changed[line], old, with, 1)
		return strings.Join(changed, "")
	}
	for name, test := range map[string]struct{ file, problem string }{
		"a column":         {rewrite(2, `"agent":"a1"`, `"agent":"a2"`), "row 2 was changed"},
		"the time":         {rewrite(2, `.123456Z`, `.123457Z`), "row 2 was changed"},
		"the data":         {rewrite(2, `"b":1`, `"b":2`), "the data of row 2 was changed"},
		"a hash":           {rewrite(2, `"previous":"7`, `"previous":"8`), "row 2 does not follow row 1"},
		"a row gone":       {lines[0] + lines[1] + lines[3], "row 2 is missing"},
		"rows swapped":     {lines[0] + lines[2] + lines[1] + lines[3], "row 1 is missing"},
		"a row twice":      {lines[0] + lines[1] + lines[1] + lines[2] + lines[3], "row 2 is missing"},
		"the tail gone":    {lines[0] + lines[1] + lines[2], "the file ends at row 2, its head says 3"},
		"another head":     {rewrite(0, `"hash":"`, `"hash":"0`), "the file ends at row 3, its head says 3"},
		"more than a head": {rewrite(0, `"rows":3`, `"rows":2`), "the file ends at row 3, its head says 2"},
	} {
		_, report, err := audit.VerifyExport(strings.NewReader(test.file))
		if err != nil || report.Problem != test.problem {
			t.Errorf("%s: %q, %v, want %q", name, report.Problem, err, test.problem)
		}
	}
	for name, file := range map[string]string{
		"empty": "", "no head": lines[1], "another format": rewrite(0, "export-1", "export-2"), "no JSON": lines[0] + "{\n",
		"a name twice": rewrite(1, `"agent":"a1"`, `"agent":"a2","agent":"a1"`), "another name": rewrite(1, `"agent":`, `"Agent":`),
		"no time":  rewrite(1, `"at":"2026-05-01T12`, `"at":"2026-05-01 12`),
		"too long": lines[0] + strings.Repeat("x", 17<<20),
	} {
		if _, report, err := audit.VerifyExport(strings.NewReader(file)); node.CodeOf(err) != node.BadRequest {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}

// TestExportReformatted: a tool that writes the same values otherwise does no harm.
func TestExportReformatted(t *testing.T) {
	t.Parallel()
	file, _ := exportOf(t, logged(t, event))
	file = strings.Replace(file, `"data":{"a":["ä","<&>"],"b":1}`, `"data" : { "b": 1.0, "a": ["\u00e4", "\u003c&>"] }`, 1)
	if _, report, err := audit.VerifyExport(strings.NewReader(file)); err != nil || !report.OK() {
		t.Errorf("verify gives %+v, %v", report, err)
	}
}

func TestExportFails(t *testing.T) {
	t.Parallel()
	s := logged(t, event)
	s.failing = node.Errorf(node.Unavailable, "no database")
	head := audit.ExportHead{Rows: 1}
	if err := audit.New(s, key).Export(t.Context(), &views{}, head, &bytes.Buffer{}); node.CodeOf(err) != node.Unavailable {
		t.Errorf("export gives %v", err)
	}
	s.failing = nil
	if err := audit.New(s, key).Export(t.Context(), &views{}, head, full{}); err == nil {
		t.Error("a disk that is full is not noticed")
	}
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

// TestTypesAreListed: the owner can choose each type in a list.
func TestTypesAreListed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, kind := range audit.Types {
		if seen[string(kind)] {
			t.Errorf("%s is listed twice", kind)
		}
		seen[string(kind)] = true
	}
	found := 0
	for _, name := range []string{"type.go", "export.go", "backup.go", "compare.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if kind, is := typeOf(spec, ok); is && kind == "Type" {
				value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if found++; err != nil || !seen[value] {
					t.Errorf("%s is missing in Types", value)
				}
			}
			return true
		})
	}
	if found != len(audit.Types) || found < 50 {
		t.Errorf("%d types are declared, %d are listed", found, len(audit.Types))
	}
}

func typeOf(spec *ast.ValueSpec, ok bool) (name string, is bool) {
	if !ok || len(spec.Values) != 1 {
		return "", false
	}
	kind, is := spec.Type.(*ast.Ident)
	if !is {
		return "", false
	}
	return kind.Name, true
}
