-- +goose Up
-- Times are microseconds since 1970. What the comments call sealed is encrypted
-- for its cell; a key is an HMAC of what it stands for.

CREATE TABLE agents (
    id             TEXT NOT NULL PRIMARY KEY,
    owner_id       TEXT NOT NULL,
    handle         TEXT NOT NULL UNIQUE,
    name           BYTEA, -- sealed
    mode           TEXT NOT NULL CHECK (mode IN ('manual', 'assisted', 'autonomous')),
    status         TEXT NOT NULL CHECK (status IN ('active', 'disabled')),
    key_hash       TEXT NOT NULL,
    key_generation BIGINT NOT NULL CHECK (key_generation > 0),
    rules_rev      BIGINT NOT NULL CHECK (rules_rev > 0),
    rules_stamp    TEXT NOT NULL,
    created_at     BIGINT NOT NULL
);

CREATE TABLE grants (
    id          TEXT NOT NULL PRIMARY KEY,
    owner_id    TEXT NOT NULL,
    agent_id    TEXT NOT NULL REFERENCES agents (id),
    contact_key TEXT NOT NULL, -- '' for an agent-wide grant
    contact     BYTEA,          -- sealed
    capability  TEXT NOT NULL,
    mode        TEXT NOT NULL CHECK (mode IN ('allow', 'ask', 'deny')),
    constraints BYTEA, -- sealed; NULL where there are none
    expires_at  BIGINT NOT NULL, -- 0: never
    created_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX grants_unique ON grants (agent_id, contact_key, capability, mode);

CREATE TABLE decisions (
    id        TEXT NOT NULL PRIMARY KEY,
    owner_id  TEXT NOT NULL,
    agent_id  TEXT NOT NULL REFERENCES agents (id),
    at        BIGINT NOT NULL,
    subject   TEXT NOT NULL,
    task_uid  TEXT NOT NULL,
    outcome   TEXT NOT NULL CHECK (outcome IN ('allow', 'hold', 'refuse')),
    answers   BYTEA NOT NULL, -- JSON: capability, outcome, reason, id of the grant that won
    rules_rev BIGINT NOT NULL,
    version   TEXT NOT NULL, -- of the rules
    facts     BYTEA NOT NULL -- sealed
);
CREATE INDEX decisions_agent ON decisions (agent_id, at, id);
CREATE INDEX decisions_subject ON decisions (agent_id, subject, at);

-- +goose Down
DROP TABLE decisions;
DROP TABLE grants;
DROP TABLE agents;
