package node

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// Clock tells the time. Every package but this one gets it as an argument.
type Clock interface {
	// Now is in UTC and whole microseconds, the precision that both databases keep.
	Now() time.Time
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// FakeClock is a clock for tests, which moves only when told to.
type FakeClock struct {
	mu  sync.Mutex
	now time.Time
}

// NewFakeClock starts a fake clock at the given time.
func NewFakeClock(at time.Time) *FakeClock {
	return &FakeClock{now: at.UTC().Truncate(time.Microsecond)}
}

// Now implements Clock.
func (c *FakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d.
func (c *FakeClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d).Truncate(time.Microsecond)
}

// IDs makes ids. They are UUIDv7 text, made before the transaction that uses
// them. Key material never comes from here.
type IDs interface {
	New() string
}

// RandomIDs makes ids from the machine's clock and random source.
type RandomIDs struct{}

// New implements IDs.
func (RandomIDs) New() string { return uuid.Must(uuid.NewV7()).String() }

// ValidID says whether text is a UUID in its canonical, lower-case form.
func ValidID(text string) bool {
	id, err := uuid.Parse(text)
	return err == nil && id.String() == text
}
