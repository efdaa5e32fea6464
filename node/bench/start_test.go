package bench

import (
	"os"
	"testing"
	"time"
)

// What the program is to keep.
const (
	mostStart  = 500 * time.Millisecond
	mostMemory = 60 << 20
	mostBinary = 45_000_000
)

// startRows are the program's size, its start and what it needs when it has
// nothing to do.
func startRows(t *testing.T, table *table) {
	info, err := os.Stat(program(t))
	if err != nil {
		t.Fatal(err)
	}
	table.add(row{Name: "the program, static and stripped", Unit: "bytes", Value: float64(info.Size())}.below(mostBinary))
	for _, kind := range []engine{sqlite, postgres} {
		t.Run(string(kind), func(t *testing.T) {
			p := newProcess(t, kind.database(t))
			var starts sample
			for range size(1, 21) {
				p.start()
				starts = append(starts, p.started)
				p.stop()
			}
			table.add(starts.row("start, until it is ready", string(kind)).below(float64(mostStart)))
			p.start()
			time.Sleep(size(100*time.Millisecond, 5*time.Second))
			table.add(row{Name: "memory with nothing to do", Size: string(kind), Unit: "bytes", Value: p.status("VmRSS")}.below(mostMemory))
			work := p.work()
			time.Sleep(size(100*time.Millisecond, time.Minute))
			table.add(row{Name: "processor in a minute with nothing to do", Size: string(kind), Unit: "ns", Value: float64(p.work() - work)})
		})
	}
}
