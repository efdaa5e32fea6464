-- +goose Up
-- The owner's lists of the log and of tasks.
CREATE INDEX audit_log_type ON audit_log (type, position);
CREATE INDEX audit_log_task ON audit_log (task_uid, position) WHERE task_uid <> '';
CREATE INDEX audit_log_connection ON audit_log (connection_id, position) WHERE connection_id <> '';

-- An expression, so that no planner takes it for the list of overdue tasks.
CREATE INDEX tasks_by_status ON tasks ((status || ''), created_at, uid);
CREATE INDEX tasks_uid ON tasks (uid, created_at);
CREATE INDEX tasks_flagged ON tasks (created_at, uid)
    WHERE disagreement <> '' OR out_of_step = 1 OR in_doubt = 1 OR confirm_owed = 1;

-- A day has 86,400,000,000 microseconds.
CREATE INDEX decisions_day ON decisions ((at / 86400000000), outcome);

-- +goose Down
DROP INDEX decisions_day;
DROP INDEX tasks_flagged;
DROP INDEX tasks_uid;
DROP INDEX tasks_by_status;
DROP INDEX audit_log_connection;
DROP INDEX audit_log_task;
DROP INDEX audit_log_type;
