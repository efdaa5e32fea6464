// Package docs checks that what the documents say of the code is so.
package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/policy"
)

const root = "../.."

// statement is a row of coverage.md: what the node has to do and the tests that
// show it.
type statement struct {
	line  int
	text  string
	tests []string
}

// TestCoverageNamesRealTests: each statement has a test, and each test is there.
func TestCoverageNamesRealTests(t *testing.T) {
	t.Parallel()
	for _, problem := range check(statements(t, "coverage.md"), testsIn) {
		t.Error(problem)
	}
}

// TestCoverageIsComplete: every word of the closed lists has a row.
func TestCoverageIsComplete(t *testing.T) {
	t.Parallel()
	var first strings.Builder
	for _, s := range statements(t, "coverage.md") {
		first.WriteString(s.text + "\n")
	}
	for _, word := range words() {
		if !strings.Contains(first.String(), "`"+word+"`") {
			t.Errorf("coverage.md has no statement about `%s`", word)
		}
	}
}

func words() []string {
	all := append([]string{}, policy.Known...)
	for _, mode := range policy.Modes {
		all = append(all, string(mode))
	}
	for _, mode := range policy.GrantModes {
		all = append(all, string(mode))
	}
	for _, status := range coordination.TaskStatuses {
		all = append(all, string(status))
	}
	for _, kind := range approvals.Kinds {
		all = append(all, string(kind))
	}
	for _, status := range approvals.Statuses {
		all = append(all, string(status))
	}
	for number := 1; number <= 13; number++ {
		all = append(all, fmt.Sprintf("D%d", number))
	}
	return all
}

// TestCoverageFindsWhatIsMissing plants each kind of gap.
func TestCoverageFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	read := func(place string) (string, error) {
		switch place {
		case "policy":
			return "func TestThere(t *testing.T) {\n{\"in some case\"}", nil
		case "x/testdata/there.txtar":
			return "exec agentlink", nil
		}
		return "", os.ErrNotExist
	}
	planted := []statement{
		{1, "fine", []string{"policy:TestThere", "policy:TestThere/in some case", "x/testdata/there.txtar", "x/testdata/there.txtar:exec agentlink"}},
		{2, "bare", nil},
		{3, "gone", []string{"policy:TestGone"}},
		{4, "no case", []string{"policy:TestThere/other case"}},
		{5, "no folder", []string{"policies:TestThere"}},
		{6, "no script", []string{"x/testdata/gone.txtar"}},
		{7, "no test", []string{"policy"}},
		{8, "no step", []string{"x/testdata/there.txtar:rest 200"}},
		{9, "only alike", []string{"policy:TestTher"}},
	}
	want := []string{
		"coverage.md:2: no test for: bare",
		"coverage.md:3: policy has no TestGone",
		"coverage.md:4: policy has no case other case",
		"coverage.md:5: there are no tests in policies",
		"coverage.md:6: there are no tests in x/testdata/gone.txtar",
		"coverage.md:7: policy names no test",
		"coverage.md:8: x/testdata/there.txtar has no step rest 200",
		"coverage.md:9: policy has no TestTher",
	}
	if diff := cmp.Diff(want, check(planted, read)); diff != "" {
		t.Error(diff)
	}
}

// check lists the gaps. A test is named as package:TestName, with /case where a
// table has many; as package:test_name for Rego; or as a script, with words of one
// of its steps behind a colon.
func check(rows []statement, read func(place string) (string, error)) []string {
	var problems []string
	for _, row := range rows {
		report := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("coverage.md:%d: ", row.line)+fmt.Sprintf(format, args...))
		}
		if len(row.tests) == 0 {
			report("no test for: %s", row.text)
		}
		for _, test := range row.tests {
			if problem := absent(test, read); problem != "" {
				report("%s", problem)
			}
		}
	}
	return problems
}

// absent says what is missing of a named test; "" where it is there.
func absent(test string, read func(place string) (string, error)) string {
	place, name, _ := strings.Cut(test, ":")
	content, err := read(place)
	if err != nil {
		return "there are no tests in " + place
	}
	return missing(place, content, name)
}

// testsIn reads a script, or all the tests of a package.
func testsIn(place string) (string, error) {
	pattern := filepath.Join(root, filepath.FromSlash(place))
	if path.Ext(place) != ".txtar" {
		pattern = filepath.Join(pattern, "*_test.*")
	}
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		return "", fmt.Errorf("no file %s: %w", pattern, os.ErrNotExist)
	}
	var all strings.Builder
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		all.Write(content)
	}
	return all.String(), nil
}

func missing(place, content, test string) string {
	name, subtest, _ := strings.Cut(test, "/")
	switch {
	case path.Ext(place) == ".txtar" && strings.Contains(content, test):
		return ""
	case path.Ext(place) == ".txtar":
		return place + " has no step " + test
	case name == "":
		return place + " names no test"
	case !regexp.MustCompile(`(?m)^(?:func )?` + regexp.QuoteMeta(name) + `(?:\(| if |$)`).MatchString(content):
		return place + " has no " + name
	case !strings.Contains(content, subtest):
		return place + " has no case " + subtest
	}
	return ""
}

// TestReadmeNamesEverySetting: its table has the settings that the node reads,
// and no others.
func TestReadmeNamesEverySetting(t *testing.T) {
	t.Parallel()
	variable := regexp.MustCompile(`AGENTLINK_[A-Z_]+[A-Z]`)
	known, err := os.ReadFile(filepath.Join(root, "node", "config", "config.go"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	want, got := names(variable, string(known)), names(variable, string(readme))
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Error(diff)
	}
}

func names(pattern *regexp.Regexp, text string) []string {
	found := pattern.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

var tick = regexp.MustCompile("`([^`]+)`")

// statements reads the tables of a document: rows of two cells, the second
// with names of tests in backticks.
func statements(t *testing.T, name string) []statement {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var rows []statement
	for i, line := range strings.Split(string(content), "\n") {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) != 2 || strings.Contains(line, "| --- |") || strings.HasPrefix(line, "| statement ") {
			continue
		}
		row := statement{line: i + 1, text: strings.TrimSpace(cells[0])}
		for _, match := range tick.FindAllStringSubmatch(cells[1], -1) {
			row.tests = append(row.tests, match[1])
		}
		rows = append(rows, row)
	}
	if len(rows) < 100 {
		t.Fatalf("%s has %d statements only", name, len(rows))
	}
	return rows
}
