-- +goose Up
-- unserved: what was said or answered repeats a memory that was deleted since.
-- It stays on record and does not go into a request again.
ALTER TABLE exchanges ADD COLUMN unserved INTEGER NOT NULL DEFAULT 0;
