package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/store"
)

// Strangers is what both databases do for requests of unknown nodes.
func Strangers(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"a stranger comes back": strangerComesBack, "the same bytes wait once": strangerOnce, "counted": strangersCounted,
		"claimed in turn": strangersClaimed, "settled": strangersSettled, "forgotten": strangersForgotten,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// aStranger is due now and lives for an hour.
func aStranger(tx node.Tx, id string) coordination.Stranger {
	return coordination.Stranger{
		ID: id, SHA256: "hash of " + id, Host: "host.example", IP: "192.0.2.1", Envelope: []byte("envelope of " + id),
		ReceivedAt: tx.Now(), NextAt: tx.Now(), ExpiresAt: tx.Now().Add(time.Hour),
	}
}

func arrives(t *testing.T, s *store.Store, id string, change func(*coordination.Stranger)) (x coordination.Stranger) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		x = aStranger(tx, id)
		if change != nil {
			change(&x)
		}
		return s.InsertStranger(tx, x)
	})
	return x
}

func findStranger(t *testing.T, s *store.Store, id string) (x coordination.Stranger, err error) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		x, err = s.StrangerBySHA256(tx, "hash of "+id)
		return nil
	})
	return x, err
}

func claimStranger(t *testing.T, s *store.Store, wait time.Duration) (x coordination.Stranger, ok bool) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) (err error) {
		x, ok, err = s.ClaimStranger(tx, tx.Now().Add(wait))
		return err
	})
	return x, ok
}

// strangerComesBack compares all but host and IP, of which only hashes are kept.
func strangerComesBack(t *testing.T, s *store.Store) {
	want := arrives(t, s, "s1", func(x *coordination.Stranger) { x.Attempts, x.Settled, x.Answer = 3, true, []byte("answer") })
	got, err := findStranger(t, s, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(want, "Host", "IP")); diff != "" {
		t.Error(diff)
	}
	if got.Host == want.Host || got.IP == want.IP || got.Host == "" || got.IP == "" || got.Host == got.IP {
		t.Errorf("host %q and IP %q are kept as they are", got.Host, got.IP)
	}
	arrives(t, s, "s2", func(x *coordination.Stranger) { x.IP = "" })
	if own, err := findStranger(t, s, "s2"); err != nil || own.IP != "" || own.Host != got.Host {
		t.Errorf("%v: IP %q, host %q", err, own.IP, own.Host)
	}
	_, err = findStranger(t, s, "s3")
	wantCode(t, err, node.NotFound)
}

func strangerOnce(t *testing.T, s *store.Store) {
	arrives(t, s, "s1", nil)
	arrives(t, s, "s2", func(x *coordination.Stranger) { x.SHA256 = "hash of s1" })
	if got, err := findStranger(t, s, "s1"); err != nil || got.ID != "s1" {
		t.Errorf("%+v, %v", got, err)
	}
}

func strangersCounted(t *testing.T, s *store.Store) {
	for i := range 6 {
		arrives(t, s, fmt.Sprint(i), func(x *coordination.Stranger) {
			x.Host, x.IP = fmt.Sprint("host", i%2), fmt.Sprint("ip", i%3)
			x.Settled = i == 0
		})
	}
	inTx(t, s, func(tx node.Tx) error {
		all, ofHost, ofIP, err := s.CountStrangers(tx, "host0", "ip0")
		if all != 6 || ofHost != 3 || ofIP != 1 {
			t.Errorf("%d in all, %d of the host, %d waiting of the IP; want 6, 3, 1", all, ofHost, ofIP)
		}
		return err
	})
}

func strangersClaimed(t *testing.T, s *store.Store) {
	arrives(t, s, "later", func(x *coordination.Stranger) { x.NextAt = x.NextAt.Add(time.Hour) })
	arrives(t, s, "second", nil)
	arrives(t, s, "first", func(x *coordination.Stranger) { x.NextAt = x.NextAt.Add(-time.Minute) })
	arrives(t, s, "settled", func(x *coordination.Stranger) { x.Settled = true })
	for _, want := range []string{"first", "second"} {
		got, ok := claimStranger(t, s, time.Minute)
		if !ok || got.ID != want || got.Attempts != 1 || string(got.Envelope) != "envelope of "+want {
			t.Errorf("claimed %+v, %v; want %s", got, ok, want)
		}
	}
	if got, ok := claimStranger(t, s, time.Minute); ok {
		t.Errorf("claimed %q too", got.ID)
	}
	inTx(t, s, func(tx node.Tx) error { return s.RescheduleStranger(tx, "second", tx.Now(), 0) })
	if got, ok := claimStranger(t, s, time.Minute); !ok || got.ID != "second" || got.Attempts != 1 {
		t.Errorf("after it was put off: %+v, %v", got, ok)
	}
}

func strangersSettled(t *testing.T, s *store.Store) {
	arrives(t, s, "s1", nil)
	arrives(t, s, "s2", nil)
	for id, answer := range map[string][]byte{"s1": []byte("answer"), "s2": nil} {
		inTx(t, s, func(tx node.Tx) error { return s.SettleStranger(tx, id, answer) })
		if got, err := findStranger(t, s, id); err != nil || !got.Settled || string(got.Answer) != string(answer) {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
	inTx(t, s, func(tx node.Tx) error { return s.RescheduleStranger(tx, "s1", tx.Now(), 0) })
	if got, ok := claimStranger(t, s, time.Minute); ok {
		t.Errorf("a settled one was claimed: %+v", got)
	}
}

func strangersForgotten(t *testing.T, s *store.Store) {
	arrives(t, s, "over", func(x *coordination.Stranger) { x.ExpiresAt = x.ReceivedAt })
	arrives(t, s, "old", func(x *coordination.Stranger) { x.Settled, x.NextAt = true, x.NextAt.Add(-time.Hour) })
	arrives(t, s, "new", func(x *coordination.Stranger) { x.Settled = true })
	arrives(t, s, "waits", nil)
	inTx(t, s, func(tx node.Tx) error { return s.DeleteExpiredStrangers(tx) })
	for _, gone := range []string{"over", "old", "new"} {
		if _, err := findStranger(t, s, gone); gone == "over" {
			wantCode(t, err, node.NotFound)
		} else if err != nil {
			t.Errorf("%s: %v", gone, err)
		}
	}
	for _, want := range []struct {
		gone  string
		found bool
	}{{"old", true}, {"new", true}, {"", false}} {
		inTx(t, s, func(tx node.Tx) error {
			found, err := s.DeleteSettledStranger(tx)
			if found != want.found {
				t.Errorf("found %v, want %v", found, want.found)
			}
			return err
		})
		if want.gone != "" {
			_, err := findStranger(t, s, want.gone)
			wantCode(t, err, node.NotFound)
		}
	}
	inTx(t, s, func(tx node.Tx) error { return s.DeleteStranger(tx, "waits") })
	_, err := findStranger(t, s, "waits")
	wantCode(t, err, node.NotFound)
}
