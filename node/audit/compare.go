package audit

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"agentlink/node"
)

// Compared says that the owner has compared the log with what peers kept of it.
const Compared Type = "log.compared"

// Verdict is what comes of comparing the log with what a peer kept of it.
type Verdict string

// The verdicts, the better one first. Of several heads the worst one counts.
const (
	Nothing  Verdict = "nothing"  // the peer has kept no head yet
	Agrees   Verdict = "agrees"   // the row is the one that was shown
	Restored Verdict = "restored" // it is not, as a restore in this log explains
	NotOurs  Verdict = "not_ours" // the peer gave what this node, with its first master key, never sealed for it
	Fewer    Verdict = "fewer"    // the log has fewer rows than were shown
	Differs  Verdict = "differs"  // another row stands there
)

var verdicts = []Verdict{Nothing, Agrees, Restored, NotOurs, Fewer, Differs}

// Kept is a head that a peer gives back.
type Kept struct {
	Place  string // as it was when it was shown
	Sealed string
}

// Comparison is the log compared with the heads that one peer kept.
type Comparison struct {
	Verdict Verdict `json:"result"`
	Heads   int     `json:"heads"` // compared
	// AgreesTo is the last head that agrees, DiffersFrom the first that does not.
	AgreesTo    *Shown `json:"agreesTo,omitempty"`
	DiffersFrom *Shown `json:"differsFrom,omitempty"`
	// Restore is what explains the difference, for Restored.
	Restore *Restore `json:"restore,omitempty"`
}

// Restore is what a row of the log says of a restore: the rows after the backup's
// last one were lost.
type Restore struct {
	At         time.Time `json:"at"`
	BackupFrom time.Time `json:"backupFrom"`
	Rows       int64     `json:"auditRows"` // of the backup
}

// Compare looks at the rows that a peer was shown. It trusts the hashes of the
// log's rows: whether those follow one another is for Verify.
func (l *Log) Compare(tx node.Tx, kept []Kept) (Comparison, error) {
	c := Comparison{Verdict: Nothing, Heads: len(kept)}
	restores, err := l.restores(tx)
	if err != nil {
		return c, err
	}
	for _, k := range kept {
		shown, err := l.recall(k.Place, k.Sealed)
		if err != nil {
			c.add(NotOurs, nil, nil)
			continue
		}
		verdict, err := l.stands(tx, shown)
		if err != nil {
			return c, err
		}
		var why *Restore
		if verdict != Agrees {
			if why = explains(restores, shown); why != nil {
				verdict = Restored
			}
		}
		c.add(verdict, &shown, why)
	}
	return c, nil
}

func (c *Comparison) add(verdict Verdict, shown *Shown, why *Restore) {
	if slices.Index(verdicts, verdict) > slices.Index(verdicts, c.Verdict) {
		c.Verdict = verdict
	}
	switch {
	case shown == nil:
	case verdict == Agrees && (c.AgreesTo == nil || shown.Position > c.AgreesTo.Position):
		c.AgreesTo = shown
	case verdict != Agrees && (c.DiffersFrom == nil || shown.Position < c.DiffersFrom.Position):
		c.DiffersFrom = shown
	}
	if why != nil {
		c.Restore = why
	}
}

// stands says whether the log has the row that was its last one when it was shown.
func (l *Log) stands(tx node.Tx, shown Shown) (Verdict, error) {
	if shown.Position == 0 {
		return Agrees, nil // of an empty log there is nothing to compare
	}
	rows, err := l.store.AuditRows(tx, Filter{After: shown.Position - 1, Before: shown.Position + 1, Limit: 1, Hashes: true})
	switch {
	case err != nil:
		return "", err
	case len(rows) == 0:
		return Fewer, nil
	case rows[0].Hash != shown.Hash:
		return Differs, nil
	}
	return Agrees, nil
}

// explains finds a restore that lost the row: it came after the head was shown,
// from a backup that ended before that row.
func explains(restores []Restore, shown Shown) *Restore {
	for i := range restores {
		if r := &restores[i]; shown.At.Before(r.At) && shown.Position > r.Rows {
			return r
		}
	}
	return nil
}

// maxRestores is how many restores are looked at, the latest ones.
const maxRestores = 100

func (l *Log) restores(tx node.Tx) ([]Restore, error) {
	rows, err := l.store.AuditRows(tx, Filter{Types: []Type{NodeRestored}, Newest: true, Limit: maxRestores})
	var unopened *UnopenedError
	if errors.As(err, &unopened) {
		return nil, nil // it explains nothing; Verify finds it where it opens the data too
	}
	if err != nil {
		return nil, err
	}
	var list []Restore
	for _, row := range rows {
		var said struct {
			BackupFrom time.Time `json:"backupFrom"`
			Rows       int64     `json:"auditRows"`
		}
		if json.Unmarshal(row.Data, &said) == nil {
			list = append(list, Restore{At: row.At, BackupFrom: said.BackupFrom, Rows: said.Rows})
		}
	}
	return list, nil
}
