package durability

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/oauth"
	"agentlink/policy"
)

// flow is something that happens to a node.
type flow struct {
	name string
	// set prepares it: the node that it happens to, and the act, which can be
	// repeated. A request of the agent's has an idempotency key.
	set func(w *world) (*side, func(ctx context.Context) error)
	// commits is how many transactions change something.
	commits int
	// halfway are further states that may be left, from which a second try goes on.
	halfway []string
	// background work reports no success: what is left is done in its next step. The
	// answer to a run promises its reservation.
	background bool
	every      int           // only every so manieth call fails, since each needs a new world
	twice      bool          // done a second time it is logged a second time
	lease      time.Duration // after which somebody else may finish it
}

// halfRuns: a run was carried out, and its task could not be told; or one is
// reserved, the agent was told of a failure, and its key is free again. With the same
// key it gets that run.
var halfRuns = []string{
	"state=succeeded reason=saved_and_checked simulated=1 task_confirmation=failed repeat=0 settled=0",
	"state=reserved reason=running",
}

const runLease = 10 * time.Minute // longer than any run's

// flows are all that is tried.
var flows = []flow{
	{name: "send", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		return agentPosts(w, w.sides[0], "/messages", map[string]any{"connectionId": acquainted(w).connection().ID, "text": "hello"})
	}},
	{name: "send held", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		a := acquainted(w)
		a.mode(policy.Manual)
		return agentPosts(w, a, "/messages", map[string]any{"connectionId": a.connection().ID, "text": "hello"})
	}},
	{name: "start a task", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		a := acquainted(w)
		return agentPosts(w, a, "/tasks", map[string]any{
			"connectionId": a.connection().ID, "type": "dinner.coordination", "title": "Dinner", "proposal": dinner(),
		})
	}},
	{name: "propose", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		a := acquainted(w)
		uid := a.starts()
		fields := dinner()
		fields["time"] = "20:00"
		return agentPosts(w, a, "/tasks/"+uid+"/proposals", map[string]any{"fields": fields})
	}},
	{name: "respond", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		uid := acquainted(w).starts()
		return agentPosts(w, w.sides[1], "/tasks/"+uid+"/responses", map[string]any{"version": 1, "decision": "accept"})
	}},
	{name: "cancel", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		a := acquainted(w)
		return agentPosts(w, a, "/tasks/"+a.starts()+"/cancel", map[string]any{"reason": "changed my mind"})
	}},
	{name: "request an approval", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		a := acquainted(w)
		return agentPosts(w, a, "/approvals", map[string]any{"action": "reservation.book", "parameters": booking(a.agrees())})
	}},
	{name: "approve a message", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		return ownerDecides(w, true)
	}},
	{name: "reject a message", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		return ownerDecides(w, false)
	}},
	{name: "run and finish", commits: 4, every: 2, twice: true, background: true, halfway: halfRuns, lease: runLease, set: func(w *world) (*side, func(context.Context) error) {
		a := acquainted(w)
		uid := a.agrees()
		id := a.approved(uid, approvals.Wait)
		return agentPosts(w, a, "/actions", map[string]any{"approvalId": id})
	}},
	{name: "run on approval", commits: 3, every: 2, twice: true, background: true, halfway: halfRuns, lease: runLease, set: func(w *world) (*side, func(context.Context) error) {
		a := acquainted(w)
		a.approved(a.agrees(), approvals.Run)
		return a, steps(a.actions.RecoverStep)
	}},
	{name: "deliver", commits: 2, every: 2, background: true, set: func(w *world) (*side, func(context.Context) error) {
		a := acquainted(w)
		a.says("hello")
		return a, steps(a.worker.Step)
	}},
	{name: "receive", commits: 1, background: true, set: func(w *world) (*side, func(context.Context) error) {
		a := acquainted(w)
		a.says("hello")
		return a.other(), func(ctx context.Context) error {
			w.clock.Advance(61 * time.Second)
			return steps(a.worker.Step)(ctx)
		}
	}},
	{name: "receive a proposal", commits: 1, background: true, set: func(w *world) (*side, func(context.Context) error) {
		a := acquainted(w)
		a.post("/tasks", "", map[string]any{
			"connectionId": a.connection().ID, "type": "dinner.coordination", "title": "Dinner", "proposal": dinner(), "expiresInHours": 30,
		})
		return a.other(), func(ctx context.Context) error {
			w.clock.Advance(61 * time.Second)
			return steps(a.worker.Step)(ctx)
		}
	}},
	{name: "expire a task", commits: 1, background: true, set: func(w *world) (*side, func(context.Context) error) {
		a := acquainted(w)
		a.starts()
		w.clock.Advance(31 * time.Hour)
		return a, steps(a.coordination.ExpireStep)
	}},
	{name: "expire an approval", commits: 1, background: true, set: func(w *world) (*side, func(context.Context) error) {
		a := acquainted(w)
		a.mode(policy.Manual)
		a.says("hello")
		w.clock.Advance(25 * time.Hour)
		return a, steps(a.approvals.ExpireStep)
	}},
	{name: "look up a node", commits: 1, twice: true, set: func(w *world) (*side, func(context.Context) error) {
		return w.sides[0], func(ctx context.Context) error {
			_, err := w.sides[0].finds(ctx)
			return err
		}
	}},
	{name: "connect", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		found, err := w.sides[0].finds(context.Background())
		must(w.t, err)
		return w.sides[0], func(ctx context.Context) error { return w.sides[0].asks(ctx, found) }
	}},
	{name: "accept a connection", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		w.asked()
		c := w.sides[1].connection()
		return ownerDoes(w.sides[1], func(tx node.Tx, s *side) error {
			_, err := s.coordination.AcceptConnection(tx, s.owner, c.ID)
			return err
		})
	}},
	{name: "revoke a connection", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		c := acquainted(w).connection()
		return ownerDoes(w.sides[0], func(tx node.Tx, s *side) error {
			_, err := s.coordination.RevokeConnection(tx, s.owner, c.ID)
			return err
		})
	}},
	{name: "set a grant", commits: 1, twice: true, set: func(w *world) (*side, func(context.Context) error) {
		return ownerDoes(w.sides[0], func(tx node.Tx, s *side) error {
			_, err := s.policy.SetGrant(tx, s.owner, policy.NewGrant{AgentID: s.agent.ID, Capability: "task.*", Mode: policy.Deny})
			return err
		})
	}},
	{name: "change the mode", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		return ownerDoes(w.sides[0], func(tx node.Tx, s *side) error {
			_, err := s.policy.SetMode(tx, s.owner, s.agent.ID, policy.Manual)
			return err
		})
	}},
	{name: "disable", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		return ownerDoes(w.sides[0], func(tx node.Tx, s *side) error {
			_, err := s.policy.SetStatus(tx, s.owner, s.agent.ID, policy.Disabled)
			return err
		})
	}},
	{name: "replace the key", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		a := acquainted(w)
		return a, a.rotates(a.identity.Signer.Fingerprint())
	}},
	{name: "accept a new key", commits: 1, set: func(w *world) (*side, func(context.Context) error) {
		b := announced(w).other()
		asked := b.connection()
		fingerprint := asked.Offer.Fingerprint
		return ownerDoes(b, func(tx node.Tx, s *side) error {
			c, err := s.store.Connection(tx, asked.ID)
			if err != nil || c.Peer.Fingerprint == fingerprint {
				return err
			}
			_, err = s.coordination.AcceptKey(tx, s.owner, c.ID, fingerprint)
			return err
		})
	}},
	{name: "change a code for tokens", commits: 1, set: tokensForCode},
}

