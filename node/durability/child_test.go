package durability

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"agentlink/actions"
	"agentlink/actions/executor/calendar"
	"agentlink/actions/executor/reservation"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/app"
	"agentlink/node/config"
)

// The tests start this binary a second time as a node, which they kill. What it
// is told stands in its environment, and comes line by line on its input.
const (
	childName   = "AGENTLINK_DURABILITY_CHILD" // 1: be a node
	journalName = "AGENTLINK_DURABILITY_JOURNAL"
	offsetName  = "AGENTLINK_DURABILITY_OFFSET" // of the clock, in nanoseconds
	pointName   = "AGENTLINK_DURABILITY_POINT"  // a point from the start on
	sizeName    = "AGENTLINK_DURABILITY_FILESIZE"
)

func TestMain(m *testing.M) {
	if os.Getenv(childName) == "" {
		os.Exit(m.Run())
	}
	if err := beNode(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// shifted is the machine's clock, some time ahead. Tests of what falls due shift it.
type shifted struct{ ahead atomic.Int64 }

func (c *shifted) Now() time.Time {
	return node.SystemClock{}.Now().Add(time.Duration(c.ahead.Load()))
}

func beNode() error {
	settings, err := config.Load(os.Getenv)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c := &child{clock: &shifted{}, journal: os.Getenv(journalName)}
	c.order("ahead " + os.Getenv(offsetName))
	c.order("die " + os.Getenv(pointName))
	wire := &tripwire{around: c.around}
	running, err := app.New(ctx, settings, app.Options{
		Clock: c.clock, Poll: 20 * time.Millisecond, WrapDatabase: wire.wrap, Version: "test",
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Executors: []actions.Executor{
			journaled{Executor: reservation.Executor{}, child: c, idempotent: true},
			journaled{Executor: calendar.Executor{}, child: c},
		},
	})
	if err != nil {
		return err
	}
	go c.listen(stop)
	return running.Serve(ctx, func(info socket.Info) {
		line, _ := json.Marshal(info)
		fmt.Println(string(line))
	})
}

// child is what the node of this process is told.
type child struct {
	clock   *shifted
	journal string
	mu      sync.Mutex
	point   *point
}

// listen follows orders, and ends the node when there are no more.
func (c *child) listen(stop func()) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		c.order(lines.Text())
		fmt.Println("done")
	}
	stop()
}

func (c *child) order(line string) {
	what, value, _ := strings.Cut(line, " ")
	switch {
	case value == "":
	case what == "ahead":
		var ahead int64
		_, _ = fmt.Sscan(value, &ahead)
		c.clock.ahead.Store(ahead)
	case what == "die":
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.IndexFunc(points, func(p point) bool { return p.name == value })
		if i < 0 {
			fmt.Fprintln(os.Stderr, "no such point:", value)
			os.Exit(2)
		}
		p := points[i]
		c.point = &p
	}
}

// around dies where the point says so.
func (c *child) around(on *conn, statement string, over bool) {
	if !over {
		if strings.HasPrefix(statement, "BEGIN") {
			on.seen = nil
		}
		on.seen = append(on.seen, statement)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.point == nil || c.point.over != over || !c.point.at(statement, on.seen) {
		return
	}
	if c.point.skip > 0 {
		c.point.skip--
		return
	}
	die()
}

// dieIn dies before or after an effect.
func (c *child) dieIn(place string, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.point != nil && c.point.effect == place && c.point.over == over {
		die()
	}
}

// die is what kill -9 does, and no return.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// journaled is an executor that writes down what it does, as the program of
// somebody else would: an effect is on the disk before it is told. With a key
// that it knows, the idempotent one does nothing.
type journaled struct {
	actions.Executor
	child      *child
	idempotent bool
}

func (j journaled) Idempotent() bool { return j.idempotent }

func (j journaled) Execute(ctx context.Context, key string, parameters json.RawMessage) (actions.Result, error) {
	result, err := j.Executor.Execute(ctx, key, parameters)
	if err != nil {
		return result, err
	}
	j.child.dieIn(j.Name(), false)
	line := j.Name() + " " + key
	if !j.idempotent || !slices.Contains(readJournal(j.child.journal), line) {
		if err := writeJournal(j.child.journal, line); err != nil {
			return actions.Result{}, err
		}
	}
	j.child.dieIn(j.Name(), true)
	return result, nil
}

func readJournal(path string) []string {
	content, _ := os.ReadFile(path)
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

func writeJournal(path, line string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteString(line + "\n"); err != nil {
		return err
	}
	return file.Sync()
}
