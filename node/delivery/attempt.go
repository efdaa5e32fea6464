package delivery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/outbox"
	"agentlink/node/seal"
	"agentlink/node/token"
)

// outcome is what came of an attempt.
type outcome struct {
	ack *wire.Ack // the peer's verified answer
	// unsent says that no byte has left. queued says that the peer has yet to look
	// at us.
	unsent, queued bool
	// otherKey says that the peer's card shows another key than the pinned one.
	otherKey bool
	// silent says that the host was asked and gave no answer that counts.
	silent     bool
	retryAfter time.Duration
	problem    string // for the log
}

// deliver posts and settles.
func (w *Worker) deliver(ctx context.Context, a attempt) error {
	result, blocked := w.sameKey(ctx, a)
	if !blocked {
		result = w.post(ctx, a)
	}
	// What the peer said is worth writing down even when the node is stopping.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	return w.settle(ctx, a, result)
}

// sameKey reads the peer's card once more before a request to connect leaves:
// its owner approved this address with this key.
func (w *Worker) sameKey(ctx context.Context, a attempt) (result outcome, blocked bool) {
	if !a.CheckCard {
		return outcome{}, false
	}
	_, err := w.Directory.Lookup(ctx, a.host, a.Peer.Fingerprint)
	if err == nil {
		return outcome{}, false
	}
	otherKey := errors.Is(err, ErrOtherKey)
	return outcome{unsent: true, problem: err.Error(), otherKey: otherKey, silent: !otherKey}, true
}

// sign implements coordination.Sign.
func (w *Worker) sign(d coordination.Dispatch) ([]byte, error) {
	envelope, err := d.Claims.Seal(d.Inner, func(plaintext []byte) ([]byte, error) {
		return seal.ToRecipient(d.Peer.Recipient, plaintext)
	})
	if err != nil {
		return nil, node.Wrap(err, "seal an envelope")
	}
	compact, err := w.Signer.SignAs(d.Key, token.Envelope, envelope)
	if err != nil {
		return nil, err
	}
	if len(compact) > wire.MaxEnvelope {
		return nil, node.Wrap(errors.New("the envelope is larger than 64 KiB"), "sign an envelope")
	}
	return []byte(compact), nil
}

func hash(envelope []byte) string {
	sum := sha256.Sum256(envelope)
	return hex.EncodeToString(sum[:])
}

// post sends the bytes and reads the answer.
func (w *Worker) post(ctx context.Context, a attempt) outcome {
	if a.host == w.Host {
		status, answer := w.Inbox.Receive(ctx, a.Envelope, "")
		return w.read(a, status, nil, answer)
	}
	status, header, answer, wrote, err := w.Transport.Post(ctx, a.Peer.Inbox, a.Envelope)
	if err != nil {
		return outcome{unsent: !wrote, silent: true, problem: err.Error()}
	}
	return w.read(a, status, header, answer)
}

func (w *Worker) read(a attempt, status int, header http.Header, answer []byte) outcome {
	switch {
	case status == http.StatusOK:
		ack, err := w.verify(a, answer)
		if err != nil {
			return outcome{silent: true, problem: "the answer is not valid: " + err.Error()}
		}
		return outcome{ack: &ack}
	case status == http.StatusAccepted && len(answer) == 0:
		return outcome{queued: true}
	}
	return outcome{silent: true, problem: "HTTP " + strconv.Itoa(status), retryAfter: retryAfter(header, w.Clock.Now())}
}

