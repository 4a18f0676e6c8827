-- What is past keeping is found by its time.
CREATE INDEX tool_calls_by_end ON tool_calls (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX snapshots_by_time ON snapshots (taken_at);
