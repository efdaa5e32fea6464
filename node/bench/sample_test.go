package bench

import (
	"slices"
	"time"
)

// sample is how long things took, one by one.
type sample []time.Duration

// at gives the time that a part of them did not need more than.
func (s sample) at(part float64) float64 {
	if len(s) == 0 {
		return 0
	}
	return float64(s[min(len(s)-1, int(part*float64(len(s))))])
}

// row makes a row of it.
func (s sample) row(name, size string) row {
	s = slices.Sorted(slices.Values(s))
	return row{Name: name, Size: size, Unit: "ns", Value: s.at(0.5), P95: s.at(0.95), P99: s.at(0.99), Of: len(s)}
}

// rate is a row of how many were done in a time.
func rate(name, size string, done int, in time.Duration) row {
	return row{Name: name, Size: size, Unit: "per second", Value: float64(done) / in.Seconds(), Of: done}
}

func duration(ns float64) time.Duration { return time.Duration(ns) }
