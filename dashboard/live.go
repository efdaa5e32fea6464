package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"agentlink/node"
)

// feedTopic is the wake-up of the audit log.
const feedTopic = "feed"

// A stream looks at its session each second, so that it ends with it.
const (
	sessionCheck = time.Second
	heartbeat    = 15 * time.Second
)

const changedEvent = "event: changed\ndata: 1\n\n"

// live tells an open page that something has changed; the page asks what. The
// stream ends within a second of the session.
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) {
	if !d.mayListen(r.Context(), r) {
		http.Error(w, "Sign in first.", http.StatusUnauthorized)
		return
	}
	changed, cancel := d.Wake.Subscribe(feedTopic)
	defer cancel()
	stream := http.NewResponseController(w)
	_ = stream.SetWriteDeadline(time.Time{})
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	told, _ := strconv.ParseInt(r.URL.Query().Get("seen"), 10, 64) // what the page shows
	text := "retry: 2000\n\n"
	if head := d.head(r.Context()); head != told {
		told, text = head, text+changedEvent
	}
	fmt.Fprint(w, text)
	_ = stream.Flush()

	check, beat := time.NewTicker(sessionCheck), time.NewTicker(heartbeat)
	defer check.Stop()
	defer beat.Stop()
	for {
		text = ""
		select {
		case <-r.Context().Done():
			return
		case <-changed: // that the session has ended is a change too
			text = changedEvent
		case <-beat.C:
			text = ": still here\n\n"
			if d.head(r.Context()) != told { // a wake-up may be lost on its way from another replica
				text = changedEvent
			}
		case <-check.C:
		}
		if text == changedEvent {
			told = d.head(r.Context())
		}
		if !d.mayListen(r.Context(), r) {
			return
		}
		if text == "" {
			continue
		}
		if _, err := fmt.Fprint(w, text); err != nil || stream.Flush() != nil {
			return
		}
	}
}

// head is the position of the log's last row.
func (d *Dashboard) head(ctx context.Context) (position int64) {
	_ = d.DB.View(ctx, func(tx node.Tx) error {
		head, err := d.Events.AuditHead(tx)
		position = head.Position
		return err
	})
	return position
}

func (d *Dashboard) mayListen(ctx context.Context, r *http.Request) bool {
	place, _ := d.Access.Place(r.Host)
	cookie, err := r.Cookie(place.Cookie)
	if err != nil || r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return false
	}
	return d.Access.Open(ctx, cookie.Value) == nil
}