func acquainted(w *world) *side {
	w.acquainted()
	return w.sides[0]
}

// rotates replaces the key, unless it was: an owner who was told of a failure looks.
func (s *side) rotates(first string) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.store.InTx(ctx, func(tx node.Tx) error {
			today, err := s.identity.Today(tx)
			if err != nil || today.Fingerprint != first {
				return err
			}
			_, err = s.coordination.RotateKey(tx, s.owner)
			return err
		})
	}
}

// announced is a side whose new key waits for the other one's owner.
func announced(w *world) *side {
	a := acquainted(w)
	must(w.t, a.rotates(a.identity.Signer.Fingerprint())(context.Background()))
	must(w.t, steps(a.worker.Step)(context.Background()))
	return a
}

func (s *side) mode(mode policy.Mode) {
	s.in(func(tx node.Tx) error {
		_, err := s.policy.SetMode(tx, s.owner, s.agent.ID, mode)
		return err
	})
}

func (s *side) says(text string) {
	s.world.t.Helper()
	if a := s.post("/messages", "", map[string]any{"connectionId": s.connection().ID, "text": text}); a.status >= 300 {
		s.world.t.Fatalf("say something: %d %s", a.status, a.body)
	}
}

// approved is the id of an approval of the booking of a task.
func (s *side) approved(uid string, on approvals.OnApproval) string {
	s.world.t.Helper()
	a := s.post("/approvals", "", map[string]any{"action": "reservation.book", "parameters": booking(uid), "onApproval": on})
	if a.status != http.StatusCreated {
		s.world.t.Fatalf("ask for an approval: %d %s", a.status, a.body)
	}
	must(s.world.t, s.decides(context.Background(), s.pending(), true))
	return a.text("approvalId")
}

