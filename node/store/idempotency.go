package store

import (
	"time"

	"agentlink/node"
	"agentlink/node/seal"
)

// answerLife is how long an Idempotency-Key is remembered.
const answerLife = 24 * time.Hour

// ClaimIdempotency takes a key of the caller's for a request, by the hash of
// route and body. claimed is false where the key is taken: storedHash is then
// the hash of the request that has it, as far as it can be told (the same text
// as hash, or another), and answer what that request was answered, nil while
// there is no answer. It waits while another transaction holds the key.
func (s *Store) ClaimIdempotency(tx node.Tx, caller, key, hash string) (claimed bool, storedHash string, answer []byte, err error) {
	row := s.keyRow(caller, key)
	kept := s.box.Lookup("idempotency.hash", hash)
	taken, err := s.exec(tx, `INSERT INTO idempotency (caller, key, hash, expires_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (caller, key) DO UPDATE SET hash = $5, answer = NULL, expires_at = $6 WHERE idempotency.expires_at <= $7`,
		caller, row, kept, micros(tx.Now().Add(answerLife)), kept, micros(tx.Now().Add(answerLife)), micros(tx.Now()))
	if err != nil || taken == 1 {
		return err == nil, "", nil, err
	}
	var sealed []byte
	err = s.one(tx, `SELECT hash, answer FROM idempotency WHERE caller = $1 AND key = $2`, []any{caller, row}, &storedHash, &sealed)
	if node.CodeOf(err) == node.NotFound {
		return false, hash, nil, nil // it was given back this moment; whoever asks again gets it
	}
	if err != nil {
		return false, "", nil, err
	}
	if storedHash == kept {
		storedHash = hash
	}
	answer, err = s.open(answerPlace(caller, row), sealed)
	return false, storedHash, answer, err
}

// KeepAnswer stores what the request that holds the key was answered, from now
// on for a day.
func (s *Store) KeepAnswer(tx node.Tx, caller, key string, answer []byte) error {
	row := s.keyRow(caller, key)
	sealed := s.seal(answerPlace(caller, row), answer)
	kept, err := s.exec(tx, `UPDATE idempotency SET answer = $1, expires_at = $2 WHERE caller = $3 AND key = $4`,
		sealed, micros(tx.Now().Add(answerLife)), caller, row)
	if err == nil && kept != 1 {
		err = errNoRow()
	}
	return err
}

// DropIdempotency gives a key back.
func (s *Store) DropIdempotency(tx node.Tx, caller, key string) error {
	_, err := s.exec(tx, `DELETE FROM idempotency WHERE caller = $1 AND key = $2`, caller, s.keyRow(caller, key))
	return err
}

// SweepIdempotency forgets up to limit keys whose day is over, and says how many.
func (s *Store) SweepIdempotency(tx node.Tx, limit int) (int, error) {
	swept, err := s.exec(tx, `DELETE FROM idempotency WHERE (caller, key) IN
		(SELECT caller, key FROM idempotency WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)`, micros(tx.Now()), limit)
	return int(swept), err
}

// keyRow stands for the key in the table: callers put names into their keys.
func (s *Store) keyRow(caller, key string) string {
	return s.box.Lookup("idempotency.key", caller+" "+key)
}

func answerPlace(caller, row string) seal.Place {
	return seal.Place{Table: "idempotency", Column: "answer", Row: row, Owner: caller}
}
