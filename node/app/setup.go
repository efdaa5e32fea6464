package app

import (
	"context"
	"net/http"

	"agentlink/node"
	"agentlink/node/api/problem"
)

// untilSetUp refuses what needs an owner while there is none. That the process
// serves at all is answered all the same.
func (n *Node) untilSetUp(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			if err := n.hasOwner(r.Context()); err != nil {
				n.refuseUntilSetUp(w, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// hasOwner looks until there is one; an owner stays.
func (n *Node) hasOwner(ctx context.Context) error {
	if n.setUp.Load() {
		return nil
	}
	err := n.store.View(ctx, func(tx node.Tx) error {
		_, err := n.owner.Owner(tx)
		return err
	})
	if err == nil {
		n.setUp.Store(true)
	} else if node.CodeOf(err) == node.NotFound {
		err = node.Errorf(node.Unavailable, "The node is not set up yet: its owner has to open the link that it printed when it started.")
	}
	return err
}

func (n *Node) refuseUntilSetUp(w http.ResponseWriter, err error) {
	refusal := problem.Of(err, n.options.IDs.New())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(problem.Status(refusal.Code))
	if _, err := w.Write(refusal.JSON()); err != nil {
		n.log.Debug("a request left before its answer", "error", err)
	}
}
