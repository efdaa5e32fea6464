package coordination

import (
	"time"

	"agentlink/node"
)

// Stranger is a connection.request of a node whose key we do not know. It waits
// until a worker has read that node's card.
type Stranger struct {
	ID     string
	SHA256 string // of Envelope, hex: the same bytes wait once
	// Host is the host of the sender's address as the envelope claims it, and IP
	// where the envelope came from, "" from this node itself. Of both the store
	// keeps a keyed hash; what it gives back serves to tell them apart.
	Host string
	IP   string
	// Envelope is what came, sealed at rest.
	Envelope   []byte
	ReceivedAt time.Time
	// NextAt is when the card is looked up (again).
	NextAt   time.Time
	Attempts int
	// ExpiresAt is when it is forgotten.
	ExpiresAt time.Time
	// Settled: nothing more happens to it. Answer, where there is one, is what its
	// sender gets when it asks again; sealed at rest.
	Settled bool
	Answer  []byte
}

// Limits of what strangers may leave with us.
const (
	MaxStrangers        = 1000
	MaxStrangersPerHost = 20
	MaxStrangersPerIP   = 20
	StrangerLife        = 24 * time.Hour
)

// StrangerStore keeps the requests of strangers.
type StrangerStore interface {
	// StrangerBySHA256 finds the same bytes. Code: not_found.
	StrangerBySHA256(tx node.Tx, sha256 string) (Stranger, error)
	// CountStrangers counts all rows, those of a host, and those that still wait of an IP.
	CountStrangers(tx node.Tx, host, ip string) (all, ofHost, ofIP int, err error)
	// InsertStranger does nothing where the same bytes are there already.
	InsertStranger(tx node.Tx, stranger Stranger) error
	// ClaimStranger takes the request that has been due for longest, counts the
	// attempt and sets the next one, in case that nothing comes of this one.
	ClaimStranger(tx node.Tx, next time.Time) (stranger Stranger, ok bool, err error)
	RescheduleStranger(tx node.Tx, id string, next time.Time, attempts int) error
	// SettleStranger keeps the row, and its answer, until it expires.
	SettleStranger(tx node.Tx, id string, answer []byte) error
	DeleteStranger(tx node.Tx, id string) error
	// DeleteExpiredStrangers forgets what is over.
	DeleteExpiredStrangers(tx node.Tx) error
	// DeleteSettledStranger forgets the oldest settled row; false when there is none.
	DeleteSettledStranger(tx node.Tx) (bool, error)
}

// AdmitStranger takes a request in, unless there are too many: then admitted is
// false. Where the same bytes are known already it gives their answer, nil while
// there is none.
func AdmitStranger(tx node.Tx, store StrangerStore, stranger Stranger) (answer []byte, admitted bool, err error) {
	known, err := store.StrangerBySHA256(tx, stranger.SHA256)
	if err == nil {
		return known.Answer, true, nil
	}
	if node.CodeOf(err) != node.NotFound {
		return nil, false, err
	}
	if free, err := roomForStranger(tx, store, stranger); err != nil || !free {
		return nil, false, err
	}
	stranger.ReceivedAt, stranger.NextAt = tx.Now(), tx.Now()
	stranger.ExpiresAt = tx.Now().Add(StrangerLife)
	return nil, true, store.InsertStranger(tx, stranger)
}

// roomForStranger has no bound for this node's own agents but the one on all.
func roomForStranger(tx node.Tx, store StrangerStore, stranger Stranger) (bool, error) {
	all, ofHost, ofIP, err := store.CountStrangers(tx, stranger.Host, stranger.IP)
	if err != nil {
		return false, err
	}
	if stranger.IP != "" && (ofHost >= MaxStrangersPerHost || ofIP >= MaxStrangersPerIP) {
		return false, nil
	}
	if all < MaxStrangers {
		return true, nil
	}
	return store.DeleteSettledStranger(tx)
}
