-- +goose Up
-- none, pending or ready: whether the passages of a version have vectors in the
-- space that meta names.
ALTER TABLE versions ADD COLUMN vectors TEXT NOT NULL DEFAULT 'none';

-- Passages that wait for vectors. They are no rows of the outbox: a program
-- that knows no vectors would take them for texts. cancelled is what it is
-- there.
CREATE TABLE embeds (
	seq       INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant    TEXT NOT NULL,
	document  TEXT NOT NULL,
	version   INTEGER NOT NULL,
	cancelled INTEGER NOT NULL DEFAULT 0,
	ids       TEXT NOT NULL
);
CREATE INDEX embeds_version ON embeds (tenant, document, version);
