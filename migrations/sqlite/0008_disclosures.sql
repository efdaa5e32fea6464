-- +goose Up
-- One row for each structured field of a proposal of ours, from its release on.
-- A contact is a key of its address, so that the ledger outlives connections.

CREATE TABLE disclosures (
    id            TEXT NOT NULL PRIMARY KEY,
    owner_id      TEXT NOT NULL,
    agent_id      TEXT NOT NULL,
    contact_key   TEXT NOT NULL,
    connection_id TEXT NOT NULL REFERENCES connections (id),
    capability    TEXT NOT NULL, -- '' where the field needs none
    field         TEXT NOT NULL,
    value         BLOB NOT NULL, -- sealed
    task_uid      TEXT NOT NULL,
    message_id    TEXT NOT NULL,
    approval_id   TEXT NOT NULL, -- '' where none was needed
    author        TEXT NOT NULL CHECK (author IN ('agent', 'owner')),
    withdrawn     INTEGER NOT NULL CHECK (withdrawn IN (0, 1)), -- the message never left
    at            INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX disclosures_message ON disclosures (agent_id, message_id, field);
CREATE INDEX disclosures_contact ON disclosures (contact_key, at, id);
CREATE INDEX disclosures_kind ON disclosures (contact_key, capability, at, id, withdrawn);

-- What the owner reads of messages: all of a contact's, and what did not arrive.
CREATE INDEX messages_contact ON messages (connection_id, created_at, id);
CREATE INDEX messages_unsent ON messages (status, created_at, id)
    WHERE direction = 'out' AND status IN ('pending_approval', 'rejected', 'failed');

-- +goose Down
DROP INDEX messages_unsent;
DROP INDEX messages_contact;
DROP TABLE disclosures;
