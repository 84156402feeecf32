-- +goose Up
CREATE TABLE documents (
	tenant     TEXT NOT NULL,
	id         TEXT NOT NULL,
	latest     INTEGER NOT NULL,
	published  INTEGER NOT NULL DEFAULT 0,
	deleted    INTEGER NOT NULL DEFAULT 0,
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX documents_published ON documents (tenant) WHERE published = 1;

-- state: pending until its text can be searched, then scheduled or published
-- by its day, then replaced or expired.
CREATE TABLE versions (
	tenant     TEXT NOT NULL,
	document   TEXT NOT NULL,
	version    INTEGER NOT NULL,
	state      TEXT NOT NULL,
	title      TEXT NOT NULL,
	sha256     TEXT NOT NULL,
	media_type TEXT NOT NULL,
	restricted INTEGER NOT NULL,
	groups     TEXT NOT NULL,
	effective  BIGINT NOT NULL,
	expires    BIGINT NOT NULL,
	passages   INTEGER NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (tenant, document, version)
) WITHOUT ROWID;
CREATE INDEX versions_scheduled ON versions (effective) WHERE state = 'scheduled';
CREATE INDEX versions_expiring ON versions (expires) WHERE state = 'published' AND expires > 0;

CREATE TABLE version_groups (
	tenant   TEXT NOT NULL,
	document TEXT NOT NULL,
	version  INTEGER NOT NULL,
	name     TEXT NOT NULL,
	PRIMARY KEY (tenant, document, version, name)
) WITHOUT ROWID;

CREATE TABLE passages (
	tenant   TEXT NOT NULL,
	id       TEXT NOT NULL,
	document TEXT NOT NULL,
	version  INTEGER NOT NULL,
	ordinal  INTEGER NOT NULL,
	tokens   INTEGER NOT NULL,
	heading  TEXT NOT NULL,
	text     TEXT NOT NULL,
	PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX passages_ordinal ON passages (tenant, document, version, ordinal);

-- cancelled: a put that somebody may be carrying out while its document was
-- deleted; when it is reported done, the removal is queued once more.
CREATE TABLE outbox (
	seq       INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant    TEXT NOT NULL,
	document  TEXT NOT NULL,
	version   INTEGER NOT NULL,
	op        TEXT NOT NULL,
	cancelled INTEGER NOT NULL DEFAULT 0,
	ids       TEXT NOT NULL,
	at        BIGINT NOT NULL
);
CREATE INDEX outbox_version ON outbox (tenant, document, version);
