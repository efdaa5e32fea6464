package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"

	"github.com/pressly/goose/v3"

	"agentlink/migrations"
	"agentlink/node"
)

// schema is how an engine's tables are made.
type schema struct {
	folder  string
	dialect goose.Dialect
	// alone lends a database/sql handle while no other process migrates.
	alone func(ctx context.Context, use func(*sql.DB) error) error
}

// Migrate brings the schema up to date. Replicas may do so at once. Code:
// unavailable, or conflict when a newer AgentLink has written the database.
func (s *Store) Migrate(ctx context.Context) error {
	return s.migrate(ctx, func(provider *goose.Provider) error {
		_, err := provider.Up(ctx)
		return err
	})
}

// MigrateDown takes the schema back to the given number; 0 removes every table.
// What these tables held is gone.
func (s *Store) MigrateDown(ctx context.Context, to int64) error {
	return s.migrate(ctx, func(provider *goose.Provider) error {
		_, err := provider.DownTo(ctx, to)
		return err
	})
}

func (s *Store) migrate(ctx context.Context, step func(*goose.Provider) error) error {
	schema := s.engine.schema()
	files, err := fs.Sub(migrations.Files, schema.folder)
	if err != nil {
		return broken(err)
	}
	err = schema.alone(ctx, func(db *sql.DB) error {
		provider, err := goose.NewProvider(schema.dialect, db, files, goose.WithDisableGlobalRegistry(true))
		if err != nil {
			return err
		}
		if err := knownVersion(ctx, provider); err != nil {
			return err
		}
		return step(provider)
	})
	return s.migrationProblem(err)
}

// knownVersion refuses a database that a newer program has already changed:
// this one does not know what its tables mean.
func knownVersion(ctx context.Context, provider *goose.Provider) error {
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return err
	}
	if current > target {
		return node.Errorf(node.Conflict, "The database was written by a newer AgentLink (schema %d; this one knows %d). Use that version.", current, target)
	}
	return nil
}

func (s *Store) migrationProblem(err error) error {
	var known *node.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return s.engine.fault(err).err
}
