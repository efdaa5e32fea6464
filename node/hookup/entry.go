package hookup

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// member is a name and a value: a string, a list of strings, a number, or in a
// shape a part of the server.
type member struct {
	name  string
	value any
}

// shape is the form of a server in a file of settings, entry a server in that form.
type (
	shape []member
	entry []member
)

// part stands in a shape for a part of the server.
type part int

const (
	theCommand part = iota
	theArgs
	theURL
)

func (p part) of(s Server) any {
	switch p {
	case theCommand:
		return s.Command
	case theArgs:
		return s.args()
	default:
		return s.mcpURL()
	}
}

// entry is a server as it stands in the client's file.
func (c Client) entry(s Server) entry {
	form := c.stdio
	if s.HTTP {
		form = c.http
	}
	filled := make(entry, len(form))
	for i, m := range form {
		if p, ok := m.value.(part); ok {
			m.value = p.of(s)
		}
		filled[i] = m
	}
	return filled
}

// own says whether a member of an entry is one that we write, in whichever way.
func (c Client) own(name string) bool {
	for _, m := range append(append(shape{}, c.stdio...), c.http...) {
		if m.name == name {
			return true
		}
	}
	return false
}

// Lines is what has to stand in the client's file, whole.
func (c Client) Lines(s Server) string {
	if c.format == asTOML {
		return strings.TrimSuffix(c.entry(s).toml(c.table[0]+"."+s.Name), "\n")
	}
	path := append(append([]string{}, c.table...), s.Name)
	var out strings.Builder
	indent := ""
	for _, name := range path {
		out.WriteString("{\n" + indent + "  " + quoted(name) + ": ")
		indent += "  "
	}
	out.WriteString(c.entry(s).object(indent, "  "))
	for range path {
		indent = indent[:len(indent)-2]
		out.WriteString("\n" + indent + "}")
	}
	return out.String()
}

// object is JSON over several lines; its own lines begin with indent. With unit ""
// it is one line.
func (e entry) object(indent, unit string) string {
	lines := make([]string, len(e))
	for i, m := range e {
		lines[i] = quoted(m.name) + ": " + literal(m.value)
	}
	if unit == "" {
		return "{" + strings.Join(lines, ", ") + "}"
	}
	between := "\n" + indent + unit
	return "{" + between + strings.Join(lines, ","+between) + "\n" + indent + "}"
}

func (e entry) line() string { return e.object("", "") }

// toml is a table, with a line break at its end.
func (e entry) toml(name string) string {
	lines := "[" + name + "]\n"
	for _, m := range e {
		lines += m.name + " = " + literal(m.value) + "\n"
	}
	return lines
}

// literal writes a value as both JSON and TOML read it.
func literal(value any) string {
	switch v := value.(type) {
	case string:
		return quoted(v)
	case int:
		return strconv.Itoa(v)
	default:
		list, _ := v.([]string)
		words := make([]string, len(list))
		for i, word := range list {
			words[i] = quoted(word)
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
}

// quoted writes a string as both JSON and TOML read it.
func quoted(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string is always written
	return strings.ReplaceAll(strings.TrimSuffix(out.String(), "\n"), "\x7f", `\u007f`)
}

// plain is the entry as a decoder reads it: numbers by their text.
func (e entry) plain() map[string]any {
	all := map[string]any{}
	for _, m := range e {
		all[m.name] = m.value
	}
	return all
}
