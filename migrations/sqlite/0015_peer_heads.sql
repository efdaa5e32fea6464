-- +goose Up
-- The heads of peers' audit logs, as they came with their acknowledgements: the
-- last one of each day. seal is the peer's, and only the peer opens it.
CREATE TABLE peer_heads (
    connection_id TEXT NOT NULL,
    line          INTEGER NOT NULL CHECK (line >= 0), -- how often their log was set back
    day           INTEGER NOT NULL, -- since 1970, UTC
    n             INTEGER NOT NULL CHECK (n > 0),
    seal          TEXT NOT NULL,
    at            INTEGER NOT NULL,
    PRIMARY KEY (connection_id, line, day)
) STRICT;

-- +goose Down
DROP TABLE peer_heads;
