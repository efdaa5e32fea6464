package api

import (
	"context"
	"fmt"
	"math"
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
	f, err := s.begin(w, r)
	if err != nil {
		s.door.refuse(f.call, err).send(w)
		return
	}
	defer f.leave()
	f.open(w)
	if err := f.follow(); err != nil && f.ctx.Err() == nil {
		f.say(err)
	}
}

// following is one stream that is under way. Thousands of them wait at a time, each
// on a stack of its own: what is needed while waiting is here, and what is needed
// before stays out of the functions that wait.
type following[Req any] struct {
	*streamer[Req]
	*listener
	ctx      context.Context
	call     *Call
	claims   token.AccessClaims
	position int64
	out      eventWriter
}

// forever is how long a stream waits.
const forever = time.Duration(math.MaxInt64)

// begin takes a place for a caller that may come in.
func (s *streamer[Req]) begin(w http.ResponseWriter, r *http.Request) (*following[Req], error) {
	f := &following[Req]{streamer: s, ctx: r.Context(), call: callOf(r)}
	claims, err := s.door.claims(f.call)
	if err != nil {
		return f, err
	}
	f.claims = claims
	if f.position, err = f.start(); err != nil {
		return f, err
	}
	f.listener, err = s.door.listen(claims.Sub, forever)
	f.call = &Call{Route: f.call.Route, Remote: f.call.Remote, RequestID: f.call.RequestID} // for the end; the rest need not wait
	return f, err
}

func (f *following[Req]) start() (int64, error) {
	by, err := f.door.admit(f.ctx, f.claims)
	if err != nil {
		return 0, err
	}
	request, err := f.binder.bind(f.call)
	if err != nil {
		return 0, err
	}
	return f.source.Start(by, request, f.call.Header.LastEventID)
}

// open sends the head.
func (f *following[Req]) open(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	f.out = eventWriter{w: w, control: http.NewResponseController(w)}
	f.out.comment()
}

// say ends the stream with the reason.
func (f *following[Req]) say(err error) {
	f.out.event(Event{Type: "end", Data: f.door.refuse(f.call, err).Body})
}

// follow sends until something ends it.
func (f *following[Req]) follow() error {
	for {
		more, err := f.read()
		if err != nil || f.out.failed != nil {
			return err
		}
		if more {
			continue
		}
		select {
		case <-f.signal:
		case <-f.timer.C:
			f.next()
			f.out.comment() // a silent stream says that it is alive
		case <-f.ctx.Done():
			return nil
		}
	}
}

// read sends a page, and says whether there may be more. It asks again, each time,
// whether the caller may still call.
func (f *following[Req]) read() (more bool, err error) {
	if !f.door.Clock.Now().Before(time.Unix(f.claims.Exp, 0)) {
		return false, errUnauthorized()
	}
	var events []Event
	var next int64
	err = f.door.DB.View(f.ctx, func(tx node.Tx) error {
		by, err := f.door.caller(tx, f.claims)
		if err == nil {
			events, next, err = f.source.After(tx, by, f.position)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	f.position = next
	for _, event := range events {
		f.out.event(event)
	}
	return len(events) > 0 && len(events) >= f.source.Page, nil
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
