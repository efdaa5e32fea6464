-- +goose Up
-- Times are microseconds since 1970. What the comments call sealed is encrypted
-- for its cell; a key is an HMAC of what it stands for.

CREATE TABLE agents (
    id             TEXT NOT NULL PRIMARY KEY,
    owner_id       TEXT NOT NULL,
    handle         TEXT NOT NULL UNIQUE,
    name           BLOB, -- sealed
    mode           TEXT NOT NULL CHECK (mode IN ('manual', 'assisted', 'autonomous')),
    status         TEXT NOT NULL CHECK (status IN ('active', 'disabled')),
    key_hash       TEXT NOT NULL,
    key_generation INTEGER NOT NULL CHECK (key_generation > 0),
    rules_rev      INTEGER NOT NULL CHECK (rules_rev > 0),
    rules_stamp    TEXT NOT NULL,
    created_at     INTEGER NOT NULL
) STRICT;

CREATE TABLE grants (
    id          TEXT NOT NULL PRIMARY KEY,
    owner_id    TEXT NOT NULL,
    agent_id    TEXT NOT NULL REFERENCES agents (id),
    contact_key TEXT NOT NULL, -- '' for an agent-wide grant
    contact     BLOB,          -- sealed
    capability  TEXT NOT NULL,
    mode        TEXT NOT NULL CHECK (mode IN ('allow', 'ask', 'deny')),
    constraints BLOB, -- sealed; NULL where there are none
    expires_at  INTEGER NOT NULL, -- 0: never
    created_at  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX grants_unique ON grants (agent_id, contact_key, capability, mode);

CREATE TABLE decisions (
    id        TEXT NOT NULL PRIMARY KEY,
    owner_id  TEXT NOT NULL,
    agent_id  TEXT NOT NULL REFERENCES agents (id),
    at        INTEGER NOT NULL,
    subject   TEXT NOT NULL,
    task_uid  TEXT NOT NULL,
    outcome   TEXT NOT NULL CHECK (outcome IN ('allow', 'hold', 'refuse')),
    answers   BLOB NOT NULL, -- JSON: capability, outcome, reason, id of the grant that won
    rules_rev INTEGER NOT NULL,
    version   TEXT NOT NULL, -- of the rules
    facts     BLOB NOT NULL -- sealed
) STRICT;
CREATE INDEX decisions_agent ON decisions (agent_id, at, id);
CREATE INDEX decisions_subject ON decisions (agent_id, subject, at);

-- +goose Down
DROP TABLE decisions;
DROP TABLE grants;
DROP TABLE agents;
