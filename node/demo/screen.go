package demo

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// side is a column of the screen.
type side int

// The columns.
const (
	left side = iota
	right
)

// screen writes what happens on both nodes beside each other: each line stands
// in the column of its node.
type screen struct {
	out    io.Writer
	column int // characters in a column
}

const (
	leastColumn = 34
	mostColumn  = 60
	gap         = " │ "
)

func newScreen(out io.Writer, width int) *screen {
	column := (width - utf8.RuneCountInString(gap) - 1) / 2
	return &screen{out: out, column: min(max(column, leastColumn), mostColumn)}
}

// say writes a line over the whole width.
func (s *screen) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// title begins a scene.
func (s *screen) title(text string) {
	line := "── " + text + " "
	s.say("\n%s%s", line, strings.Repeat("─", max(0, 2*s.column+3-utf8.RuneCountInString(line))))
}

// head names the columns.
func (s *screen) head(leftLines, rightLines []string) {
	for i := range max(len(leftLines), len(rightLines)) {
		s.row(at(leftLines, i), at(rightLines, i))
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// on writes to one column.
func (s *screen) on(where side, format string, args ...any) {
	for _, line := range wrap(fmt.Sprintf(format, args...), s.column) {
		if where == left {
			s.row(line, "")
		} else {
			s.row("", line)
		}
	}
}

func (s *screen) row(l, r string) {
	pad := strings.Repeat(" ", max(0, s.column-utf8.RuneCountInString(l)))
	s.say("%s", strings.TrimRight(l+pad+gap+r, " "))
}

// wrap breaks text at spaces, and words that are too long anywhere; what follows
// a break is indented.
func wrap(text string, width int) []string {
	var lines []string
	line, indent := "", ""
	flush := func() {
		lines = append(lines, line)
		line, indent = "  ", "  "
	}
	for _, word := range strings.Fields(text) {
		for utf8.RuneCountInString(word) > width-2 {
			if strings.TrimSpace(line) != "" {
				flush()
			}
			runes := []rune(word)
			line += string(runes[:width-2])
			word = string(runes[width-2:])
			flush()
		}
		switch {
		case strings.TrimSpace(line) == "":
			line = indent + word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			flush()
			line = indent + word
		default:
			line += " " + word
		}
	}
	if strings.TrimSpace(line) != "" {
		lines = append(lines, line)
	}
	return lines
}
