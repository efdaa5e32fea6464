-- +goose Up
-- Times are microseconds since 1970. What the comments call sealed is encrypted
-- for its cell; a key is an HMAC of what it stands for.

CREATE TABLE strangers (
    id          TEXT NOT NULL PRIMARY KEY,
    sha256      TEXT NOT NULL UNIQUE,
    host_key    TEXT NOT NULL,
    ip_key      TEXT NOT NULL, -- '' for this node itself
    envelope    BYTEA NOT NULL, -- sealed
    received_at BIGINT NOT NULL,
    next_at     BIGINT NOT NULL,
    attempts    BIGINT NOT NULL CHECK (attempts >= 0),
    expires_at  BIGINT NOT NULL,
    settled     BIGINT NOT NULL CHECK (settled IN (0, 1)),
    answer      BYTEA -- sealed
);
CREATE INDEX strangers_due ON strangers (settled, next_at, id);
CREATE INDEX strangers_host ON strangers (host_key);
CREATE INDEX strangers_ip ON strangers (ip_key, settled);
CREATE INDEX strangers_expiry ON strangers (expires_at);

-- +goose Down
DROP TABLE strangers;
