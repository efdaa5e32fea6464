package view

import (
	"fmt"
	"strconv"
	"time"
)

// Day is how many decisions of a day had each outcome.
type Day struct {
	Day                    time.Time // its beginning, UTC
	Allowed, Held, Refused int
}

func (d Day) total() int { return d.Allowed + d.Held + d.Refused }

// bar is a rectangle of a chart, in its own units.
type bar struct{ X, Y, Width, Height, Class string }

// The chart's units: a day is 10 wide with a gap of 2, the highest is 60 high.
const (
	dayWidth    = 10
	barWidth    = 8
	chartHeight = 60
)

func chartBox(days []Day) string { return fmt.Sprintf("0 0 %d %d", dayWidth*len(days), chartHeight) }

func bars(days []Day) []bar {
	most := 1
	for _, d := range days {
		most = max(most, d.total())
	}
	var list []bar
	for i, d := range days {
		top := float64(chartHeight)
		for _, part := range []struct {
			count int
			class string
		}{{d.Allowed, "allow"}, {d.Held, "hold"}, {d.Refused, "refuse"}} {
			if part.count == 0 {
				continue
			}
			height := float64(part.count) / float64(most) * chartHeight
			top -= height
			list = append(list, bar{
				X: strconv.Itoa(i*dayWidth + 1), Y: tenths(top), Width: strconv.Itoa(barWidth), Height: tenths(height), Class: part.class,
			})
		}
	}
	return list
}

func tenths(value float64) string { return strconv.FormatFloat(value, 'f', 1, 64) }

// chartWords says what the chart shows to whoever does not see it.
func chartWords(days []Day) string {
	var allowed, held, refused int
	var busiest Day
	for _, d := range days {
		allowed, held, refused = allowed+d.Allowed, held+d.Held, refused+d.Refused
		if d.total() > busiest.total() {
			busiest = d
		}
	}
	text := fmt.Sprintf("Decisions of the rules in the last %d days: %d allowed, %d held for you, %d refused", len(days), allowed, held, refused)
	if busiest.total() == 0 {
		return text + "."
	}
	return text + fmt.Sprintf("; most on %s, %d.", busiest.Day.Format("2 January"), busiest.total())
}

// busyDays are the days with a decision, the latest first.
func busyDays(days []Day) []Day {
	var busy []Day
	for i := len(days) - 1; i >= 0; i-- {
		if days[i].total() > 0 {
			busy = append(busy, days[i])
		}
	}
	return busy
}
