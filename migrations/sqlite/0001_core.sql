-- +goose Up
-- Times are microseconds since 1970, 0 for none. What the comments call sealed
-- is encrypted for its cell.

CREATE TABLE audit_log (
    position      INTEGER NOT NULL PRIMARY KEY CHECK (position > 0),
    at            INTEGER NOT NULL,
    owner_id      TEXT NOT NULL,
    type          TEXT NOT NULL,
    actor_kind    TEXT NOT NULL CHECK (actor_kind IN ('agent', 'owner', 'peer', 'node')),
    via           TEXT NOT NULL,
    agent_id      TEXT NOT NULL,
    connection_id TEXT NOT NULL,
    task_uid      TEXT NOT NULL,
    subject       TEXT NOT NULL,
    data          BLOB, -- sealed
    data_hash     TEXT NOT NULL,
    previous      TEXT NOT NULL,
    hash          TEXT NOT NULL
) STRICT;
CREATE INDEX audit_log_agent ON audit_log (agent_id, position);

CREATE TABLE audit_head (
    id       INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    rev      INTEGER NOT NULL,
    position INTEGER NOT NULL CHECK (position >= 0),
    hash     TEXT NOT NULL,
    mac      TEXT NOT NULL
) STRICT;
INSERT INTO audit_head (id, rev, position, hash, mac)
VALUES (1, 0, 0, '0000000000000000000000000000000000000000000000000000000000000000', '');

CREATE TABLE outbox (
    id          TEXT NOT NULL PRIMARY KEY,
    owner_id    TEXT NOT NULL,
    agent_id    TEXT NOT NULL,
    kind        TEXT NOT NULL,
    lane        TEXT NOT NULL,
    lane_order  INTEGER NOT NULL,
    ref         TEXT NOT NULL,
    next_at     INTEGER NOT NULL,
    due_at      INTEGER NOT NULL, -- next_at, or later while a lease or the lane's head holds it back
    attempts    INTEGER NOT NULL CHECK (attempts >= 0),
    lease_until INTEGER NOT NULL,
    lease_token TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    UNIQUE (agent_id, kind, ref)
) STRICT;
CREATE INDEX outbox_due ON outbox (due_at, id);
CREATE INDEX outbox_lane ON outbox (agent_id, lane, lane_order, id);

-- A node has one owner and one identity, hence the slots.
CREATE TABLE owners (
    slot          INTEGER NOT NULL PRIMARY KEY CHECK (slot = 1),
    id            TEXT NOT NULL UNIQUE,
    rev           INTEGER NOT NULL,
    name          BLOB NOT NULL, -- sealed
    password_hash BLOB NOT NULL, -- sealed
    created_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE password_guesses (
    id TEXT NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX password_guesses_at ON password_guesses (at);

CREATE TABLE node_keys (
    slot         INTEGER NOT NULL PRIMARY KEY CHECK (slot = 1),
    id           TEXT NOT NULL,
    seed         BLOB NOT NULL, -- of the Ed25519 key, sealed
    age_identity BLOB NOT NULL, -- sealed
    created_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotency (
    caller     TEXT NOT NULL,
    key        TEXT NOT NULL, -- by its keyed hash
    hash       TEXT NOT NULL, -- of route and body, by its keyed hash
    answer     BLOB, -- sealed; NULL while there is none
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (caller, key)
) STRICT;
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

CREATE TABLE leases (
    name   TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    until  INTEGER NOT NULL
) STRICT;

CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB -- sealed
) STRICT;

-- +goose Down
DROP TABLE settings;
DROP TABLE leases;
DROP TABLE idempotency;
DROP TABLE node_keys;
DROP TABLE password_guesses;
DROP TABLE owners;
DROP TABLE outbox;
DROP TABLE audit_head;
DROP TABLE audit_log;
