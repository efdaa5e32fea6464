package api

import (
	"context"
	"errors"

	"agentlink/node"
	"agentlink/node/token"
)

// Reply is what a call gives back: a body with its status, or a refusal. A
// refusal is a value: its decision has to be committed. It is not stored under
// the Idempotency-Key, so that a retry after a new grant works.
type Reply[Resp any] struct {
	Status  int
	Body    Resp
	Refusal *node.Error
}

// Write is an operation that changes something: in one transaction it checks
// the caller, claims the Idempotency-Key, reads the request, calls, and stores
// the answer. An error rolls all of it back.
func Write[Req, Resp any](d *Door, call func(tx node.Tx, by Caller, request Req) (Reply[Resp], error)) Op {
	none := func(context.Context, Caller, Req) (struct{}, error) { return struct{}{}, nil }
	w := &writer[Req, struct{}, Resp]{door: d, binder: newBinder[Req](d.Schemas), prepare: none,
		call: func(tx node.Tx, by Caller, request Req, _ struct{}) (Reply[Resp], error) {
			return call(tx, by, request)
		}}
	return d.Guard(w.serve)
}

// WritePrepared is a Write before which something is done outside any
// transaction, once caller, key and request are known to be good: a look-up at
// another node.
func WritePrepared[Req, Prep, Resp any](d *Door, prepare func(ctx context.Context, by Caller, request Req) (Prep, error),
	call func(tx node.Tx, by Caller, request Req, prepared Prep) (Reply[Resp], error)) Op {
	w := &writer[Req, Prep, Resp]{door: d, binder: newBinder[Req](d.Schemas), prepare: prepare, call: call, prepares: true}
	return d.Guard(w.serve)
}

type writer[Req, Prep, Resp any] struct {
	door     *Door
	binder   *binder[Req]
	prepares bool
	prepare  func(context.Context, Caller, Req) (Prep, error)
	call     func(node.Tx, Caller, Req, Prep) (Reply[Resp], error)
}

// incoming is a request with what was found out about it before the
// transaction. A request that cannot be read is answered only after caller and
// key were checked, so its problem is carried along.
type incoming[Req any] struct {
	*Call
	claims  token.AccessClaims
	request Req
	problem error
}

// receive reads what a call says. It fails where the token does not let it in.
func receive[Req any](d *Door, b *binder[Req], call *Call) (*incoming[Req], error) {
	claims, err := d.claims(call)
	if err != nil {
		return nil, err
	}
	in := &incoming[Req]{Call: call, claims: claims}
	in.request, in.problem = b.bind(call)
	return in, nil
}

func (w *writer[Req, Prep, Resp]) serve(ctx context.Context, call *Call) Answer {
	in, err := receive(w.door, w.binder, call)
	if err != nil {
		return w.door.refuse(call, err)
	}
	answer, err := w.answer(ctx, in)
	if err != nil {
		return w.door.refuse(call, err)
	}
	return answer
}

func (w *writer[Req, Prep, Resp]) answer(ctx context.Context, in *incoming[Req]) (Answer, error) {
	var prepared Prep
	if w.prepares {
		by, stored, err := w.door.look(ctx, in.Call, in.claims, in.problem)
		if err != nil || stored != nil {
			return deref(stored), err
		}
		if prepared, err = w.prepare(ctx, by, in.request); err != nil {
			return Answer{}, err
		}
	}
	var answer Answer
	err := w.door.DB.InTx(ctx, func(tx node.Tx) error {
		var err error
		answer, err = w.inTx(tx, in, prepared)
		return err
	})
	return answer, err
}

func (w *writer[Req, Prep, Resp]) inTx(tx node.Tx, in *incoming[Req], prepared Prep) (Answer, error) {
	by, err := w.door.caller(tx, in.claims)
	if err != nil {
		return Answer{}, err
	}
	claim, err := w.door.claim(tx, by, in.Call)
	if err != nil || claim.stored != nil {
		return deref(claim.stored), err
	}
	if claim.taken {
		return Answer{}, node.ConflictFor(node.ReasonIdempotencyReuse, "The request with this Idempotency-Key is still being answered.")
	}
	if in.problem != nil {
		return Answer{}, in.problem
	}
	reply, err := w.call(tx, by, in.request, prepared)
	if err != nil {
		return Answer{}, err
	}
	if reply.Refusal != nil {
		return w.door.refuse(in.Call, reply.Refusal), w.door.drop(tx, claim)
	}
	answer, err := write(reply.Status, reply.Body)
	if err != nil {
		return Answer{}, err
	}
	return answer, w.door.keep(tx, claim, answer)
}

var errUndo = errors.New("only looked")

// look checks caller and key without leaving a trace, and gives the answer that
// is stored under the key. problem is what is wrong with the request; it comes
// after the key.
func (d *Door) look(ctx context.Context, call *Call, claims token.AccessClaims, problem error) (by Caller, stored *Answer, err error) {
	err = d.DB.InTx(ctx, func(tx node.Tx) error {
		var err error
		if by, err = d.caller(tx, claims); err != nil {
			return err
		}
		found, err := d.claim(tx, by, call)
		if err != nil {
			return err
		}
		stored = found.stored
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		return by, nil, err
	}
	if stored == nil && problem != nil {
		return by, nil, problem
	}
	return by, stored, nil
}

func deref(answer *Answer) Answer {
	if answer == nil {
		return Answer{}
	}
	return *answer
}
