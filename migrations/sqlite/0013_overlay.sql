-- +goose Up
-- The owner's own rules, every version of them. The one with the highest number
-- holds; where its version is '' the rules were removed.
CREATE TABLE overlays (
    id         TEXT NOT NULL PRIMARY KEY,
    owner_id   TEXT NOT NULL,
    number     INTEGER NOT NULL CHECK (number > 0),
    version    TEXT NOT NULL, -- SHA-256 of the text, hex
    source     BLOB, -- sealed; NULL where the rules were removed
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX overlays_number ON overlays (owner_id, number);
CREATE INDEX overlays_version ON overlays (owner_id, version);

-- +goose Down
DROP TABLE overlays;
