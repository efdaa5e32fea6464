package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"agentlink/node"
)

// Exported says that the owner has taken a copy of the log.
const Exported Type = "log.exported"

// ExportFormat names the format of an export: UTF-8, one JSON object a line. The
// first is an ExportHead; each of the others is a row, in the order of their
// positions and without a gap:
//
//	{"position": 1, "at": "2026-05-01T12:00:00.123456Z", "owner": "…", "type": "grant.set", "actor": "owner", "via": "…",
//	 "agent": "…", "connection": "…", "task": "…", "subject": "…", "data": {…}, "dataHash": "…", "previous": "…", "hash": "…"}
//
// dataHash is SHA-256 over the canonical JSON (RFC 8785) of data. hash is SHA-256
// over the canonical JSON of an object that has the members of the row but hash,
// with two of them otherwise: at in microseconds since 1970, and dataHash under
// the name data. previous is the hash of the row before, of the first row 64
// zeros. All hashes are in hexadecimal, lower case.
const ExportFormat = "agentlink-audit-export-1"

// ExportHead is the first line of an export.
type ExportHead struct {
	Format      string    `json:"format"` // ExportFormat
	Host        string    `json:"host"`   // of the node's agents
	Fingerprint string    `json:"fingerprint"`
	PublicKey   string    `json:"publicKey"` // of the node, Ed25519, base64url without padding
	ExportedAt  time.Time `json:"exportedAt"`
	Rows        int64     `json:"rows"` // position of the last row
	Hash        string    `json:"hash"` // of the last row
	// Signature is a compact JWS by the node, kind token.AuditHead, over HeadClaims.
	Signature string `json:"signature"`
}

// HeadClaims is what the node signs of its log: that it ended with this row.
type HeadClaims struct {
	Iss  string `json:"iss"` // fingerprint of the node's key
	Rows int64  `json:"rows"`
	Hash string `json:"hash"`
	Iat  int64  `json:"iat"` // seconds since 1970
}

// exportedRow is a row as a line.
type exportedRow struct {
	Position   int64           `json:"position"`
	At         string          `json:"at"`
	Owner      string          `json:"owner"`
	Type       Type            `json:"type"`
	Actor      node.ActorKind  `json:"actor"`
	Via        string          `json:"via"`
	Agent      string          `json:"agent"`
	Connection string          `json:"connection"`
	Task       string          `json:"task"`
	Subject    string          `json:"subject"`
	Data       json.RawMessage `json:"data"`
	DataHash   string          `json:"dataHash"`
	Previous   string          `json:"previous"`
	Hash       string          `json:"hash"`
}

// exportedTime has all the microseconds that the hash covers.
const exportedTime = "2006-01-02T15:04:05.000000Z"

// exportPage is how many rows are in memory at once.
const exportPage = 500

// Export writes the head and the rows up to it, a page in each transaction: rows
// never change, so that the copy is whole although the log grows meanwhile.
func (l *Log) Export(ctx context.Context, db node.DB, head ExportHead, w io.Writer) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(head); err != nil {
		return err
	}
	for last := int64(0); last < head.Rows; {
		var rows []Row
		err := db.View(ctx, func(tx node.Tx) (err error) {
			rows, err = l.store.AuditRows(tx, Filter{After: last, Before: head.Rows + 1, Limit: exportPage})
			return err
		})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break // rows are missing: the copy says so too
		}
		for _, row := range rows {
			if err := lines.Encode(row.exported()); err != nil {
				return err
			}
		}
		last = rows[len(rows)-1].Position
	}
	return out.Flush()
}

func (r Row) exported() exportedRow {
	return exportedRow{
		Position: r.Position, At: r.At.UTC().Format(exportedTime), Owner: r.OwnerID, Type: r.Type, Actor: r.ActorKind, Via: r.Via,
		Agent: r.AgentID, Connection: r.ConnectionID, Task: r.TaskUID, Subject: r.Subject, Data: r.Data,
		DataHash: r.DataHash, Previous: r.Previous, Hash: r.Hash,
	}
}

// maxExportLine bounds a line of a file from anywhere.
const maxExportLine = 16 << 20

// VerifyExport walks an export, wherever it comes from: is it whole, and does it
// end with the row that its head names? Who made it, the head's signature tells,
// which is the caller's to verify. Code: bad_request for a file that is none.
func VerifyExport(r io.Reader) (ExportHead, Report, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxExportLine)
	var head ExportHead
	if !lines.Scan() || decodeLine(lines.Bytes(), &head) != nil || head.Format != ExportFormat {
		return head, Report{}, node.Errorf(node.BadRequest, "This is no export of an audit log: its first line is not a head of the format %s.", ExportFormat)
	}
	last := Row{Hash: GenesisHash}
	for lines.Scan() {
		row, err := importedRow(lines.Bytes())
		if err != nil {
			return head, Report{}, node.Errorf(node.BadRequest, "The line after row %d is not a row of an audit log.", last.Position)
		}
		if problem := follows(last, row, true); problem != "" {
			return head, Report{Rows: last.Position, Head: last.Hash, Problem: problem}, nil
		}
		last = row
	}
	if lines.Err() != nil {
		return head, Report{}, node.Errorf(node.BadRequest, "The line after row %d is too long, or the file cannot be read.", last.Position)
	}
	report := Report{Rows: last.Position, Head: last.Hash}
	if last.Position != head.Rows || last.Hash != head.Hash {
		report.Problem = fmt.Sprintf("the file ends at row %d, its head says %d", last.Position, head.Rows)
	}
	return head, report, nil
}

// decodeLine refuses unknown and double names.
func decodeLine(line []byte, into any) error {
	return jsonv2.Unmarshal(line, into, jsonv2.RejectUnknownMembers(true))
}

func importedRow(line []byte) (Row, error) {
	var e exportedRow
	if err := decodeLine(line, &e); err != nil {
		return Row{}, err
	}
	at, err := time.Parse(exportedTime, e.At)
	if err != nil {
		return Row{}, err
	}
	data, err := node.Canonical(e.Data)
	if err != nil {
		return Row{}, err
	}
	return Row{
		Position: e.Position, At: at, OwnerID: e.Owner, Type: e.Type, ActorKind: e.Actor, Via: e.Via, AgentID: e.Agent,
		ConnectionID: e.Connection, TaskUID: e.Task, Subject: e.Subject, Data: bytes.Clone(data), DataHash: e.DataHash, Previous: e.Previous, Hash: e.Hash,
	}, nil
}
