-- +goose Up
-- The groups of tools that the agent sees over MCP, separated by commas.
ALTER TABLE agents ADD COLUMN tools TEXT NOT NULL DEFAULT 'read,talk,tasks,actions';
-- A client with nothing but the agent's key is found by it.
CREATE INDEX agents_key ON agents (key_hash);

-- +goose Down
DROP INDEX agents_key;
ALTER TABLE agents DROP COLUMN tools;
