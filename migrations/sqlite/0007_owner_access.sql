-- +goose Up
-- Times are microseconds since 1970, 0 for none. What the comments call sealed
-- is encrypted for its cell; a hash is a SHA-256 of a random secret.

-- Guesses are counted by what is guessed at; those of the last minute may be
-- forgotten.
DROP TABLE password_guesses;
CREATE TABLE guesses (
    id     TEXT NOT NULL PRIMARY KEY,
    bucket TEXT NOT NULL,
    at     INTEGER NOT NULL
) STRICT;
CREATE INDEX guesses_bucket ON guesses (bucket, at);
CREATE INDEX guesses_at ON guesses (at);

ALTER TABLE owners ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0; -- in any session

CREATE TABLE owner_sessions (
    id           TEXT NOT NULL PRIMARY KEY,
    owner_id     TEXT NOT NULL,
    hash         TEXT NOT NULL UNIQUE, -- of the cookie's value
    how          TEXT NOT NULL CHECK (how IN ('passkey', 'password', 'recovery', 'link', 'setup')),
    client       BLOB NOT NULL, -- sealed
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    confirmed_at INTEGER NOT NULL,
    previous_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX owner_sessions_seen ON owner_sessions (last_seen_at, id);
CREATE INDEX owner_sessions_created ON owner_sessions (created_at);

CREATE TABLE one_time_links (
    hash       TEXT NOT NULL PRIMARY KEY,
    purpose    TEXT NOT NULL CHECK (purpose IN ('setup', 'signin')),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX one_time_links_expiry ON one_time_links (expires_at);
CREATE INDEX one_time_links_purpose ON one_time_links (purpose);

CREATE TABLE passkeys (
    id             TEXT NOT NULL PRIMARY KEY,
    owner_id       TEXT NOT NULL,
    rev            INTEGER NOT NULL,
    credential_key TEXT NOT NULL UNIQUE, -- keyed hash of the credential's id
    record         BLOB NOT NULL, -- sealed
    created_at     INTEGER NOT NULL,
    last_used_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX passkeys_created ON passkeys (created_at, id);

CREATE TABLE spent_challenges (
    hash    TEXT NOT NULL PRIMARY KEY,
    over_at INTEGER NOT NULL
) STRICT;
CREATE INDEX spent_challenges_over ON spent_challenges (over_at);

CREATE TABLE recovery_codes (
    hash     TEXT NOT NULL PRIMARY KEY,
    owner_id TEXT NOT NULL,
    made_at  INTEGER NOT NULL,
    used_at  INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE recovery_codes;
DROP TABLE spent_challenges;
DROP TABLE passkeys;
DROP TABLE one_time_links;
DROP TABLE owner_sessions;
ALTER TABLE owners DROP COLUMN seen_at;
DROP TABLE guesses;
CREATE TABLE password_guesses (
    id TEXT NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX password_guesses_at ON password_guesses (at);
