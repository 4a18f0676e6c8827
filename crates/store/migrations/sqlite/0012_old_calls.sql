-- Calls that are past keeping are found by their end.
CREATE INDEX tool_calls_by_end ON tool_calls (ended_at) WHERE ended_at IS NOT NULL;
