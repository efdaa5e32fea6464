package durability

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/config"
)

// What a node owes when its database goes away and comes back.
const (
	redWithin       = 2 * time.Second
	recoveredWithin = 10 * time.Second
)

// budget is how long the tests that repeat something go on;
// AGENTLINK_DURABILITY_TIME=60s makes them longer.
func budget(t testing.TB, usual time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv("AGENTLINK_DURABILITY_TIME")
	if text == "" {
		return usual
	}
	d, err := time.ParseDuration(text)
	must(t, err)
	return d
}

// server is a PostgreSQL server of this test's own.
type server struct {
	t                      testing.TB
	programs, folder, port string
}

func newServer(t testing.TB) *server {
	t.Helper()
	folder, err := os.MkdirTemp("", "alkpg")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return newServerIn(t, folder)
}

// newServerIn is one that keeps everything in a folder.
func newServerIn(t testing.TB, folder string) *server {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	must(t, err)
	if len(found) == 0 {
		if os.Getenv("AGENTLINK_REQUIRE_POSTGRES") == "1" {
			t.Fatal("PostgreSQL is missing, and AGENTLINK_REQUIRE_POSTGRES=1 asks for it")
		}
		t.Skip("needs PostgreSQL: .ci/packages installs it")
	}
	s := &server{t: t, programs: slices.Max(found), folder: folder, port: freePort(t)}
	t.Cleanup(func() { _ = s.run("pg_ctl", "stop", "-m", "immediate", "-D", s.data()) })
	if os.Getuid() == 0 {
		must(t, exec.CommandContext(t.Context(), "chown", "postgres:", folder).Run())
	}
	must(t, s.run("initdb", "-D", s.data(), "-U", "agentlink", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions", "--no-sync", "--wal-segsize=1"))
	s.start()
	return s
}

func (s *server) data() string { return filepath.Join(s.folder, "data") }

// run runs a program of PostgreSQL's, which refuses root.
func (s *server) run(program string, args ...string) error {
	command := append([]string{filepath.Join(s.programs, program)}, args...)
	if os.Getuid() == 0 {
		command = append([]string{"runuser", "-u", "postgres", "--"}, command...)
	}
	c := exec.Command(command[0], command[1:]...) //nolint:noctx // also runs when the test has ended
	c.Dir = "/"
	output, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, output)
	}
	return nil
}

// A crash of the server alone loses nothing that it gave to the system, so fsync
// is off.
func (s *server) start() {
	s.t.Helper()
	options := "-p " + s.port + " -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=60 -c min_wal_size=2MB -c max_wal_size=8MB"
	must(s.t, s.run("pg_ctl", "start", "-w", "-s", "-D", s.data(), "-l", filepath.Join(s.folder, "log"), "-o", options))
}

// up says whether the server runs.
func (s *server) up() bool { return s.run("pg_ctl", "status", "-D", s.data()) == nil }

func (s *server) crash() {
	s.t.Helper()
	must(s.t, s.run("pg_ctl", "stop", "-w", "-s", "-m", "immediate", "-D", s.data()))
}

func (s *server) url() string {
	return "postgres://agentlink@127.0.0.1:" + s.port + "/postgres?sslmode=disable"
}

// TestDatabaseCrashes: the server of databases is stopped at once, under load,
// again and again. What an agent was told is there is there; the node says soon
// that it is not ready, and soon that it is again.
func TestDatabaseCrashes(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	p := newPlay(t, server.url())
	l := newLoad(t, "crash", p.ofA, p.victim)
	l.start(4)
	clock := node.SystemClock{}
	cycles, slowestRed, slowestBack := 0, time.Duration(0), time.Duration(0)
	for end := clock.Now().Add(budget(t, 20*time.Second)); clock.Now().Before(end) && cycles < 20; cycles++ {
		before := len(l.snapshot())
		within(t, recoveredWithin, "messages are taken", func() bool { return len(l.snapshot()) > before+5 })
		server.crash()
		slowestRed = max(slowestRed, within(t, redWithin, "readiness is red", func() bool { return !p.victim.ready() }))
		server.start()
		slowestBack = max(slowestBack, within(t, recoveredWithin, "readiness is back", p.victim.ready))
	}
	taken := l.end()
	t.Logf("%d crashes, %d messages taken; red within %s, back within %s; refusals %v", cycles, len(taken), slowestRed, slowestBack, l.refused)
	l.wantClean()
	l.wantAll(p)
	p.wantWhole()
}

