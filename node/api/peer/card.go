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
	key     string // its fingerprint
	at      time.Time
}

// Card is the node's card, a compact JWS.
func (i *Inbox) Card() (string, error) {
	i.card.mu.Lock()
	defer i.card.mu.Unlock()
	now := i.Clock.Now()
	// The fingerprint is read first: whoever sees a new key sees its recipient too.
	fingerprint := i.Signer.Fingerprint()
	if age := now.Sub(i.card.at); i.card.key == fingerprint && age >= 0 && age < cardRenewal {
		return i.card.compact, nil
	}
	public, _ := i.Signer.Key(fingerprint)
	compact, err := i.Signer.SignAs(fingerprint, token.Card, wire.Card{
		Versions: []int{wire.Version}, Host: i.Self.Host, Fingerprint: fingerprint,
		PublicKey: base64.RawURLEncoding.EncodeToString(public),
		Recipient: i.Recipient(), Inbox: i.Self.Inbox, Iat: now.Unix(), Exp: now.Add(cardLife).Unix(),
	})
	if err != nil {
		return "", err
	}
	i.card.compact, i.card.key, i.card.at = compact, fingerprint, now
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
