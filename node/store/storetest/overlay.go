package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/store"
	"agentlink/policy"
)

// Overlays is what both databases do for the owner's own rules.
func Overlays(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"versions":                  overlayVersions,
		"one version of a number":   oneOverlayOfANumber,
		"the newest holds":          newestOverlayHolds,
		"sources belong to a cell":  overlaySources,
		"an owner's own, no others": overlaysOfOwners,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func anOverlay(number int64, version string) policy.Overlay {
	o := policy.Overlay{
		ID: "o" + version + string(rune('0'+number)), OwnerID: "owner", Number: number, Version: version,
		CreatedAt: start.Add(time.Duration(number) * time.Minute),
	}
	if version != "" {
		o.Source = "text of " + version
	}
	return o
}

func insertOverlay(t *testing.T, s *store.Store, o policy.Overlay) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		fresh, err := s.InsertOverlay(tx, o)
		if !fresh {
			t.Errorf("overlay %d is not new", o.Number)
		}
		return err
	})
}

func overlayVersions(t *testing.T, s *store.Store) {
	one, two, three := anOverlay(1, "v1"), anOverlay(2, ""), anOverlay(3, "v1")
	for _, o := range []policy.Overlay{one, two, three} {
		insertOverlay(t, s, o)
	}
	inTx(t, s, func(tx node.Tx) error {
		all, err1 := s.Overlays(tx, "owner", 0, 10)
		page, err2 := s.Overlays(tx, "owner", 3, 1)
		if diff := cmp.Diff([]policy.Overlay{three, two, one}, all); diff != "" {
			t.Errorf("all (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]policy.Overlay{two}, page); diff != "" {
			t.Errorf("below 3 (-want +got):\n%s", diff)
		}
		return errors.Join(err1, err2)
	})
}

func oneOverlayOfANumber(t *testing.T, s *store.Store) {
	insertOverlay(t, s, anOverlay(1, "v1"))
	inTx(t, s, func(tx node.Tx) error {
		fresh, err := s.InsertOverlay(tx, anOverlay(1, "v2"))
		if fresh {
			t.Error("two versions share a number")
		}
		return err
	})
}

func newestOverlayHolds(t *testing.T, s *store.Store) {
	insertAgent(t, s, anAgent("a1"))
	want := func(version string) {
		t.Helper()
		inTx(t, s, func(tx node.Tx) error {
			standing, err1 := s.Standing(tx, "a1")
			rules, err2 := s.Rules(tx, "a1")
			if standing.Overlay != version || rules.Overlay != version || standing.Handle != "handle-a1" || rules.Handle != "handle-a1" {
				t.Errorf("standing %+v, rules %+v, want the overlay %q", standing, rules.Standing, version)
			}
			return errors.Join(err1, err2)
		})
	}
	want("")
	for number, version := range []string{"v1", "v2", "", "v1"} {
		insertOverlay(t, s, anOverlay(int64(number+1), version))
		want(version)
	}
}

func overlaySources(t *testing.T, s *store.Store) {
	insertOverlay(t, s, anOverlay(1, "v1"))
	inTx(t, s, func(tx node.Tx) error {
		source, err := s.OverlaySource(tx, "owner", "v1")
		if source != "text of v1" {
			t.Errorf("got %q", source)
		}
		_, missing := s.OverlaySource(tx, "owner", "v2")
		wantCode(t, missing, node.NotFound)
		return err
	})
}

func overlaysOfOwners(t *testing.T, s *store.Store) {
	other := anOverlay(1, "v1")
	other.OwnerID = "another"
	insertOverlay(t, s, other)
	insertAgent(t, s, anAgent("a1"))
	inTx(t, s, func(tx node.Tx) error {
		list, err1 := s.Overlays(tx, "owner", 0, 10)
		standing, err2 := s.Standing(tx, "a1")
		_, missing := s.OverlaySource(tx, "owner", "v1")
		wantCode(t, missing, node.NotFound)
		if len(list) != 0 || standing.Overlay != "" {
			t.Errorf("another owner's rules: %+v, %+v", list, standing)
		}
		return errors.Join(err1, err2)
	})
}
