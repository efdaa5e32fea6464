-- +goose Up
-- Times are microseconds since 1970. What the comments call sealed is encrypted
-- for its cell; a key is an HMAC of what it stands for.

CREATE TABLE connections (
    id              TEXT NOT NULL PRIMARY KEY,
    owner_id        TEXT NOT NULL,
    agent_id        TEXT NOT NULL,
    contact_key     TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('pending_owner', 'pending_outgoing', 'pending_incoming', 'active', 'rejected', 'revoked')),
    fingerprint     TEXT NOT NULL,
    initiated       INTEGER NOT NULL CHECK (initiated IN (0, 1)),
    request_id      TEXT NOT NULL,
    approval_id     TEXT NOT NULL,
    invited         INTEGER NOT NULL CHECK (invited IN (0, 1)),
    accept_unacked  INTEGER NOT NULL CHECK (accept_unacked IN (0, 1)),
    structured_only INTEGER NOT NULL CHECK (structured_only IN (0, 1)),
    key_changed     INTEGER NOT NULL CHECK (key_changed IN (0, 1)),
    sent            INTEGER NOT NULL CHECK (sent IN (0, 1)),
    detail          BLOB NOT NULL, -- contact, peer, note, secret; sealed
    rev             INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX connections_active ON connections (agent_id, contact_key) WHERE status = 'active';
CREATE UNIQUE INDEX connections_pending ON connections (agent_id, contact_key, initiated)
    WHERE status IN ('pending_owner', 'pending_outgoing', 'pending_incoming');
CREATE INDEX connections_contact ON connections (agent_id, contact_key, created_at, id);
CREATE INDEX connections_agent ON connections (agent_id, created_at, id);
CREATE INDEX connections_incoming ON connections (created_at, id) WHERE status = 'pending_incoming';
CREATE INDEX connections_all ON connections (created_at, id);