func (l *load) snapshot() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	copied := make(map[string]string, len(l.taken))
	for text, id := range l.taken {
		copied[text] = id
	}
	return copied
}

// wantWhole says that the outbox drains and both logs are whole.
func (p *play) wantWhole() {
	p.t.Helper()
	p.until("the outbox drains", func() bool { return p.count("outbox") == 0 })
	if report := command[audit.Report](p.victim, socket.AuditVerify, socket.VerifyLog{Deep: true}); !report.OK() {
		p.t.Errorf("the audit log is not whole: %s", report.Problem)
	}
	p.peer.VerifyAudit()
}

// smallDisk is a folder on a small disk of its own, where mounting is allowed.
func smallDisk(t testing.TB, size string) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "alkfs")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("needs to mount a small tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(folder, 0) })
	return folder
}

// TestDiskFull: the disk with the SQLite file has no space left, again and again.
// The agents are told unavailable and never success; readiness says so; with the
// space back everything goes on by itself.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "24m")
	fillAgainAndAgain(t, newPlayIn(t, disk), disk, func() {})
}

// TestServerDiskFull: the disk with the whole PostgreSQL has no space left. The
// server may end by itself; then it is started when there is space again.
func TestServerDiskFull(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "160m")
	server := newServerIn(t, disk)
	fillAgainAndAgain(t, newPlay(t, server.url()), disk, func() {
		if !server.up() {
			server.start()
		}
	})
}

// fillAgainAndAgain fills a disk under load until agents are refused and
// readiness is red, makes space, mends what does not mend itself, and wants
// readiness back.
func fillAgainAndAgain(t *testing.T, p *play, disk string, mend func()) {
	t.Helper()
	l := newLoad(t, "full", p.ofA, p.victim)
	l.start(4)
	filler := filepath.Join(disk, "filler")
	clock := node.SystemClock{}
	cycles, slowestRed, slowestBack := 0, time.Duration(0), time.Duration(0)
	for end := clock.Now().Add(budget(t, 10*time.Second)); clock.Now().Before(end) && cycles < 20; cycles++ {
		before := len(l.snapshot())
		within(t, recoveredWithin, "messages are taken", func() bool { return len(l.snapshot()) > before+5 })
		fill(t, filler)
		refused := l.refusals()
		within(t, recoveredWithin, "agents are refused", func() bool { return l.refusals() > refused })
		slowestRed = max(slowestRed, within(t, redWithin, "readiness is red", func() bool { fill(t, filler); return !p.victim.ready() }))
		must(t, os.Remove(filler))
		mend()
		slowestBack = max(slowestBack, within(t, recoveredWithin, "readiness is back", p.victim.ready))
	}
	taken := l.end()
	t.Logf("%d times full, %d messages taken; red within %s, back within %s; refusals %v", cycles, len(taken), slowestRed, slowestBack, l.refused)
	l.wantClean()
	if l.refused["503 unavailable"] == 0 {
		t.Errorf("nobody was told unavailable: %v", l.refused)
	}
	l.wantAll(p)
	p.wantWhole()
}

func (l *load) refusals() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, count := range l.refused {
		n += count
	}
	return n
}

// fill writes until there is no space left, not even for a small page.
func fill(t testing.TB, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	defer func() { _ = file.Close() }()
	for _, size := range []int{1 << 20, 4096, 1} {
		for block := []byte(strings.Repeat("x", size)); err == nil; {
			_, err = file.Write(block)
		}
		err = nil
	}
}

// newPlayIn is a play whose node keeps everything in a folder.
func newPlayIn(t *testing.T, folder string) *play {
	t.Helper()
	p := &play{t: t, clock: &shifted{}}
	p.victim = newVictimIn(t, folder, "", p.clock)
	p.looker = newLooker(t, "sqlite:"+p.victim.settings[config.DataDirName]+"/node.db")
	p.join()
	return p
}
