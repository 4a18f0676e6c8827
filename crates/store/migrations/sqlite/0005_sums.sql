-- Checksums over what a row says, so that a damaged page is an error and never another answer. Rows that were written
-- before have none.
ALTER TABLE sessions ADD COLUMN sum BIGINT;
ALTER TABLE context_entries ADD COLUMN value_sum BIGINT;
ALTER TABLE context_entries ADD COLUMN sum BIGINT;
ALTER TABLE context_history ADD COLUMN value_sum BIGINT;
ALTER TABLE context_history ADD COLUMN sum BIGINT;
ALTER TABLE snapshots ADD COLUMN sum BIGINT;
ALTER TABLE snapshot_entries ADD COLUMN value_sum BIGINT;
ALTER TABLE snapshot_entries ADD COLUMN sum BIGINT;
ALTER TABLE events ADD COLUMN sum BIGINT;
ALTER TABLE idempotency ADD COLUMN sum BIGINT;