CREATE TABLE invitations (
    id          TEXT NOT NULL PRIMARY KEY,
    owner_id    TEXT NOT NULL,
    agent_id    TEXT NOT NULL,
    secret_hash TEXT NOT NULL UNIQUE,
    expires_at  INTEGER NOT NULL,
    used_at     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE lookups (
    agent_id TEXT NOT NULL,
    host_key TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (agent_id, host_key)
) STRICT;
CREATE INDEX lookups_at ON lookups (agent_id, at);

CREATE TABLE messages (
    id            TEXT NOT NULL,
    owner_id      TEXT NOT NULL,
    agent_id      TEXT NOT NULL,
    connection_id TEXT NOT NULL REFERENCES connections (id),
    task_uid      TEXT NOT NULL, -- '' where it belongs to none
    direction     TEXT NOT NULL CHECK (direction IN ('in', 'out')),
    type          TEXT NOT NULL,
    author        TEXT NOT NULL CHECK (author IN ('agent', 'owner')),
    status        TEXT NOT NULL CHECK (status IN ('pending_approval', 'queued', 'delivered', 'rejected', 'failed', 'received')),
    code          TEXT NOT NULL,
    seq           INTEGER NOT NULL CHECK (seq >= 0),
    ack           INTEGER NOT NULL CHECK (ack >= 0),
    position      INTEGER NOT NULL CHECK (position >= 0),
    void          INTEGER NOT NULL CHECK (void IN (0, 1)),
    void_reason   TEXT NOT NULL,
    replaces      TEXT NOT NULL,
    content       BLOB NOT NULL, -- sealed
    envelope      BLOB,          -- sealed
    sha256        TEXT NOT NULL,
    approval_id   TEXT NOT NULL,
    needs         TEXT NOT NULL, -- names of capabilities, with a space between
    decided_rev   INTEGER NOT NULL,
    tries         INTEGER NOT NULL CHECK (tries >= 0),
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    attempted_at  INTEGER NOT NULL,
    settled_at    INTEGER NOT NULL,
    PRIMARY KEY (agent_id, direction, connection_id, id)
) STRICT;
CREATE INDEX messages_id ON messages (agent_id, id);
CREATE UNIQUE INDEX messages_approval ON messages (approval_id) WHERE approval_id <> '';
CREATE INDEX messages_chat ON messages (agent_id, created_at, id) WHERE type = 'message';
CREATE INDEX messages_chat_contact ON messages (connection_id, created_at, id) WHERE type = 'message';
CREATE INDEX messages_chat_all ON messages (created_at, id) WHERE type = 'message';
CREATE INDEX messages_task ON messages (agent_id, task_uid, position) WHERE position > 0;
CREATE INDEX messages_number ON messages (agent_id, task_uid, direction, seq) WHERE seq > 0;
CREATE INDEX messages_queued ON messages (agent_id, connection_id, position) WHERE status = 'queued';
CREATE INDEX messages_overdue ON messages (expires_at) WHERE status = 'queued' AND code = '';
CREATE INDEX messages_undelivered ON messages (attempted_at) WHERE status = 'queued';
CREATE INDEX messages_rejected ON messages (agent_id, connection_id) WHERE status = 'rejected' AND direction = 'in';

CREATE TABLE tasks (
    agent_id      TEXT NOT NULL,
    uid           TEXT NOT NULL,
    owner_id      TEXT NOT NULL,
    connection_id TEXT NOT NULL REFERENCES connections (id),
    role          TEXT NOT NULL CHECK (role IN ('initiator', 'responder')),
    type          TEXT NOT NULL,
    status        TEXT NOT NULL CHECK (status IN ('open', 'negotiating', 'agreed', 'awaiting_approval', 'confirmed', 'cancelled', 'expired')),
    held          INTEGER NOT NULL CHECK (held IN (0, 1)),
    deadline      INTEGER NOT NULL,
    out_seq       INTEGER NOT NULL CHECK (out_seq >= 0),
    in_seq        INTEGER NOT NULL CHECK (in_seq >= 0),
    positions     INTEGER NOT NULL CHECK (positions >= 0),
    disagreement  TEXT NOT NULL CHECK (disagreement IN ('', 'confirmed_vs_cancelled', 'double_run')),
    out_of_step   INTEGER NOT NULL CHECK (out_of_step IN (0, 1)),
    in_doubt      INTEGER NOT NULL CHECK (in_doubt IN (0, 1)),
    run_id        TEXT NOT NULL,
    executed_at   INTEGER NOT NULL,
    confirm_owed  INTEGER NOT NULL CHECK (confirm_owed IN (0, 1)),
    copy          BLOB NOT NULL, -- contact, copy, executed; sealed
    rev           INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    PRIMARY KEY (agent_id, uid)
) STRICT;
CREATE INDEX tasks_agent ON tasks (agent_id, created_at, uid);
CREATE INDEX tasks_all ON tasks (created_at, uid);
CREATE INDEX tasks_status ON tasks (agent_id, status, created_at, uid);
CREATE INDEX tasks_connection ON tasks (connection_id, created_at, uid);
CREATE INDEX tasks_overdue ON tasks (deadline) WHERE status IN ('open', 'negotiating', 'agreed', 'awaiting_approval') AND held = 0;
CREATE INDEX tasks_owed ON tasks (updated_at) WHERE confirm_owed = 1;

CREATE TABLE answers (
    agent_id    TEXT NOT NULL,
    contact_key TEXT NOT NULL,
    jti         TEXT NOT NULL,
    signed      BLOB, -- sealed; NULL: the message was withdrawn before it came
    until       INTEGER NOT NULL,
    PRIMARY KEY (agent_id, contact_key, jti)
) STRICT;
CREATE INDEX answers_until ON answers (until);

-- +goose Down
DROP TABLE answers;
DROP TABLE tasks;
DROP TABLE messages;
DROP TABLE lookups;
DROP TABLE invitations;
DROP TABLE connections;
