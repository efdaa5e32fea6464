package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"agentlink/node"
	"agentlink/node/token"
)

// Event is one entry of a stream.
type Event struct {
	ID   string
	Type string
	Data []byte // one line
}

// Source gives what a stream sends.
type Source[Req any] struct {
	// Start reads where to begin, from the request or the header Last-Event-ID.
	Start func(by Caller, request Req, lastEventID string) (position int64, err error)
	// Page is how many events After gives at most.
	Page int
	// After lists the events after a position, and the position to go on from. Less
	// than a page of them means that there are no more for now.
	After func(tx node.Tx, by Caller, position int64) (events []Event, next int64, err error)
}

// Stream mounts a source as server-sent events. It ends when the client leaves,
// and when the caller may no longer call: token expired, agent disabled, key
// replaced.
func Stream[Req any](d *Door, source Source[Req]) http.Handler {
	s := &streamer[Req]{door: d, binder: newBinder[Req](d.Schemas), source: source}
	return http.HandlerFunc(s.serve)
}

type streamer[Req any] struct {
	door   *Door
	binder *binder[Req]
	source Source[Req]
}

func (s *streamer[Req]) serve(w http.ResponseWriter, r *http.Request) {
	call := callOf(r)
	claims, err := s.door.claims(call)
	if err != nil {
		s.door.refuse(call, err).send(w)
		return
	}
	position, err := s.start(r.Context(), call, claims)
	if err != nil {
		s.door.refuse(call, err).send(w)
		return
	}
	free, err := s.door.Wait(claims.Sub)
	if err != nil {
		s.door.refuse(call, err).send(w)
		return
	}
	defer free()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := &eventWriter{w: w, control: http.NewResponseController(w)}
	out.comment()
	if err := s.follow(r.Context(), claims, position, out); err != nil && r.Context().Err() == nil {
		out.event(Event{Type: "end", Data: s.door.refuse(call, err).Body})
	}
}

func (s *streamer[Req]) start(ctx context.Context, call Call, claims token.AccessClaims) (int64, error) {
	by, err := s.door.admit(ctx, claims)
	if err != nil {
		return 0, err
	}
	request, err := s.binder.bind(call)
	if err != nil {
		return 0, err
	}
	return s.source.Start(by, request, call.Header.LastEventID)
}

// follow sends until something ends it.
func (s *streamer[Req]) follow(ctx context.Context, claims token.AccessClaims, position int64, out *eventWriter) error {
	signal, stop := s.door.Wake.Subscribe(feedOf(claims.Sub))
	defer stop()
	poll := time.NewTicker(Poll)
	defer poll.Stop()
	for {
		events, next, err := s.read(ctx, claims, position)
		if err != nil {
			return err
		}
		for _, event := range events {
			out.event(event)
		}
		if out.failed != nil {
			return nil
		}
		position = next
		if len(events) > 0 && len(events) >= s.source.Page {
			continue
		}
		select {
		case <-signal:
		case <-poll.C:
			out.comment() // a silent stream says that it is alive
		case <-ctx.Done():
			return nil
		}
	}
}

// read asks again, each time, whether the caller may still call.
func (s *streamer[Req]) read(ctx context.Context, claims token.AccessClaims, position int64) (events []Event, next int64, err error) {
	if !s.door.Clock.Now().Before(time.Unix(claims.Exp, 0)) {
		return nil, 0, errUnauthorized()
	}
	err = s.door.DB.View(ctx, func(tx node.Tx) error {
		by, err := s.door.caller(tx, claims)
		if err != nil {
			return err
		}
		events, next, err = s.source.After(tx, by, position)
		return err
	})
	return events, next, err
}

// admit checks the agent of a token.
func (d *Door) admit(ctx context.Context, claims token.AccessClaims) (by Caller, err error) {
	err = d.DB.View(ctx, func(tx node.Tx) error {
		by, err = d.caller(tx, claims)
		return err
	})
	return by, err
}

// eventWriter writes events and remembers the first failure.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	failed  error
}

func (e *eventWriter) event(event Event) {
	var text strings.Builder
	if event.ID != "" {
		fmt.Fprintf(&text, "id: %s\n", event.ID)
	}
	fmt.Fprintf(&text, "event: %s\ndata: %s\n\n", event.Type, event.Data)
	e.write(text.String())
}

// comment is a line that clients ignore.
func (e *eventWriter) comment() { e.write(":\n\n") }

func (e *eventWriter) write(text string) {
	if e.failed != nil {
		return
	}
	// A stream outlives the server's time-outs; each write has its own.
	_ = e.control.SetReadDeadline(time.Time{})
	_ = e.control.SetWriteDeadline(node.SystemClock{}.Now().Add(WriteTimeout))
	if _, e.failed = e.w.Write([]byte(text)); e.failed == nil {
		e.failed = e.control.Flush()
	}
}
