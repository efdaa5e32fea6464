package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"agentlink/node"
)

// Read is an operation that lists: it gives a body without a version.
func Read[Req, Resp any](d *Door, call func(tx node.Tx, by Caller, request Req) (Resp, error)) Op {
	r := &reader[Req, Resp]{door: d, binder: newBinder[Req](d.Schemas), call: call}
	return d.Guard(r.serve)
}

// ReadOne is an operation that shows one object: the answer carries an ETag,
// If-None-Match is honoured, and a request with Waiting is held until the object
// is another one.
func ReadOne[Req, Resp any](d *Door, call func(tx node.Tx, by Caller, request Req) (Resp, error)) Op {
	r := &reader[Req, Resp]{door: d, binder: newBinder[Req](d.Schemas), call: call, versioned: true}
	return d.Guard(r.serve)
}

// ReadNews is an operation that shows what has happened: a request with Waiting
// is held until there is news.
func ReadNews[Req, Resp any](d *Door, call func(tx node.Tx, by Caller, request Req) (Resp, error), news func(Resp) bool) Op {
	r := &reader[Req, Resp]{door: d, binder: newBinder[Req](d.Schemas), call: call, news: news}
	return d.Guard(r.serve)
}

// Waiting is embedded by requests that may wait for a change.
type Waiting struct {
	Wait int `json:"-" query:"wait" is:"wait" doc:"Seconds to wait for a change, at most 60."`
}

// MaxWait is the longest wait.
const MaxWait = 60 * time.Second

func (w Waiting) wait() time.Duration { return time.Duration(w.Wait) * time.Second }

type reader[Req, Resp any] struct {
	door      *Door
	binder    *binder[Req]
	call      func(node.Tx, Caller, Req) (Resp, error)
	versioned bool
	news      func(Resp) bool
}

func (r *reader[Req, Resp]) serve(ctx context.Context, call *Call) Answer {
	var answer *Answer
	in, err := receive(r.door, r.binder, call)
	if err == nil {
		err = r.door.await(ctx, in.claims.Sub, in.patience(), func() (settled bool, err error) {
			answer, settled, err = r.look(ctx, in)
			return settled, err
		})
	}
	if err != nil {
		return r.door.refuse(call, err)
	}
	return *answer
}

// patience is how long the request waits for a change.
func (in *incoming[Req]) patience() time.Duration {
	if waits, ok := any(in.request).(interface{ wait() time.Duration }); ok && in.problem == nil {
		return min(waits.wait(), MaxWait)
	}
	return 0
}

// look reads once. settled is false where a request that waits should wait on.
func (r *reader[Req, Resp]) look(ctx context.Context, in *incoming[Req]) (*Answer, bool, error) {
	var body Resp
	err := r.door.DB.View(ctx, func(tx node.Tx) error {
		by, err := r.door.caller(tx, in.claims)
		if err != nil {
			return err
		}
		if in.problem != nil {
			return in.problem
		}
		body, err = r.call(tx, by, in.request)
		return err
	})
	if err != nil {
		return nil, true, err
	}
	answer, err := write(OK, body)
	if err != nil {
		return nil, true, err
	}
	if !r.versioned {
		return &answer, r.news == nil || r.news(body), nil
	}
	tag := etag(answer.Body)
	answer.Header["ETag"] = tag
	if !matches(in.Header.IfNoneMatch, tag) {
		return &answer, true, nil
	}
	return &Answer{Status: NotModified, Header: map[string]string{"ETag": tag}}, false, nil
}

// etag is the version of a body: a strong validator, since it covers each byte.
func etag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// matches reads If-None-Match: a list of tags, or a star.
func matches(header, tag string) bool {
	for _, entry := range strings.Split(header, ",") {
		entry = strings.TrimPrefix(strings.TrimSpace(entry), "W/")
		if entry == tag || entry == "*" {
			return true
		}
	}
	return false
}
