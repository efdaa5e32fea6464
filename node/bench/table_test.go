package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"agentlink/node"
)

// row is one figure with its floor of the same run. Times are in nanoseconds.
type row struct {
	Group string `json:"group"`
	Name  string `json:"name"`
	Size  string `json:"size"`
	Unit  string `json:"unit"` // "ns", "per second", "bytes"
	// Value is the median of times, a rate, or bytes. P95 and P99 are there for
	// times that were taken one by one.
	Value float64 `json:"value"`
	P95   float64 `json:"p95,omitempty"`
	P99   float64 `json:"p99,omitempty"`
	Of    int     `json:"of,omitempty"` // how many were taken
	// Floor is what Ratio compares with.
	Floor     float64 `json:"floor,omitempty"`
	FloorName string  `json:"floorName,omitempty"`
	Ratio     float64 `json:"ratio,omitempty"`
	Goal      string  `json:"goal,omitempty"`
	Met       bool    `json:"met,omitempty"`
}

// over sets a floor.
func (r row) over(floor float64, name string) row {
	r.Floor, r.FloorName = floor, name
	if floor > 0 {
		r.Ratio = r.Value / floor
	}
	return r
}

// atMost is a goal for the ratio; atLeast is one where more is better.
func (r row) atMost(ratio float64) row {
	r.Goal, r.Met = fmt.Sprintf("≤ %g ×", ratio), r.Ratio <= ratio
	return r
}

func (r row) atLeast(ratio float64) row {
	r.Goal, r.Met = fmt.Sprintf("≥ %g ×", ratio), r.Ratio >= ratio
	return r
}

// below is a goal for the value itself.
func (r row) below(value float64) row {
	r.Goal, r.Met = "≤ "+amount(value, r.Unit), r.Value <= value
	return r
}

// table is what make bench gives.
type table struct {
	At      time.Time `json:"at"`
	System  string    `json:"system"`
	Go      string    `json:"go"`
	CPUs    int       `json:"cpus"`
	Reduced bool      `json:"reduced,omitempty"` // the smallest sizes, which mean nothing
	Load    string    `json:"load,omitempty"`    // of the machine when it began
	Rows    []row     `json:"rows"`
	group   string
}

func newTable() *table {
	load, _ := os.ReadFile("/proc/loadavg") // elsewhere it is not told
	return &table{
		At: node.SystemClock{}.Now(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), CPUs: runtime.NumCPU(),
		Reduced: !*full, Load: strings.TrimSpace(string(load)),
	}
}

// add shows a row at once. The smallest sizes reach no goals and miss none.
func (t *table) add(r row) {
	if r.Group = t.group; t.Reduced {
		r.Goal, r.Met = "", false
	}
	t.Rows = append(t.Rows, r)
	fmt.Fprintf(os.Stderr, "%s, %s, %s: %s%s\n", r.Group, r.Name, r.Size, amount(r.Value, r.Unit), r.compared())
}

func (r row) compared() string {
	if r.Floor == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.2f × %s, %s)", r.Ratio, amount(r.Floor, r.Unit), r.FloorName)
}

// cells are the columns of a row, as columns names them.
func (r row) cells() []string {
	cells := []string{r.Name, r.Size, amount(r.Value, r.Unit), "", "", "", "", ""}
	if r.P95 > 0 {
		cells[3], cells[4] = amount(r.P95, r.Unit), amount(r.P99, r.Unit)
	}
	if r.Floor > 0 {
		cells[5], cells[6] = amount(r.Floor, r.Unit)+" "+r.FloorName, fmt.Sprintf("%.2f", r.Ratio)
	}
	if r.Goal != "" {
		cells[7] = r.Goal + map[bool]string{true: " met", false: " MISSED"}[r.Met]
	}
	return cells
}

var columns = []string{"what", "size", "p50, rate or bytes", "p95", "p99", "floor", "ratio", "goal"}

// print writes the table for a terminal.
func (t *table) print(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "\n%s, %s, %d CPUs, %s, load %s\n", t.At.Format(time.RFC3339), t.System, t.CPUs, t.Go, t.Load)
	before := ""
	for _, r := range t.Rows {
		if r.Group != before {
			fmt.Fprintf(out, "\n%s\n%s\n", r.Group, strings.Join(columns, "\t"))
			before = r.Group
		}
		fmt.Fprintln(out, strings.Join(r.cells(), "\t"))
	}
	_ = out.Flush()
}

// markdown writes the table for a document.
func (t *table) markdown(w io.Writer) {
	fmt.Fprintf(w, "Taken on %s: %s, %d cores, %s, load before %s.\n", t.At.Format(time.DateOnly), t.System, t.CPUs, t.Go, t.Load)
	before := ""
	for _, r := range t.Rows {
		if r.Group != before {
			fmt.Fprintf(w, "\n### %s\n\n| %s |\n|%s\n", strings.ToUpper(r.Group[:1])+r.Group[1:], strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
			before = r.Group
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(r.cells(), " | "))
	}
}

func (t *table) write(tb testing.TB, path string) {
	content, err := json.MarshalIndent(t, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(content, '\n'), 0o600)
	}
	if err != nil {
		tb.Error(err)
	}
}

// amount writes a value with three figures and its unit.
func amount(value float64, unit string) string {
	switch unit {
	case "bytes":
		return scaled(value, 1024, "B", "KiB", "MiB", "GiB")
	case "ns":
		return scaled(value, 1000, "ns", "µs", "ms", "s")
	}
	return fmt.Sprintf("%.4g/s", value)
}

func scaled(value, step float64, units ...string) string {
	for ; value >= step && len(units) > 1; units = units[1:] {
		value /= step
	}
	if value >= 1000 {
		return fmt.Sprintf("%.0f %s", value, units[0])
	}
	return fmt.Sprintf("%.3g %s", value, units[0])
}
