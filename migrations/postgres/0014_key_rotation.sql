-- +goose Up
-- The keys of this node that another one has replaced.
CREATE TABLE retired_keys (
    fingerprint  TEXT NOT NULL PRIMARY KEY,
    owner_id     TEXT NOT NULL,
    number       BIGINT NOT NULL UNIQUE CHECK (number > 0),
    detail       BYTEA NOT NULL, -- public key and what names its successor; sealed
    seed         BYTEA, -- sealed; NULL once it was erased
    age_identity BYTEA, -- sealed; NULL once it was erased
    created_at   BIGINT NOT NULL,
    retired_at   BIGINT NOT NULL,
    erased_at    BIGINT NOT NULL -- of the seed
);

-- The key of ours that a contact goes by, by its fingerprint; '' is the only one
-- that there ever was.
ALTER TABLE connections ADD COLUMN known_key TEXT NOT NULL DEFAULT '';
-- When the contact was last told of a newer one; 0 where nothing is owed.
ALTER TABLE connections ADD COLUMN key_told_at BIGINT NOT NULL DEFAULT 0;
-- Its owner does not accept our newer key.
ALTER TABLE connections ADD COLUMN key_declined BIGINT NOT NULL DEFAULT 0 CHECK (key_declined IN (0, 1));
-- It has announced a new key of its own, and our owner has not decided.
ALTER TABLE connections ADD COLUMN key_offered BIGINT NOT NULL DEFAULT 0 CHECK (key_offered IN (0, 1));
CREATE INDEX connections_known_key ON connections (known_key);
CREATE INDEX connections_key_told ON connections (key_told_at) WHERE key_told_at > 0;
CREATE INDEX connections_key_offered ON connections (created_at, id) WHERE key_offered = 1;
CREATE INDEX connections_fingerprint ON connections (fingerprint);

-- +goose Down
DROP INDEX connections_fingerprint;
DROP INDEX connections_key_offered;
DROP INDEX connections_key_told;
DROP INDEX connections_known_key;
ALTER TABLE connections DROP COLUMN key_offered;
ALTER TABLE connections DROP COLUMN key_declined;
ALTER TABLE connections DROP COLUMN key_told_at;
ALTER TABLE connections DROP COLUMN known_key;
DROP TABLE retired_keys;
