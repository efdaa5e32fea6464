package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"agentlink/node"
)

// Report is the result of verifying the log.
type Report struct {
	Rows int64  `json:"rows"`
	Head string `json:"head"`
	// Problem says what is wrong and where; "" when the log is whole.
	Problem string `json:"problem,omitempty"`
}

// OK says whether the log is whole.
func (r Report) OK() bool { return r.Problem == "" }

const verifyPage = 1000

// UnopenedError says that the sealed data of a row was changed: it does not open.
type UnopenedError struct {
	Position int64
	Err      error
}

// Error implements error.
func (e *UnopenedError) Error() string {
	return fmt.Sprintf("the data of row %d does not open", e.Position)
}

// Unwrap gives the cause.
func (e *UnopenedError) Unwrap() error { return e.Err }

// Verify walks the whole log and compares it with the head. Where deep is set
// the data of each row is opened and compared with its hash too.
func (l *Log) Verify(tx node.Tx, deep bool) (Report, error) {
	head, err := l.store.AuditHead(tx)
	if node.CodeOf(err) == node.NotFound {
		return Report{Problem: "the head is missing"}, nil
	}
	if err != nil {
		return Report{}, err
	}
	if head.Position > 0 && !hmac.Equal([]byte(l.mac(Head{Position: head.Position, Hash: head.Hash})), []byte(head.MAC)) {
		return Report{Problem: "the head was not written by this node"}, nil
	}
	last := Row{Hash: GenesisHash}
	for {
		rows, err := l.store.AuditRows(tx, Filter{After: last.Position, Limit: verifyPage, Hashes: !deep})
		var unopened *UnopenedError
		if errors.As(err, &unopened) {
			return Report{Rows: last.Position, Head: last.Hash, Problem: unopened.Error()}, nil
		}
		if err != nil {
			return Report{}, err
		}
		for _, row := range rows {
			if problem := follows(last, row, deep); problem != "" {
				return Report{Rows: last.Position, Head: last.Hash, Problem: problem}, nil
			}
			last = row
		}
		if len(rows) < verifyPage {
			break
		}
	}
	report := Report{Rows: last.Position, Head: last.Hash}
	if last.Position != head.Position || last.Hash != head.Hash {
		report.Problem = fmt.Sprintf("the log ends at row %d, the head says %d", last.Position, head.Position)
	}
	return report, nil
}

func follows(last, row Row, deep bool) string {
	switch {
	case row.Position != last.Position+1:
		return fmt.Sprintf("row %d is missing", last.Position+1)
	case row.Previous != last.Hash:
		return fmt.Sprintf("row %d does not follow row %d", row.Position, last.Position)
	case row.computeHash() != row.Hash:
		return fmt.Sprintf("row %d was changed", row.Position)
	}
	if deep {
		sum := sha256.Sum256(row.Data)
		if hex.EncodeToString(sum[:]) != row.DataHash {
			return fmt.Sprintf("the data of row %d was changed", row.Position)
		}
	}
	return ""
}
