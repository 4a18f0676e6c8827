-- What is open counts for its person whoever makes it: calls of plugins, too, which have no node.
DROP INDEX tool_calls_of_nodes;
CREATE INDEX tool_calls_open ON tool_calls (workspace, node, id) WHERE ended_at IS NULL;
