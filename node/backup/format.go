// Package backup writes and reads the archive of a node: what its database holds,
// in a form that either database can be filled from. Sealed values stay sealed, so
// that an archive is of no use without the master key, which is never in it.
//
// The content of an archive, beneath the layer of age, is UTF-8 text, one JSON
// value a line:
//
//	{"format": "agentlink-backup-1", …}     the head, see Head
//	{"table": "agents", "columns": ["id", …]}
//	["0192d3a4-…", 1764488000000000, null, {"b": "‹base64›"}]
//	…                                       a row: text, whole numbers, null, bytes
//	{"tables": [{"name": "agents", "rows": 2, "sha256": "…"}, …], "sha256": "…"}
//
// The tail's sha256 covers every byte before it, a table's its rows. There are no
// file names in it, and nothing of it is ever used as one.
package backup

import (
	"time"

	"agentlink/node"
)

// Format names the format.
const Format = "agentlink-backup-1"

// Head is the first line.
type Head struct {
	Format      string    `json:"format"`
	Version     string    `json:"version"` // of the program that wrote it
	Schema      int64     `json:"schema"`  // of the database
	Fingerprint string    `json:"fingerprint"`
	Epoch       int64     `json:"epoch"` // of restores, when it was made
	MadeAt      time.Time `json:"madeAt"`
	AuditRows   int64     `json:"auditRows"`
	AuditHash   string    `json:"auditHash"`
}

// Table says what a table of the archive holds.
type Table struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"`
}

// Tail is the last line.
type Tail struct {
	Tables []Table `json:"tables"`
	SHA256 string  `json:"sha256"`
}

type tableLine struct {
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

// Report is what is known of an archive that was written or read whole.
type Report struct {
	Head
	Tables []Table `json:"tables"`
	SHA256 string  `json:"sha256"` // of the content
	Rows   int64   `json:"rows"`
}

func (r *Report) sum() {
	for _, table := range r.Tables {
		r.Rows += table.Rows
	}
}

// Limits of what is read. A row of the node's is far smaller than a line may be.
const (
	maxLine    = 4 << 20
	maxColumns = 100
	maxTables  = 100
)

// notAnArchive is the refusal of anything that Write did not write.
func notAnArchive(what string) error {
	return node.Errorf(node.BadRequest, "This is not a whole AgentLink backup: %s.", what)
}
