-- +goose Up
-- Times are microseconds since 1970. What the comments call sealed is encrypted
-- for its cell; a key is an HMAC of what it stands for.

CREATE TABLE strangers (
    id          TEXT NOT NULL PRIMARY KEY,
    sha256      TEXT NOT NULL UNIQUE,
    host_key    TEXT NOT NULL,
    ip_key      TEXT NOT NULL, -- '' for this node itself
    envelope    BLOB NOT NULL, -- sealed
    received_at INTEGER NOT NULL,
    next_at     INTEGER NOT NULL,
    attempts    INTEGER NOT NULL CHECK (attempts >= 0),
    expires_at  INTEGER NOT NULL,
    settled     INTEGER NOT NULL CHECK (settled IN (0, 1)),
    answer      BLOB -- sealed
) STRICT;
CREATE INDEX strangers_due ON strangers (settled, next_at, id);
CREATE INDEX strangers_host ON strangers (host_key);
CREATE INDEX strangers_ip ON strangers (ip_key, settled);
CREATE INDEX strangers_expiry ON strangers (expires_at);

-- +goose Down
DROP TABLE strangers;
