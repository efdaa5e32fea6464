-- +goose Up
-- Times are microseconds since 1970, 0 for none. What the comments call sealed
-- is encrypted for its cell; a key is an HMAC of what it stands for.

CREATE TABLE runs (
    id                TEXT NOT NULL PRIMARY KEY,
    owner_id          TEXT NOT NULL,
    agent_id          TEXT NOT NULL,
    action            TEXT NOT NULL,
    params_hash       TEXT NOT NULL CHECK (length(params_hash) = 64),
    task_uid          TEXT NOT NULL,
    approval_id       TEXT NOT NULL UNIQUE,
    automatic         INTEGER NOT NULL CHECK (automatic IN (0, 1)),
    key               TEXT, -- the caller's, by its keyed hash; NULL for none
    state             TEXT NOT NULL CHECK (state IN ('reserved', 'running', 'succeeded', 'failed', 'unknown')),
    reason            TEXT NOT NULL,
    simulated         INTEGER NOT NULL CHECK (simulated IN (0, 1)),
    task_confirmation TEXT NOT NULL CHECK (task_confirmation IN ('', 'sent', 'failed')),
    repeat            INTEGER NOT NULL CHECK (repeat IN (0, 1)),
    settled           INTEGER NOT NULL CHECK (settled IN (0, 1)),
    request           BLOB NOT NULL, -- parameters and salt; sealed
    answer            BLOB, -- result, code and receipt; sealed
    lease_token       TEXT NOT NULL,
    lease_until       INTEGER NOT NULL,
    rev               INTEGER NOT NULL,
    reserved_at       INTEGER NOT NULL,
    started_at        INTEGER NOT NULL,
    finished_at       INTEGER NOT NULL,
    UNIQUE (agent_id, key),
    CHECK (settled = 0 OR state IN ('succeeded', 'failed', 'unknown')),
    CHECK ((finished_at > 0) = (state IN ('succeeded', 'failed', 'unknown'))),
    CHECK (task_confirmation <> 'sent' OR state = 'succeeded')
) STRICT;
CREATE INDEX runs_task ON runs (agent_id, task_uid, action, reserved_at, id);
CREATE INDEX runs_unsettled ON runs (lease_until, id) WHERE settled = 0;

-- +goose Down
DROP TABLE runs;
