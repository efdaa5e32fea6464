package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// standard is the standard's own file, as OWASP publishes it.
const standard = root + "/../shared/vectors/asvs/asvs-5.0.0.flat.json"

// item is one requirement of the standard, and a row of asvs.md.
type item struct{ id, level, asks, answer string }

// TestASVSIsWhole: asvs.md has each item of the levels 1 and 2, at its level, once,
// and no others.
func TestASVSIsWhole(t *testing.T) {
	t.Parallel()
	content := readStandard(t)
	var document struct {
		Requirements []struct {
			ID    string `json:"req_id"`
			Level string `json:"L"`
		} `json:"requirements"`
	}
	if err := json.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, r := range document.Requirements {
		if r.Level == "1" || r.Level == "2" {
			want = append(want, r.ID+" "+r.Level)
		}
	}
	for _, i := range items(t) {
		got = append(got, i.id+" "+i.level)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 253 {
		t.Errorf("asvs.md (-standard +table), %d items: %s", len(want), diff)
	}
}

// readStandard needs the folder of public vectors beside the repository.
func readStandard(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(standard))
	if err == nil {
		return content
	}
	if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	t.Skip("the standard is not there: ../shared/vectors/asvs")
	return nil
}

// TestASVSIsAnswered: each item has tests and parts of documents that are there, or
// says why it has none. What is not met is counted, and listed.
func TestASVSIsAnswered(t *testing.T) {
	t.Parallel()
	all := items(t)
	for _, problem := range unanswered(all, testsIn, readDocument) {
		t.Error(problem)
	}
	var open []string
	for _, i := range all {
		if strings.HasPrefix(i.answer, notMet) {
			open = append(open, i.id)
		}
	}
	if diff := cmp.Diff(notMetItems, open); diff != "" {
		t.Errorf("what is not met (-known +table): %s", diff)
	}
	t.Logf("%d of %d items are not met: %s", len(open), len(all), strings.Join(open, ", "))
}

// notMetItems are known; a row that joins them has to be a choice, and so has to be
// written twice.
var notMetItems []string

const (
	notMet       = "not met: "
	doesNotApply = "N/A: "
	inDocument   = "doc:"
	byMake       = "make:"
	// leastReason keeps reasons from being none.
	leastReason = 15
)

// TestASVSFindsWhatIsMissing plants each kind of gap.
func TestASVSFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	tests := func(place string) (string, error) {
		if place == "policy" {
			return "func TestThere(t *testing.T) {", nil
		}
		return "", os.ErrNotExist
	}
	documents := func(name string) (string, error) {
		switch name {
		case "node/docs/there.md":
			return "# There\n\n## Some Words (here)\n", nil
		case "Makefile":
			return "test: check ## all\n\t$(MAKE) hostile\ncheck: lint ## a look\nlint:\nhostile:\nbench: ## by itself\n", nil
		}
		return "", os.ErrNotExist
	}
	planted := []item{
		{"V1", "1", "a", "`policy:TestThere`, `doc:node/docs/there.md#some-words-here`"},
		{"V2", "1", "b", "N/A: there is nothing of the kind."},
		{"V3", "1", "c", "not met: nobody has done it yet."},
		{"V4", "1", "d", "N/A: no"},
		{"V5", "1", "e", "not met: "},
		{"V6", "1", "f", "by care"},
		{"V7", "1", "g", "`policy:TestGone`"},
		{"V8", "1", "h", "`doc:node/docs/there.md#elsewhere`"},
		{"V9", "1", "i", "`doc:node/docs/gone.md#there`"},
		{"V10", "1", "j", "`doc:node/docs/there.md`"},
		{"V11", "1", "", "`policy:TestThere`"},
		{"V12", "1", "k", "N/A: there is nothing of the kind (`policy:TestGone`)."},
		{"V13", "1", "l", "`make:lint`, `make:hostile`"},
		{"V14", "1", "m", "`make:bench`"},
	}
	want := []string{
		"V4: the reason is none: N/A: no", "V5: the reason is none: not met: ", "V6: no test, document or reason: by care", "V7: policy has no TestGone",
		"V8: node/docs/there.md has no part elsewhere", "V9: there is no document node/docs/gone.md", "V10: node/docs/there.md has no part ",
		"V11: it does not say what is asked", "V12: policy has no TestGone", "V14: make test does not run bench",
	}
	if diff := cmp.Diff(want, unanswered(planted, tests, documents)); diff != "" {
		t.Error(diff)
	}
}

