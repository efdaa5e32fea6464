package rest

import (
	"time"

	"agentlink/coordination"
	"agentlink/node/api"
)

// Limits of a page.
const (
	defaultLimit = 50
	maxLimit     = 100
)

// paging is embedded by requests for lists.
type paging struct {
	Limit  int    `json:"-" query:"limit" is:"limit" doc:"Entries a page."`
	Cursor string `json:"-" query:"cursor" is:"cursor" doc:"nextCursor of the page before; bound to the agent and to the other parameters."`
}

func (p paging) limit() int {
	if p.Limit == 0 {
		return defaultLimit
	}
	return p.Limit
}

// page opens the cursor of a list. Code: bad_request.
func (h *handlers) page(p paging, bound api.Binding) (coordination.Page, error) {
	place, err := h.cursors.OpenPlace(bound, p.Cursor)
	return coordination.Page{Limit: p.limit(), BeforeAt: place.At, BeforeID: place.ID}, err
}

// next is the cursor after a page; "" where the page was not full.
func (h *handlers) next(p paging, bound api.Binding, count int, at time.Time, id string) string {
	if count < p.limit() {
		return ""
	}
	return h.cursors.SealPlace(bound, api.Place{At: at, ID: id})
}