func agentPosts(_ *world, s *side, path string, body any) (*side, func(context.Context) error) {
	return s, func(context.Context) error { return s.post(path, "one-key", body).failed() }
}

func ownerDoes(s *side, f func(tx node.Tx, s *side) error) (*side, func(context.Context) error) {
	return s, func(ctx context.Context) error {
		return s.store.InTx(ctx, func(tx node.Tx) error { return f(tx, s) })
	}
}

func ownerDecides(w *world, yes bool) (*side, func(context.Context) error) {
	a := acquainted(w)
	a.mode(policy.Manual)
	a.says("hello")
	held := a.pending()
	return a, func(ctx context.Context) error { return a.decides(ctx, held, yes) }
}

// steps repeats a step of background work until there is no more.
func steps(step func(context.Context) (bool, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		for more := true; more; {
			var err error
			if more, err = step(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

const (
	callback        = "https://program.example/callback"
	verifier        = "a verifier that is long enough to be one, as RFC 7636 asks"
	challengeMethod = "S256"
)

var errRefused = errors.New("the client is refused")

func tokensForCode(w *world) (*side, func(context.Context) error) {
	s := w.sides[0]
	var made oauth.Registered
	var code string
	s.in(func(tx node.Tx) (err error) {
		made, err = s.oauth.Register(tx, []byte(`{"client_name":"A program","redirect_uris":["`+callback+`"],"token_endpoint_auth_method":"none"}`))
		if err != nil {
			return err
		}
		request, problem, err := s.oauth.Read(tx, s.host, url.Values{
			"client_id": {made.ClientID}, "redirect_uri": {callback}, "response_type": {"code"}, "state": {"a state"},
			"code_challenge": {challengeOf(verifier)}, "code_challenge_method": {challengeMethod}, "resource": {"http://" + s.host + "/mcp"},
		})
		if err != nil || problem != nil {
			return errors.Join(err, errRefused)
		}
		back, err := s.oauth.Approve(tx, s.owner, request, s.agent.ID)
		if err != nil {
			return err
		}
		to, err := url.Parse(back)
		code = to.Query().Get("code")
		return err
	})
	return s, func(ctx context.Context) error {
		return s.store.InTx(ctx, func(tx node.Tx) error {
			_, refusal, err := s.oauth.Token(tx, oauth.TokenRequest{
				Credentials: oauth.Credentials{ClientID: made.ClientID}, Grant: "authorization_code", Code: code,
				RedirectURI: callback, CodeVerifier: verifier, Resource: "http://" + s.host + "/mcp",
			})
			if err == nil && refusal != nil {
				return errRefused
			}
			return err
		})
	}
}