// verify takes an answer only with the key that is pinned for the peer, and only
// for these very bytes.
func (w *Worker) verify(a attempt, answer []byte) (wire.Ack, error) {
	key, err := token.ParseKey(a.Peer.PublicKey)
	if err != nil {
		return wire.Ack{}, err
	}
	var ack wire.Ack
	if err := token.Open(token.Ack, key, string(answer), &ack); err != nil {
		return wire.Ack{}, err
	}
	now, iat := w.Clock.Now(), time.Unix(ack.Iat, 0)
	switch {
	case ack.Iss != a.Claims.Aud, ack.Aud != a.Claims.Iss, ack.Ref != a.Claims.JTI, ack.SHA256 != hash(a.Envelope):
		return wire.Ack{}, errors.New("it is about something else")
	case iat.After(now.Add(wire.MaxSkew)), iat.Before(time.Unix(a.Claims.Iat, 0).Add(-wire.MaxSkew)):
		return wire.Ack{}, errors.New("its time cannot be right")
	case ack.Status != wire.Applied && ack.Status != wire.Rejected:
		return wire.Ack{}, errors.New("its status is not known")
	}
	return ack, nil
}

// settle writes down what came of it, in one transaction.
func (w *Worker) settle(ctx context.Context, a attempt, result outcome) error {
	pause := w.pause(a, result)
	quiet := w.hear(a, result)
	err := w.DB.InTx(ctx, func(tx node.Tx) error {
		next := tx.Now().Add(pause)
		if next.Before(quiet) {
			next = quiet
		}
		switch {
		case result.ack != nil:
			return w.settleAck(tx, a, *result.ack, next)
		case result.otherKey:
			return w.settleOtherKey(tx, a)
		case result.unsent:
			return w.putBack(tx, a, next)
		}
		if err := w.Coordination.Lock(tx, a.item); err != nil {
			return err
		}
		_, err := w.Outbox.RescheduleOutbox(tx, a.item.ID, a.item.LeaseToken, next)
		return err
	})
	if errors.Is(err, errLeaseLost) {
		err = nil
	}
	w.report(a, result)
	return err
}

// settleAck applies the answer whoever holds the lease now: it is the peer's
// word, and true in any case.
func (w *Worker) settleAck(tx node.Tx, a attempt, ack wire.Ack, next time.Time) error {
	done, err := w.Coordination.Acknowledged(tx, a.AgentID, ack)
	if err != nil {
		return err
	}
	if done {
		_, err = w.Outbox.DeleteOutbox(tx, a.item.ID, a.item.LeaseToken)
	} else {
		_, err = w.Outbox.RescheduleOutbox(tx, a.item.ID, a.item.LeaseToken, next)
	}
	return err
}

func (w *Worker) settleOtherKey(tx node.Tx, a attempt) error {
	if err := w.Coordination.KeyDiffers(tx, a.AgentID, a.MessageID); err != nil {
		return err
	}
	_, err := w.Outbox.DeleteOutbox(tx, a.item.ID, a.item.LeaseToken)
	return err
}

// hear remembers whether the host has answered, and says until when nothing is
// sent there.
func (w *Worker) hear(a attempt, result outcome) (quiet time.Time) {
	switch {
	case result.ack != nil, result.queued:
		w.hosts.answered(a.host)
		return time.Time{}
	case !result.silent:
		return time.Time{}
	}
	return w.hosts.silent(a.host, a.item.AgentID+" "+a.item.Lane, w.Clock.Now(), result.retryAfter, w.Jitter())
}

// pause is how long to wait for the next attempt.
func (w *Worker) pause(a attempt, result outcome) time.Duration {
	if result.queued {
		return max(askAgain, outbox.Pause(a.item.Attempts-patience+1, w.Jitter()))
	}
	return max(outbox.Pause(a.item.Attempts, w.Jitter()), result.retryAfter)
}

func (w *Worker) report(a attempt, result outcome) {
	if result.problem != "" {
		w.Log.Info("envelope not delivered", "host", a.host, "message", a.MessageID,
			"attempts", a.item.Attempts, "problem", result.problem)
	}
}

// retryAfter is what the header of that name asks for, seconds or a date, up to
// outbox.MaxPause.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	pause := time.Duration(0)
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		pause = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		pause = at.Sub(now)
	}
	return min(max(pause, 0), outbox.MaxPause)
}
