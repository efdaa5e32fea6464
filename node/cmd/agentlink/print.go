package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"agentlink/node/display"
)

// print gives the answer: as JSON where a program asks, else as f writes it.
func (c *cli) print(value any, f func()) error {
	if !c.json {
		f()
		return nil
	}
	text, err := indented(value)
	if err != nil {
		return err
	}
	_, err = c.stdout.Write(append(text, '\n'))
	return err
}

// line prints a value as JSON on one line.
func (c *cli) line(value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	_, err = c.stdout.Write(append(display.JSON(raw), '\n'))
	return err
}

func indented(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	return display.JSON(bytes.TrimRight(out.Bytes(), "\n")), nil
}

func (c *cli) say(format string, args ...any) { fmt.Fprintf(c.stdout, format+"\n", args...) }

// table prints rows under a heading, or one sentence where there is none.
func (c *cli) table(none string, heading []string, rows [][]string) {
	if len(rows) == 0 {
		c.say("%s", none)
		return
	}
	c.columns(append([][]string{heading}, rows...))
}

// columns prints aligned columns. Every cell goes through the display function.
func (c *cli) columns(rows [][]string) {
	var aligned bytes.Buffer
	w := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = display.Text(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a buffer takes everything
	for line := range strings.Lines(aligned.String()) {
		c.say("%s", strings.TrimRight(line, " \n"))
	}
}

// facts prints a list of names and values; empty values are left out.
func (c *cli) facts(pairs ...string) {
	var rows [][]string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			rows = append(rows, []string{"  " + pairs[i], pairs[i+1]})
		}
	}
	c.columns(rows)
}

// short is the end of an id, which lists show and commands accept: ids made
// within a minute begin alike.
func short(id string) string {
	if len(id) <= 8 {
		return id
	}
	return id[len(id)-8:]
}

// when prints a time for people: in the machine's zone, to the second.
func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}

func yes(value bool, text string) string {
	if value {
		return text
	}
	return ""
}

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
