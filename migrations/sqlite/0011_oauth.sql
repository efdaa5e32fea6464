-- +goose Up
-- Programs of others that act as an agent over MCP. What one says of itself is
-- sealed; it is found by a key of the id under which it comes.
CREATE TABLE oauth_clients (
    id          TEXT NOT NULL PRIMARY KEY,
    client_key  TEXT NOT NULL UNIQUE,
    method      TEXT NOT NULL CHECK (method IN ('none', 'client_secret_post', 'client_secret_basic')),
    secret_hash TEXT NOT NULL, -- '' for a public client
    record      BLOB NOT NULL, -- sealed: id, name, addresses
    created_at  INTEGER NOT NULL,
    fetched_at  INTEGER NOT NULL, -- 0 where it registered
    approved_at INTEGER NOT NULL  -- 0 where the owner never approved it
) STRICT;
CREATE INDEX oauth_clients_unapproved ON oauth_clients (created_at, id) WHERE approved_at = 0;

CREATE TABLE oauth_authorizations (
    id           TEXT NOT NULL PRIMARY KEY,
    owner_id     TEXT NOT NULL,
    agent_id     TEXT NOT NULL REFERENCES agents (id),
    client_id    TEXT NOT NULL REFERENCES oauth_clients (id),
    resource     BLOB NOT NULL, -- sealed
    status       TEXT NOT NULL CHECK (status IN ('pending', 'active', 'revoked')),
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX oauth_authorizations_agent ON oauth_authorizations (agent_id, created_at, id) WHERE status = 'active';
CREATE INDEX oauth_authorizations_client ON oauth_authorizations (client_id);

-- Codes and tokens, by their SHA-256.
CREATE TABLE oauth_secrets (
    hash             TEXT NOT NULL PRIMARY KEY,
    kind             TEXT NOT NULL CHECK (kind IN ('code', 'access', 'refresh')),
    authorization_id TEXT NOT NULL REFERENCES oauth_authorizations (id),
    rev              INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL,
    used_at          INTEGER NOT NULL, -- 0 until it is used
    record           BLOB -- sealed: address and challenge of a code
) STRICT;
CREATE INDEX oauth_secrets_authorization ON oauth_secrets (authorization_id, expires_at);

-- +goose Down
DROP TABLE oauth_secrets;
DROP TABLE oauth_authorizations;
DROP TABLE oauth_clients;
