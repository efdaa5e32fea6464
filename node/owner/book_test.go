package owner

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// book is the database of these tests: one transaction at a time, rolled back
// when it ends with an error.
type book struct {
	mu    sync.Mutex
	clock *node.FakeClock
	state state
	// fails makes the store method of that name fail.
	fails string
	// guessed is called when a guess was counted.
	guessed func()
}

type state struct {
	owner   *Owner
	hash    string
	guesses map[string]time.Time
	rows    []audit.Row
	head    audit.Head
}

func (s state) clone() state {
	copied := s
	copied.guesses = map[string]time.Time{}
	for id, at := range s.guesses {
		copied.guesses[id] = at
	}
	copied.rows = slices.Clone(s.rows)
	return copied
}

type bookTx struct {
	ctx context.Context
	now time.Time
}

func (tx bookTx) Now() time.Time           { return tx.now }
func (tx bookTx) OnCommit(func())          {}
func (tx bookTx) Context() context.Context { return tx.ctx }

func (b *book) InTx(ctx context.Context, f func(node.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return node.Wrap(err, "begin")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.state.clone()
	err := f(bookTx{ctx: ctx, now: b.clock.Now()})
	if err != nil {
		b.state = before
	}
	return err
}

func (b *book) View(ctx context.Context, f func(node.Tx) error) error { return b.InTx(ctx, f) }

func (b *book) failing(method string) error {
	if b.fails == method {
		return node.Errorf(node.Unavailable, "The database does not answer.")
	}
	return nil
}

func (b *book) InsertOwner(_ node.Tx, owner Owner, hash string) (bool, error) {
	if b.state.owner != nil {
		return false, nil
	}
	b.state.owner, b.state.hash = &owner, hash
	return true, b.failing("InsertOwner")
}

func (b *book) Owner(node.Tx) (Owner, error) {
	if b.state.owner == nil {
		return Owner{}, node.Errorf(node.NotFound, "The node has no owner yet.")
	}
	return *b.state.owner, nil
}

func (b *book) LockOwner(tx node.Tx) (Owner, string, error) {
	owner, err := b.Owner(tx)
	return owner, b.state.hash, err
}

func (b *book) SetOwnerPassword(_ node.Tx, _, hash string) error {
	b.state.hash = hash
	return b.failing("SetOwnerPassword")
}

func (b *book) OwnerPassword(tx node.Tx) (string, error) {
	_, err := b.Owner(tx)
	return b.state.hash, err
}

func (b *book) InsertGuess(_ node.Tx, bucket, id string, at time.Time) error {
	b.state.guesses[id] = at
	if b.guessed != nil {
		b.guessed()
	}
	return b.failing("InsertGuess")
}

func (b *book) DeleteGuess(_ node.Tx, id string) error {
	delete(b.state.guesses, id)
	return b.failing("DeleteGuess")
}

func (b *book) Guesses(_ node.Tx, _ string, since time.Time) (count int, oldest time.Time, err error) {
	for id, at := range b.state.guesses {
		switch {
		case !at.After(since):
			delete(b.state.guesses, id)
		case count == 0 || at.Before(oldest):
			oldest = at
			fallthrough
		default:
			count++
		}
	}
	return count, oldest, b.failing("Guesses")
}

func (b *book) LockHead(node.Tx) (audit.Head, error) {
	if b.state.head.Hash == "" {
		return audit.Head{Hash: audit.GenesisHash}, nil
	}
	return b.state.head, nil
}

func (b *book) AuditHead(tx node.Tx) (audit.Head, error) { return b.LockHead(tx) }

// KeepAudit writes at once.
func (b *book) KeepAudit(_ node.Tx, row audit.Row, write func([]audit.Row) error) (int64, error) {
	return 0, write([]audit.Row{row})
}

func (b *book) AppendAudit(_ node.Tx, rows []audit.Row, head audit.Head) error {
	b.state.rows, b.state.head = append(b.state.rows, rows...), head
	return b.failing("AppendAudit")
}

func (b *book) AuditRows(node.Tx, audit.Filter) ([]audit.Row, error) { return b.state.rows, nil }

// types are the types of the audit rows, in order.
func (b *book) types() []audit.Type {
	var types []audit.Type
	for _, row := range b.state.rows {
		types = append(types, row.Type)
	}
	return types
}

// cheap is the cost of a hash that takes no time.
var cheap = cost{memory: 8, passes: 1, threads: 1}

const rightPassword = "correct horse battery"

// setup gives a node that has an owner.
func setup(t *testing.T) (*book, *Service) {
	t.Helper()
	b, service := empty()
	err := b.InTx(t.Context(), func(tx node.Tx) error {
		_, err := service.Create(tx, actor, "Ada", hashed(rightPassword, cheap))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b, service
}

func empty() (*book, *Service) {
	b := &book{clock: node.NewFakeClock(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)), state: state{guesses: map[string]time.Time{}}}
	return b, New(b, b, audit.New(b, []byte("key")), node.RandomIDs{})
}

var actor = node.Actor{Kind: node.ActorOwner, Via: "uid=1000 pid=4711"}
