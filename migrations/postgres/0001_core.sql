-- +goose Up
-- Times are microseconds since 1970, 0 for none. What the comments call sealed
-- is encrypted for its cell.

CREATE TABLE audit_log (
    position      BIGINT NOT NULL PRIMARY KEY CHECK (position > 0),
    at            BIGINT NOT NULL,
    owner_id      TEXT NOT NULL,
    type          TEXT NOT NULL,
    actor_kind    TEXT NOT NULL CHECK (actor_kind IN ('agent', 'owner', 'peer', 'node')),
    via           TEXT NOT NULL,
    agent_id      TEXT NOT NULL,
    connection_id TEXT NOT NULL,
    task_uid      TEXT NOT NULL,
    subject       TEXT NOT NULL,
    data          BYTEA, -- sealed
    data_hash     TEXT NOT NULL,
    previous      TEXT NOT NULL,
    hash          TEXT NOT NULL
);
CREATE INDEX audit_log_agent ON audit_log (agent_id, position);

CREATE TABLE audit_head (
    id       BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    rev      BIGINT NOT NULL,
    position BIGINT NOT NULL CHECK (position >= 0),
    hash     TEXT NOT NULL,
    mac      TEXT NOT NULL
);
INSERT INTO audit_head (id, rev, position, hash, mac)
VALUES (1, 0, 0, '0000000000000000000000000000000000000000000000000000000000000000', '');

CREATE TABLE outbox (
    id          TEXT NOT NULL PRIMARY KEY,
    owner_id    TEXT NOT NULL,
    agent_id    TEXT NOT NULL,
    kind        TEXT NOT NULL,
    lane        TEXT NOT NULL,
    lane_order  BIGINT NOT NULL,
    ref         TEXT NOT NULL,
    next_at     BIGINT NOT NULL,
    due_at      BIGINT NOT NULL, -- next_at, or later while a lease or the lane's head holds it back
    attempts    BIGINT NOT NULL CHECK (attempts >= 0),
    lease_until BIGINT NOT NULL,
    lease_token TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    UNIQUE (agent_id, kind, ref)
);
CREATE INDEX outbox_due ON outbox (due_at, id);
CREATE INDEX outbox_lane ON outbox (agent_id, lane, lane_order, id);

-- A node has one owner and one identity, hence the slots.
CREATE TABLE owners (
    slot          BIGINT NOT NULL PRIMARY KEY CHECK (slot = 1),
    id            TEXT NOT NULL UNIQUE,
    rev           BIGINT NOT NULL,
    name          BYTEA NOT NULL, -- sealed
    password_hash BYTEA NOT NULL, -- sealed
    created_at    BIGINT NOT NULL
);

CREATE TABLE password_guesses (
    id TEXT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL
);
CREATE INDEX password_guesses_at ON password_guesses (at);

CREATE TABLE node_keys (
    slot         BIGINT NOT NULL PRIMARY KEY CHECK (slot = 1),
    id           TEXT NOT NULL,
    seed         BYTEA NOT NULL, -- of the Ed25519 key, sealed
    age_identity BYTEA NOT NULL, -- sealed
    created_at   BIGINT NOT NULL
);

CREATE TABLE idempotency (
    caller     TEXT NOT NULL,
    key        TEXT NOT NULL, -- by its keyed hash
    hash       TEXT NOT NULL, -- of route and body, by its keyed hash
    answer     BYTEA, -- sealed; NULL while there is none
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (caller, key)
);
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

CREATE TABLE leases (
    name   TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    until  BIGINT NOT NULL
);

CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value BYTEA -- sealed
);

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
