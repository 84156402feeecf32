-- +goose Up
-- Times are microseconds since 1970 in UTC, 0 = none. Lists are JSON, '' = empty.
PRAGMA application_id = 1398030913;

CREATE TABLE meta (
	name  TEXT PRIMARY KEY,
	value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE tenants (
	tenant    TEXT PRIMARY KEY,
	kb_gen    BIGINT NOT NULL DEFAULT 0,
	documents BIGINT NOT NULL DEFAULT 0,
	memories  BIGINT NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE users (
	tenant     TEXT NOT NULL,
	user_id    TEXT NOT NULL,
	user_gen   BIGINT NOT NULL DEFAULT 0,
	stable_gen BIGINT NOT NULL DEFAULT 0,
	memories   BIGINT NOT NULL DEFAULT 0,
	updated_at BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (tenant, user_id)
) WITHOUT ROWID;

CREATE TABLE sessions (
	tenant       TEXT NOT NULL,
	user_id      TEXT NOT NULL,
	session      TEXT NOT NULL,
	named        INTEGER NOT NULL DEFAULT 0,
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	last_intent  TEXT NOT NULL DEFAULT '',
	last_history INTEGER NOT NULL DEFAULT 0,
	turns        BIGINT NOT NULL DEFAULT 0,
	tip          TEXT NOT NULL DEFAULT '',
	pinned       TEXT NOT NULL DEFAULT '',
	pinned_gen   BIGINT NOT NULL DEFAULT 0,
	closed       INTEGER NOT NULL DEFAULT 0,
	lease        TEXT NOT NULL DEFAULT '',
	lease_until  BIGINT NOT NULL DEFAULT 0,
	lease_seq    BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (tenant, user_id, session)
) WITHOUT ROWID;
CREATE INDEX sessions_newest ON sessions (tenant, created_at);
CREATE INDEX sessions_by_id ON sessions (tenant, session);

-- part: turn = what its turn says now, branch = another answer to it, kept for
-- linking, receipt = nothing but the receipt.
-- learn: recorded, learned, failed, skipped; raw = not to be learned from, its
-- texts not yet redacted.
-- Texts stand last, so that reads of the other columns skip their pages.
CREATE TABLE exchanges (
	seq       INTEGER PRIMARY KEY,
	id        TEXT NOT NULL,
	tenant    TEXT NOT NULL,
	user_id   TEXT NOT NULL,
	session   TEXT NOT NULL DEFAULT '',
	named     INTEGER NOT NULL DEFAULT 0,
	part      TEXT NOT NULL,
	learn     TEXT NOT NULL,
	again     INTEGER NOT NULL DEFAULT 0,
	status    TEXT NOT NULL DEFAULT '',
	finished  INTEGER NOT NULL DEFAULT 0,
	turn_key  TEXT NOT NULL DEFAULT '',
	turn_id   TEXT NOT NULL DEFAULT '',
	turn_at   BIGINT NOT NULL DEFAULT 0,
	pair_key  TEXT NOT NULL DEFAULT '',
	history   INTEGER NOT NULL DEFAULT 0,
	at        BIGINT NOT NULL,
	ended     BIGINT NOT NULL DEFAULT 0,
	intent    TEXT NOT NULL DEFAULT '',
	timezone  TEXT NOT NULL DEFAULT '',
	model     TEXT NOT NULL DEFAULT '',
	answer_id TEXT NOT NULL DEFAULT '',
	items     TEXT NOT NULL DEFAULT '',
	stable    TEXT NOT NULL DEFAULT '',
	receipt   BLOB,
	asked     TEXT NOT NULL DEFAULT '',
	answer    TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX exchanges_id ON exchanges (tenant, id);
CREATE INDEX exchanges_answer ON exchanges (answer_id) WHERE answer_id <> '';
CREATE INDEX exchanges_turn ON exchanges (turn_key) WHERE turn_key <> '';
CREATE INDEX exchanges_pair ON exchanges (tenant, user_id, pair_key, session) WHERE pair_key <> '' AND named = 0;
CREATE INDEX exchanges_session ON exchanges (tenant, user_id, session, turn_at);
CREATE INDEX exchanges_recorded ON exchanges (tenant, user_id, session, seq) WHERE learn = 'recorded';
CREATE INDEX exchanges_raw ON exchanges (seq) WHERE learn = 'raw';

-- owner is the user of a user's memory, the session of a session's, '' of a
-- workspace's.
CREATE TABLE memories (
	id         TEXT NOT NULL,
	tenant     TEXT NOT NULL,
	user_id    TEXT NOT NULL,
	scope      TEXT NOT NULL,
	owner      TEXT NOT NULL,
	session    TEXT NOT NULL,
	type       TEXT NOT NULL,
	kind       TEXT NOT NULL,
	topic      TEXT NOT NULL,
	summary    TEXT NOT NULL,
	importance INTEGER NOT NULL,
	confidence DOUBLE PRECISION NOT NULL,
	status     TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	sources    TEXT NOT NULL,
	supersedes TEXT NOT NULL,
	scores     INTEGER NOT NULL,
	scorer     TEXT NOT NULL,
	source     TEXT NOT NULL,
	standing   INTEGER NOT NULL,
	slot       TEXT NOT NULL,
	tokens     INTEGER NOT NULL,
	PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX memories_slot ON memories (tenant, scope, user_id, owner, slot) WHERE status = 'active';
CREATE INDEX memories_newest ON memories (tenant, user_id, created_at, id);
CREATE INDEX memories_expiry ON memories (expires_at) WHERE status = 'active' AND expires_at > 0;

CREATE TABLE evidence (
	tenant   TEXT NOT NULL,
	memory   TEXT NOT NULL,
	exchange TEXT NOT NULL,
	user_id  TEXT NOT NULL,
	session  TEXT NOT NULL,
	at       BIGINT NOT NULL,
	PRIMARY KEY (tenant, memory, exchange)
) WITHOUT ROWID;
CREATE INDEX evidence_session ON evidence (tenant, user_id, session);

-- owner and name are keyed digests: what was deleted cannot be read from here.
CREATE TABLE tombstones (
	tenant TEXT NOT NULL,
	owner  TEXT NOT NULL,
	kind   TEXT NOT NULL,
	name   TEXT NOT NULL,
	at     BIGINT NOT NULL,
	gen    BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (tenant, owner, kind, name)
) WITHOUT ROWID;

CREATE TABLE rejected (
	seq      INTEGER PRIMARY KEY,
	id       TEXT NOT NULL,
	tenant   TEXT NOT NULL,
	user_id  TEXT NOT NULL,
	session  TEXT NOT NULL,
	exchange TEXT NOT NULL,
	text     TEXT NOT NULL,
	reason   TEXT NOT NULL,
	scores   INTEGER NOT NULL,
	at       BIGINT NOT NULL
);
CREATE INDEX rejected_user ON rejected (tenant, user_id, session);
