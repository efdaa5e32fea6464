package hookup

import (
	"bytes"
	"reflect"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

const notTOML = leave("cannot be read as TOML")

var (
	anyHeader = regexp.MustCompile(`^\s*\[`)
	keyLine   = regexp.MustCompile(`^\s*"?([A-Za-z0-9_-]+)"?\s*=`)
)

func decodeTOML(content []byte) (map[string]any, error) {
	var all map[string]any
	if err := toml.Unmarshal(content, &all); err != nil {
		return nil, notTOML
	}
	if all == nil {
		all = map[string]any{}
	}
	return all, nil
}

// entryOf finds the table of a server; nil where there is none.
func (c Client) entryOf(all map[string]any, name string) map[string]any {
	servers, _ := all[c.table[0]].(map[string]any)
	entry, _ := servers[name].(map[string]any)
	return entry
}

// addTOML writes the server's table at the end, or its lines in the place of the
// old ones. A text that this does not fit is noticed when it is read again.
func (c Client) addTOML(content []byte, s Server) ([]byte, Change, error) {
	before, err := decodeTOML(content)
	if err != nil {
		return nil, Unchanged, err
	}
	old, fresh := c.entryOf(before, s.Name), c.entry(s)
	lines, change := strings.SplitAfter(string(content), "\n"), Replaced
	from, to := block(lines, c.table[0], s.Name)
	switch {
	case old != nil && c.same(old, fresh):
		return content, Unchanged, nil
	case old == nil:
		change = Added
		lines = append(lines, separator(content), fresh.toml(c.table[0]+"."+s.Name))
	case from < 0:
		return nil, Unchanged, unsure
	default:
		kept, err := c.foreign(lines[from+1 : to])
		if err != nil {
			return nil, Unchanged, err
		}
		middle := append([]string{fresh.toml(c.table[0] + "." + s.Name)}, kept...)
		lines = append(append(append([]string{}, lines[:from]...), middle...), lines[to:]...)
	}
	result := []byte(strings.Join(lines, ""))
	return result, change, c.onlyOursTOML(before, result, s.Name, fresh)
}

// separator stands between what is there and a table at the end.
func separator(content []byte) string {
	switch {
	case len(bytes.TrimSpace(content)) == 0:
		return ""
	case !bytes.HasSuffix(content, []byte("\n")):
		return "\n\n"
	}
	return "\n"
}

// same says whether a table has just our members, beside those of others.
func (c Client) same(old map[string]any, fresh entry) bool {
	want := normal(fresh.plain())
	for name := range old {
		if _, wanted := want[name]; c.own(name) && !wanted {
			return false
		}
	}
	for name, value := range want {
		if !reflect.DeepEqual(normal(map[string]any{"": old[name]})[""], value) {
			return false
		}
	}
	return true
}

// normal writes numbers and lists as the decoder gives them.
func normal(all map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range all {
		switch v := value.(type) {
		case int:
			value = int64(v)
		case []string:
			list := make([]any, len(v))
			for i, word := range v {
				list[i] = word
			}
			value = list
		}
		out[name] = value
	}
	return out
}

// block finds the lines of a server's own table: from its header to the last line
// that belongs to it. from is -1 where it is written in another form.
func block(lines []string, table, name string) (from, to int) {
	header := regexp.MustCompile(`^\s*\[\s*"?` + regexp.QuoteMeta(table) + `"?\s*\.\s*"?` + regexp.QuoteMeta(name) + `"?\s*\]\s*$`)
	return region(lines, header, 0)
}

func region(lines []string, header *regexp.Regexp, start int) (from, to int) {
	for i := start; i < len(lines); i++ {
		if !header.MatchString(lines[i]) {
			continue
		}
		end := i + 1
		for end < len(lines) && !anyHeader.MatchString(lines[end]) {
			end++
		}
		for end > i+1 && isRemark(lines[end-1]) {
			end-- // remarks before a header belong to what follows
		}
		return i, end
	}
	return -1, -1
}

func isRemark(line string) bool {
	text := strings.TrimSpace(line)
	return text == "" || strings.HasPrefix(text, "#")
}

// foreign are the lines of a table that are not ours. A remark on a line of ours
// would be lost, so that there the table is left to people.
func (c Client) foreign(lines []string) (kept []string, err error) {
	ours := false
	for _, line := range lines {
		if found := keyLine.FindStringSubmatch(line); found != nil {
			ours = c.own(found[1])
		}
		switch {
		case !ours || isRemark(line):
			kept = append(kept, line)
		case strings.Contains(line, "#"):
			return nil, leave("has a remark on a line that would be replaced")
		}
	}
	return kept, nil
}

// removeTOML takes out the server's table and those beneath it.
func (c Client) removeTOML(content []byte, name string) ([]byte, Change, error) {
	before, err := decodeTOML(content)
	if err != nil {
		return nil, Unchanged, err
	}
	if c.entryOf(before, name) == nil {
		return content, Unchanged, nil
	}
	header := regexp.MustCompile(`^\s*\[\s*"?` + regexp.QuoteMeta(c.table[0]) + `"?\s*\.\s*"?` + regexp.QuoteMeta(name) + `"?\s*(\.[^\]]*)?\]\s*(#.*)?$`)
	lines := strings.SplitAfter(string(content), "\n")
	for from, to := region(lines, header, 0); from >= 0; from, to = region(lines, header, 0) {
		if from > 0 && strings.TrimSpace(lines[from-1]) == "" {
			from--
		}
		lines = append(append([]string{}, lines[:from]...), lines[to:]...)
	}
	result := []byte(strings.Join(lines, ""))
	return result, Removed, c.onlyOursTOML(before, result, name, nil)
}

// onlyOursTOML fails where more than the server's table changed, or where the
// table is not as it should be.
func (c Client) onlyOursTOML(before map[string]any, after []byte, name string, want entry) error {
	all, err := decodeTOML(after)
	if err != nil {
		return unsure
	}
	entry := c.entryOf(all, name)
	if (want == nil) != (entry == nil) || want != nil && !c.same(entry, want) {
		return unsure
	}
	old := c.entryOf(before, name)
	for member := range old {
		if want != nil && !c.own(member) && !reflect.DeepEqual(old[member], entry[member]) {
			return unsure
		}
	}
	if !reflect.DeepEqual(without(before, c.table, name), without(all, c.table, name)) {
		return unsure
	}
	return nil
}
