package bench

import (
	"crypto/ed25519"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"agentlink/node/seal"
)

// The floor is two bare programs, one that sends and one that receives: the same
// number of commits, signatures and sealed values as the nodes have, one POST
// over loopback, and nothing else. They are this binary, started once more.
const bareName = "AGENTLINK_BENCH_BARE"

// chores is what one side does for one message. Each commit inserts 1 KiB and
// updates one row, and is on the disk when it returns.
type chores struct {
	Commits, Signs, Verifies int
	Seals, Opens             int // of values at rest, 256 B each
	PeerSeals, PeerOpens     int // with the peer's key
}

// plan is what a bare program is told.
type plan struct {
	Engine  engine
	URL     string // of the database
	Work    chores
	Senders int           // 0: it receives
	Count   int           // so many messages in all
	For     time.Duration // or as many as it can
	Peer    string        // where it posts; "" for no POST
}

// bareResult is what the one that sends prints, and the processor's time of both.
type bareResult struct {
	Times   sample
	Elapsed time.Duration
	Work    time.Duration
}

// bare is the state of a bare program.
type bare struct {
	plan
	db        *sql.DB
	one       sync.Mutex // SQLite has one writer
	box       *seal.Box
	identity  *seal.Identity
	recipient string
	public    ed25519.PublicKey
	private   ed25519.PrivateKey
	body      []byte
	value     []byte // at rest
	signature []byte
	sealed    []byte
	forPeer   []byte
}

func beBare(text string) error {
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	b, err := newBare(p)
	if err != nil {
		return err
	}
	if p.Senders == 0 {
		return b.receive()
	}
	return b.send()
}

var place = seal.Place{Table: "m", Column: "body", Row: "1", Owner: "o"}

func newBare(p plan) (b *bare, err error) {
	b = &bare{plan: p, box: seal.NewBox(make([]byte, 32)), body: make([]byte, 1<<10), value: make([]byte, 256)}
	text, recipient := seal.NewKeyPair()
	b.recipient = recipient
	if b.identity, err = seal.ParseIdentity(text); err != nil {
		return nil, err
	}
	if b.public, b.private, err = ed25519.GenerateKey(nil); err != nil {
		return nil, err
	}
	b.signature = ed25519.Sign(b.private, b.body)
	b.sealed = b.box.Seal(place, b.value)
	if b.forPeer, err = seal.ToRecipient(recipient, b.body); err != nil {
		return nil, err
	}
	return b, b.open()
}

func (b *bare) open() (err error) {
	blob := "BYTEA"
	if b.Engine == sqlite {
		blob = "BLOB"
		b.db, err = sql.Open("sqlite", "file:"+b.URL+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
		b.db.SetMaxOpenConns(1)
	} else {
		b.db, err = sql.Open("pgx", b.URL)
		b.db.SetMaxOpenConns(20)
		b.db.SetMaxIdleConns(20)
	}
	if err != nil {
		return err
	}
	for _, statement := range []string{
		"CREATE TABLE m (id TEXT PRIMARY KEY, body " + blob + " NOT NULL)", "CREATE TABLE head (id BIGINT PRIMARY KEY, rev BIGINT NOT NULL)",
		"INSERT INTO head VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0), (10, 0), (11, 0), (12, 0), (13, 0), (14, 0), (15, 0)",
	} {
		if _, err := b.db.Exec(statement); err != nil {
			return err
		}
	}
	return nil
}

var bareCount atomic.Int64

func (b *bare) commit() error {
	if b.Engine == sqlite {
		b.one.Lock()
		defer b.one.Unlock()
	}
	n := bareCount.Add(1)
	tx, err := b.db.Begin()
	if err != nil {
		return err
	}
	if _, err = tx.Exec("INSERT INTO m (id, body) VALUES ($1, $2)", fmt.Sprintf("%032d", n), b.body); err == nil {
		_, err = tx.Exec("UPDATE head SET rev = rev + 1 WHERE id = $1", n%16)
	}
	if err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// work does the chores of one message, with a POST in the middle.
func (b *bare) work(post func() error) error {
	w := b.Work
	steps := []struct {
		times int
		do    func() error
	}{
		{w.Verifies, func() error {
			if !ed25519.Verify(b.public, b.body, b.signature) {
				return fmt.Errorf("not signed")
			}
			return nil
		}},
		{w.Opens, func() error { _, err := b.box.Open(place, b.sealed); return err }},
		{w.PeerOpens, func() error { _, err := b.identity.Open(b.forPeer); return err }},
		{w.Seals, func() error { b.box.Seal(place, b.value); return nil }},
		{w.PeerSeals, func() error { _, err := seal.ToRecipient(b.recipient, b.body); return err }},
		{w.Signs, func() error { ed25519.Sign(b.private, b.body); return nil }},
		{w.Commits, b.commit},
		{1, post},
	}
	for _, step := range steps {
		for range step.times {
			if err := step.do(); err != nil {
				return err
			}
		}
	}
	return nil
}

func nothing() error { return nil }

func (b *bare) receive() error {
	listener, err := listenLoopback()
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		if err == nil {
			err = b.work(nothing)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(b.signature)
	})}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until whoever started it is done
		_ = server.Close()
	}()
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func (b *bare) post() error {
	if b.Peer == "" {
		return nil
	}
	answer, err := connections.Post(b.Peer, "application/jose", newBody(b.forPeer))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", content)
	}
	return err
}

func (b *bare) send() error {
	var result bareResult
	var err error
	result.Times, result.Elapsed, err = each(b.Senders, b.Count, b.For, func(int) (time.Duration, error) {
		begun := now()
		err := b.work(b.post)
		return now().Sub(begun), err
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// runBare runs a bare program that sends, to one that receives where there is
// something to do for it.
func runBare(t *testing.T, p plan, receiver chores) (result bareResult) {
	t.Helper()
	end := func() time.Duration { return 0 }
	if receiver != (chores{}) {
		p.Peer, end = startBare(t, plan{Engine: p.Engine, Work: receiver})
	}
	command := bareCommand(t, p)
	output, err := command.Output()
	received := end()
	if err != nil {
		t.Fatalf("the bare program: %v", err)
	}
	if err := json.Unmarshal(output, &result); err != nil {
		t.Fatal(err)
	}
	result.Work = received + worked(command)
	return result
}

func worked(command *exec.Cmd) time.Duration {
	return command.ProcessState.UserTime() + command.ProcessState.SystemTime()
}

// startBare starts one that receives, and gives its address. end ends it and tells
// how long it has worked.
func startBare(t *testing.T, p plan) (address string, end func() time.Duration) {
	t.Helper()
	command := bareCommand(t, p)
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceValue(func() time.Duration {
		_ = stdin.Close()
		_ = command.Wait()
		return worked(command)
	})
	t.Cleanup(func() { end() })
	if _, err := fmt.Fscanln(stdout, &address); err != nil {
		t.Fatalf("the bare program says %q: %v", address, err)
	}
	return address, end
}

func bareCommand(t *testing.T, p plan) *exec.Cmd {
	t.Helper()
	if p.Engine == sqlite {
		p.URL = filepath.Join(t.TempDir(), "bare.db")
	} else {
		p.URL = postgres.database(t)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self)
	command.Env, command.Stderr = append(os.Environ(), bareName+"="+string(text)), os.Stderr
	return command
}