func items(t *testing.T) (all []item) {
	t.Helper()
	for _, cells := range tableRows(t, "asvs.md", "| id | level |") {
		if len(cells) != 4 {
			t.Fatalf("a row of asvs.md has %d cells: %v", len(cells), cells)
		}
		all = append(all, item{cells[0], cells[1], cells[2], cells[3]})
	}
	return all
}

// unanswered lists what is wrong with answers.
func unanswered(all []item, tests, documents func(string) (string, error)) (problems []string) {
	for _, i := range all {
		report := func(format string, args ...any) {
			problems = append(problems, i.id+": "+fmt.Sprintf(format, args...))
		}
		reasoned := strings.HasPrefix(i.answer, notMet) || strings.HasPrefix(i.answer, doesNotApply)
		_, reason, _ := strings.Cut(i.answer, ": ")
		named := tick.FindAllStringSubmatch(i.answer, -1)
		switch {
		case i.asks == "":
			report("it does not say what is asked")
		case reasoned && len(reason) < leastReason:
			report("the reason is none: %s", i.answer)
		case !reasoned && len(named) == 0:
			report("no test, document or reason: %s", i.answer)
		}
		for _, match := range named {
			if problem := lacks(match[1], tests, documents); problem != "" {
				report("%s", problem)
			}
		}
	}
	return problems
}

// lacks says what is missing of a name in backticks: a test, a part of a document,
// as doc:path#heading, or a check of make test that is no Go test, as make:target.
func lacks(name string, tests, documents func(string) (string, error)) string {
	if target, found := strings.CutPrefix(name, byMake); found {
		if makefile, err := documents("Makefile"); err != nil || !slices.Contains(madeFor(makefile, "test"), target) {
			return "make test does not run " + target
		}
		return ""
	}
	if document, found := strings.CutPrefix(name, inDocument); found {
		path, part, _ := strings.Cut(document, "#")
		content, err := documents(path)
		if err != nil {
			return "there is no document " + path
		}
		if !anchors(content)[part] {
			return path + " has no part " + part
		}
		return ""
	}
	return absent(name, tests)
}

// madeFor lists what make makes for a target: what stands behind its colon, and what
// its recipe calls make for, each with what is made for it.
func madeFor(makefile, target string) (all []string) {
	rule := regexp.MustCompile(`(?m)^` + target + `:(.*)\n((?:\t.*\n)*)`).FindStringSubmatch(makefile)
	if rule == nil {
		return nil
	}
	needs, _, _ := strings.Cut(rule[1], "##")
	next := strings.Fields(needs)
	for _, call := range regexp.MustCompile(`\$\(MAKE\) ([a-z-]+)`).FindAllStringSubmatch(rule[2], -1) {
		next = append(next, call[1])
	}
	for _, n := range next {
		all = append(append(all, n), madeFor(makefile, n)...)
	}
	return all
}

func readDocument(name string) (string, error) {
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	return string(content), err
}

// TestOwnWords: an item is asked for in words of ours, not in the standard's.
func TestOwnWords(t *testing.T) {
	t.Parallel()
	text := strings.Fields(strings.ToLower(string(readStandard(t))))
	for _, i := range items(t) {
		words := strings.Fields(strings.ToLower(i.asks))
		for at := 0; at+borrowed <= len(words); at++ {
			if containsRun(text, words[at:at+borrowed]) {
				t.Errorf("%s is asked for in the standard's words: %s", i.id, strings.Join(words[at:at+borrowed], " "))
			}
		}
	}
}

// borrowed is how many words in a row are no accident.
const borrowed = 6

func containsRun(text, run []string) bool {
	for at := 0; at+len(run) <= len(text); at++ {
		if slices.Equal(text[at:at+len(run)], run) {
			return true
		}
	}
	return false
}
