package store_test

import (
	"testing"

	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) { storetest.Run(t, open) })
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T) *store.Store { return storetest.OpenMemory(t) })
	})
}
