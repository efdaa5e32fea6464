// Package migrations embeds the schema of both databases: one folder for each
// engine, with the same numbers in both. Package node/store applies them.
package migrations

import "embed"

// Files holds sqlite/NNNN_name.sql and postgres/NNNN_name.sql in goose's format.
//
//go:embed sqlite/*.sql postgres/*.sql
var Files embed.FS
