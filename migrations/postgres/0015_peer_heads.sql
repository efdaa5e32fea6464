-- +goose Up
-- The heads of peers' audit logs, as they came with their acknowledgements: the
-- last one of each day. seal is the peer's, and only the peer opens it.
CREATE TABLE peer_heads (
    connection_id TEXT NOT NULL,
    line          BIGINT NOT NULL CHECK (line >= 0), -- how often their log was set back
    day           BIGINT NOT NULL, -- since 1970, UTC
    n             BIGINT NOT NULL CHECK (n > 0),
    seal          TEXT NOT NULL,
    at            BIGINT NOT NULL,
    PRIMARY KEY (connection_id, line, day)
);

-- +goose Down
DROP TABLE peer_heads;
