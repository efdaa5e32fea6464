package api

import (
	"context"

	"agentlink/node"
)

// Run is an operation that commits by itself, in steps of its own, and knows by
// its key what it answered before: a run of an action. The door checks the
// caller and holds the Idempotency-Key for this request; the answer is never
// stored, it is read from the run.
func Run[Req, Resp any](d *Door, call func(ctx context.Context, by Caller, key string, request Req) (Reply[Resp], error)) Op {
	r := &runner[Req, Resp]{door: d, binder: newBinder[Req](d.Schemas), call: call}
	return d.Guard(r.serve)
}

type runner[Req, Resp any] struct {
	door   *Door
	binder *binder[Req]
	call   func(context.Context, Caller, string, Req) (Reply[Resp], error)
}

func (r *runner[Req, Resp]) serve(ctx context.Context, call *Call) Answer {
	in, err := receive(r.door, r.binder, call)
	if err != nil {
		return r.door.refuse(call, err)
	}
	answer, err := r.answer(ctx, in)
	if err != nil {
		return r.door.refuse(call, err)
	}
	return answer
}

func (r *runner[Req, Resp]) answer(ctx context.Context, in *incoming[Req]) (Answer, error) {
	by, held, err := r.hold(ctx, in)
	if err != nil {
		return Answer{}, err
	}
	reply, err := r.call(ctx, by, held.key, in.request)
	if err == nil && reply.Refusal != nil {
		err = reply.Refusal
	}
	if err != nil {
		return Answer{}, r.giveBack(ctx, held, err)
	}
	return write(reply.Status, reply.Body)
}

// hold checks caller and request and claims the key, committed before anything
// runs. A key that was claimed before by the same request leads to its run.
func (r *runner[Req, Resp]) hold(ctx context.Context, in *incoming[Req]) (by Caller, held claim, err error) {
	err = r.door.DB.InTx(ctx, func(tx node.Tx) error {
		var err error
		if by, err = r.door.caller(tx, in.claims); err != nil {
			return err
		}
		if held, err = r.door.claim(tx, by, in.Call); err != nil {
			return err
		}
		return in.problem
	})
	return by, held, err
}

// giveBack frees the key of a request that was refused before anything ran, so
// that another request may take it. Where it cannot be freed it stays with this
// request, which may be tried again all the same.
func (r *runner[Req, Resp]) giveBack(ctx context.Context, held claim, refused error) error {
	if held.taken || held.key == "" {
		return refused
	}
	err := r.door.DB.InTx(context.WithoutCancel(ctx), func(tx node.Tx) error { return r.door.drop(tx, held) })
	if err != nil {
		r.door.Log.Warn("an idempotency key was not given back", "cause", err.Error())
	}
	return refused
}
