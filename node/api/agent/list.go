package agent

import (
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

// page opens the cursor of a list, and asks for one entry more than is shown:
// where it comes there is another page. Code: bad_request.
func (h *API) page(p paging, bound api.Binding) (coordination.Page, error) {
	place, err := h.cursors.OpenPlace(bound, p.Cursor)
	return coordination.Page{Limit: p.limit() + 1, BeforeAt: place.At, BeforeID: place.ID}, err
}

// turn cuts a list to the page, and gives the cursor of the next one; "" where
// there is none. place tells where an entry stands in the list.
func turn[T any](h *API, p paging, bound api.Binding, list []T, place func(T) api.Place) (shown []T, next string) {
	if len(list) <= p.limit() {
		return list, ""
	}
	shown = list[:p.limit()]
	return shown, h.cursors.SealPlace(bound, place(shown[len(shown)-1]))
}
