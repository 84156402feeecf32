-- +goose Up
-- Messages whose intent somebody has put right. user_id and session are those
-- of whoever said it, '' where nobody did: their erasure takes the row along.
CREATE TABLE intent_examples (
	tenant     TEXT NOT NULL,
	id         TEXT NOT NULL,
	intent     TEXT NOT NULL,
	source     TEXT NOT NULL,
	exchange   TEXT NOT NULL,
	user_id    TEXT NOT NULL,
	session    TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	text       TEXT NOT NULL,
	PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX intent_examples_text ON intent_examples (tenant, text);
CREATE INDEX intent_examples_newest ON intent_examples (tenant, created_at, id);
CREATE INDEX intent_examples_session ON intent_examples (tenant, user_id, session);
CREATE INDEX intent_examples_exchange ON intent_examples (tenant, exchange) WHERE exchange <> '';
ALTER TABLE tenants ADD COLUMN examples BIGINT NOT NULL DEFAULT 0;
