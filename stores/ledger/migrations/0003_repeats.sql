-- +goose Up
-- repeats: 1 = what was said or answered repeats a memory that was replaced
-- since, 2 = one that was deleted since: it stays on record and does not go
-- into a request again.
ALTER TABLE exchanges ADD COLUMN repeats INTEGER NOT NULL DEFAULT 0;
