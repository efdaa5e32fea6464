package socket

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"agentlink/node"
	"agentlink/node/api/problem"
)

// call is the body of every command.
type call struct {
	Password string          `json:"password,omitempty"`
	Request  json.RawMessage `json:"request,omitempty"`
}

// command is one thing that the owner can ask for.
type command struct {
	password bool
	run      func(ctx context.Context, request json.RawMessage) (any, error)
}

// none is the request or the answer of a command that has none.
type none struct{}

// reads registers a command that changes nothing.
func reads[Req, Resp any](s *Server, name string, f func(node.Tx, Req) (Resp, error)) {
	s.commands[name] = command{run: func(ctx context.Context, raw json.RawMessage) (any, error) {
		request, err := decode[Req](raw)
		if err != nil {
			return nil, err
		}
		var response Resp
		err = s.DB.View(ctx, func(tx node.Tx) (err error) {
			response, err = f(tx, request)
			return err
		})
		return response, err
	}}
}

// decides registers a command that changes something, in one transaction.
func decides[Req, Resp any](s *Server, name string, f func(node.Tx, node.Actor, Req) (Resp, error)) {
	acts(s, name, func(ctx context.Context, request Req) (Resp, error) {
		var response Resp
		err := s.DB.InTx(ctx, func(tx node.Tx) error {
			actor, err := s.actor(ctx, tx)
			if err != nil {
				return err
			}
			response, err = f(tx, actor, request)
			return err
		})
		return response, err
	})
}

// acts registers a command that changes something in transactions of its own.
func acts[Req, Resp any](s *Server, name string, f func(context.Context, Req) (Resp, error)) {
	s.commands[name] = command{password: true, run: func(ctx context.Context, raw json.RawMessage) (any, error) {
		request, err := decode[Req](raw)
		if err != nil {
			return nil, err
		}
		response, err := f(ctx, request)
		if err == nil {
			s.Changed()
		}
		return response, err
	}}
}

func decode[Req any](raw json.RawMessage) (request Req, err error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	return request, node.Decode(raw, &request)
}

// serve answers one command.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	response, err := s.answer(w, r)
	if stream, ok := response.(streamed); ok && err == nil {
		s.stream(w, r, stream)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	if err := json.NewEncoder(w).Encode(response); err != nil {
		s.Log.Debug("the owner's command left before its answer", "command", r.URL.Path, "error", err)
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := s.admit(r.Context()); err != nil {
		return nil, err
	}
	command, known := s.commands[r.URL.Path[1:]]
	if !known || r.Method != http.MethodPost {
		return nil, node.Errorf(node.NotFound, "The node does not know this command; it may be older than the command line.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, node.MaxJSONBytes))
	if err != nil {
		return nil, bodyProblem(err)
	}
	var call call
	if err := node.Decode(body, &call); err != nil {
		return nil, err
	}
	if err := s.needsOwner(r.Context()); err != nil {
		return nil, err
	}
	if command.password {
		if err := s.checkPassword(r.Context(), call.Password); err != nil {
			return nil, err
		}
	}
	return command.run(r.Context(), call.Request)
}

// needsOwner refuses every command before the set-up.
func (s *Server) needsOwner(ctx context.Context) error {
	err := s.DB.View(ctx, func(tx node.Tx) error {
		_, err := s.Owner.Owner(tx)
		return err
	})
	if err != nil && node.CodeOf(err) == node.NotFound {
		return node.Errorf(node.Unavailable, "The node is not set up yet: open the link that it printed when it started.")
	}
	return err
}

func bodyProblem(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return node.Errorf(node.TooLarge, "The request is larger than 64 KiB.")
	}
	return &node.Error{Code: node.BadRequest, Message: "The request did not arrive whole.", Err: err}
}

func (s *Server) checkPassword(ctx context.Context, password string) error {
	if password == "" {
		return node.Errorf(node.Unauthorized, "This command needs the owner's password.")
	}
	actor := node.Actor{Kind: node.ActorOwner, Via: callerOf(ctx).String()}
	return s.Owner.CheckPassword(ctx, actor, password)
}

// refuse answers an error in the form of every door. The cause is logged here
// and goes no further.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	requestID := s.IDs.New()
	refusal := problem.Of(err, requestID)
	if refusal.Code == node.Internal {
		s.Log.Error("the owner's command failed", "command", r.URL.Path, "requestId", requestID, "error", err)
	}
	w.WriteHeader(problem.Status(refusal.Code))
	if _, err := w.Write(refusal.JSON()); err != nil {
		s.Log.Debug("the owner's command left before its answer", "command", r.URL.Path, "error", err)
	}
}
