-- +goose Up
-- Times are microseconds since 1970, 0 for none. What the comments call sealed
-- is encrypted for its cell.

CREATE TABLE approvals (
    id              TEXT NOT NULL PRIMARY KEY,
    owner_id        TEXT NOT NULL,
    agent_id        TEXT NOT NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('message', 'connection', 'action')),
    action          TEXT NOT NULL,
    connection_id   TEXT NOT NULL,
    task_uid        TEXT NOT NULL,
    subject         TEXT NOT NULL,
    hash            TEXT NOT NULL CHECK (length(hash) = 64),
    accepted_digest TEXT NOT NULL,
    on_approval     TEXT NOT NULL CHECK (on_approval IN ('', 'wait', 'run')),
    status          TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'rejected', 'expired', 'consumed', 'cancelled')),
    override        BIGINT NOT NULL CHECK (override IN (0, 1)),
    repeat          BIGINT NOT NULL CHECK (repeat IN (0, 1)),
    automatic       BIGINT NOT NULL CHECK (automatic IN (0, 1)),
    epoch           BIGINT NOT NULL,
    content         BYTEA NOT NULL, -- contact, parameters, reasons and salt; sealed
    note            BYTEA, -- sealed
    mac             TEXT NOT NULL, -- over every column but the note
    rev             BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    expires_at      BIGINT NOT NULL,
    decided_at      BIGINT NOT NULL,
    CHECK (kind = 'action' OR status <> 'approved'),
    CHECK ((kind = 'action') = (on_approval <> '')),
    CHECK (status IN ('pending', 'expired', 'cancelled') OR decided_at > 0)
);
-- The same request of an agent's for an action waits once.
CREATE UNIQUE INDEX approvals_same ON approvals (agent_id, action, hash, accepted_digest, on_approval)
    WHERE kind = 'action' AND status = 'pending';
CREATE INDEX approvals_open ON approvals (expires_at, id) WHERE status IN ('pending', 'approved');
CREATE INDEX approvals_open_of ON approvals (agent_id, task_uid, id) WHERE status IN ('pending', 'approved');
CREATE INDEX approvals_all ON approvals (created_at, id);
CREATE INDEX approvals_status ON approvals (status, created_at, id);
CREATE INDEX approvals_agent ON approvals (agent_id, created_at, id);
CREATE INDEX approvals_task ON approvals (task_uid, created_at, id);

-- One row for each agent that ever asked: its lock lets one request at a time count.
CREATE TABLE approval_queues (
    agent_id TEXT NOT NULL PRIMARY KEY,
    rev      BIGINT NOT NULL
);

-- +goose Down
DROP TABLE approval_queues;
DROP TABLE approvals;
