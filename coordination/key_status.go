package coordination

import (
	"crypto/ed25519"
	"slices"
	"time"

	"agentlink/node"
)

// OwnKeys is what an owner sees of the node's keys.
type OwnKeys struct {
	Fingerprint string // of today's
	PublicKey   ed25519.PublicKey
	Since       time.Time
	Earlier     []OwnEarlierKey // the latest first
}

// OwnEarlierKey is a key that this node had.
type OwnEarlierKey struct {
	Fingerprint string
	PublicKey   ed25519.PublicKey
	Since       time.Time
	Until       time.Time // when the next one took its place
	ErasedAt    time.Time // zero while the node can still sign with it
	// Waiting are the connections whose contact still goes by it; More says that there
	// are others.
	Waiting []Connection
	More    bool
}

// KeptUntil is when the key is erased at the latest.
func (k OwnEarlierKey) KeptUntil() time.Time { return k.Until.Add(KeyPatience) }

// maxWaiting is how many connections are named for each earlier key.
const maxWaiting = 100

// OwnKeys lists the node's keys, without what is secret of them.
func (s *Service) OwnKeys(tx node.Tx) (OwnKeys, error) {
	today, err := s.Keys.Today(tx)
	if err != nil {
		return OwnKeys{}, err
	}
	own := OwnKeys{Fingerprint: today.Fingerprint, PublicKey: today.PublicKey, Since: today.CreatedAt}
	retired, err := s.Keys.Retired(tx)
	if err != nil {
		return OwnKeys{}, err
	}
	for _, r := range slices.Backward(retired) {
		earlier := OwnEarlierKey{
			Fingerprint: r.Fingerprint, PublicKey: r.PublicKey, Since: r.CreatedAt, Until: r.RetiredAt, ErasedAt: r.ErasedAt,
		}
		holders, err := s.Store.KnowKey(tx, r.Fingerprint, maxWaiting+1)
		if err != nil {
			return OwnKeys{}, err
		}
		earlier.More = len(holders) > maxWaiting
		for _, c := range holders[:min(len(holders), maxWaiting)] {
			if !c.Status.Ended() {
				earlier.Waiting = append(earlier.Waiting, c)
			}
		}
		own.Earlier = append(own.Earlier, earlier)
	}
	return own, nil
}

// KeyOffers pages through the connections whose contact has announced a new key.
func (s *Service) KeyOffers(tx node.Tx, page Page) ([]Connection, error) {
	return s.Store.KeyOffers(tx, page)
}

// CountKeyOffers counts them.
func (s *Service) CountKeyOffers(tx node.Tx) (int, error) { return s.Store.CountKeyOffers(tx) }
