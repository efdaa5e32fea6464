package peer

import (
	"encoding/base64"
	"net/http"
	"sync"
	"time"

	"agentlink/coordination/wire"
	"agentlink/node/token"
)

// A card is good for a day and signed anew after an hour.
const (
	cardLife    = 24 * time.Hour
	cardRenewal = time.Hour
)

// card keeps the signed card, so that asking for it costs nothing.
type card struct {
	mu      sync.Mutex
	compact string
	at      time.Time
}

// Card is the node's card, a compact JWS.
func (i *Inbox) Card() (string, error) {
	i.card.mu.Lock()
	defer i.card.mu.Unlock()
	now := i.Clock.Now()
	if age := now.Sub(i.card.at); i.card.compact != "" && age >= 0 && age < cardRenewal {
		return i.card.compact, nil
	}
	compact, err := i.Signer.Sign(token.Card, wire.Card{
		Versions: []int{wire.Version}, Host: i.Self.Host, Fingerprint: i.Signer.Fingerprint(),
		PublicKey: base64.RawURLEncoding.EncodeToString(i.Signer.PublicKey()),
		Recipient: i.Self.Recipient, Inbox: i.Self.Inbox, Iat: now.Unix(), Exp: now.Add(cardLife).Unix(),
	})
	if err != nil {
		return "", err
	}
	i.card.compact, i.card.at = compact, now
	return compact, nil
}

func (i *Inbox) serveCard(w http.ResponseWriter, _ *http.Request) {
	compact, err := i.Card()
	if err != nil {
		i.Log.Error("inbox", "doing", "sign the card", "error", err)
		refuse(w, errUnavailable)
		return
	}
	write(w, http.StatusOK, []byte(compact))
}
