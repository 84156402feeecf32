package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"strata/stores"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	migrationsTable = "schema_migrations"
	applicationID   = 1398030913 // "STRA", set by the first migration
	schema          = 5          // number of the last migration
	ahead           = 1          // how many migrations more a store may have had: they only add
)

// inspectVersion refuses a store that too new a program has written.
func inspectVersion(ctx context.Context, db *sql.DB) error {
	var version int
	err := db.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM "+migrationsTable+" WHERE is_applied").Scan(&version)
	if err != nil {
		return fmt.Errorf("%w: no table of migrations: %w", stores.ErrUnreadable, err)
	}
	if version > schema+ahead {
		return fmt.Errorf("%w: schema %d, this program knows %d", stores.ErrNewer, version, schema)
	}
	return nil
}

func migrate(ctx context.Context, db *sql.DB) error {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	return migrateWith(ctx, db, dir)
}

func migrateWith(ctx context.Context, db *sql.DB, dir fs.FS) error {
	p, err := goose.NewProvider(goose.DialectSQLite3, db, dir,
		goose.WithTableName(migrationsTable), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// readSecret returns the store's secret and makes it the first time.
func readSecret(ctx context.Context, db *sql.DB) ([]byte, error) {
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // never fails
	if _, err := db.ExecContext(ctx, "INSERT INTO meta (name, value) VALUES ('secret', $1) ON CONFLICT (name) DO NOTHING", fresh); err != nil {
		return nil, err
	}
	var secret []byte
	if err := db.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'secret'").Scan(&secret); err != nil {
		return nil, err
	}
	if len(secret) != 32 {
		return nil, fmt.Errorf("%w: its secret has %d bytes", stores.ErrUnreadable, len(secret))
	}
	return secret, nil
}
