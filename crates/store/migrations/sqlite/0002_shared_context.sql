-- Sessions and their shared context. Every key starts with the workspace.
CREATE TABLE sessions (
  workspace TEXT NOT NULL REFERENCES workspaces (id),
  id TEXT NOT NULL,
  -- Tells this session from an earlier one of the same id.
  uid TEXT NOT NULL,
  title TEXT,
  state TEXT NOT NULL,
  config TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  archived_at BIGINT,
  rev BIGINT NOT NULL,
  total_tokens BIGINT NOT NULL,
  keys BIGINT NOT NULL,
  event_seq BIGINT NOT NULL,
  history_floor BIGINT NOT NULL,
  next_expiry BIGINT,
  PRIMARY KEY (workspace, id)
);
CREATE INDEX sessions_by_id ON sessions (id, workspace);
CREATE INDEX sessions_by_expiry ON sessions (next_expiry) WHERE next_expiry IS NOT NULL AND archived_at IS NULL;
CREATE TABLE context_entries (
  workspace TEXT NOT NULL,
  session TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  version BIGINT NOT NULL,
  rev BIGINT NOT NULL,
  written_by TEXT NOT NULL,
  written_at BIGINT NOT NULL,
  tokens BIGINT NOT NULL,
  expires_at BIGINT,
  -- NULL stands for open access by the writer: what nearly every row has.
  access TEXT,
  created_by TEXT NOT NULL,
  PRIMARY KEY (workspace, session, key)
);
CREATE TABLE context_history (
  workspace TEXT NOT NULL,
  session TEXT NOT NULL,
  key TEXT NOT NULL,
  rev BIGINT NOT NULL,
  kind TEXT NOT NULL,
  version BIGINT NOT NULL,
  value TEXT,
  written_by TEXT NOT NULL,
  written_at BIGINT NOT NULL,
  access TEXT,
  created_by TEXT NOT NULL,
  PRIMARY KEY (workspace, session, key, rev)
);
CREATE TABLE snapshots (
  workspace TEXT NOT NULL,
  session TEXT NOT NULL,
  label TEXT NOT NULL,
  taken_at BIGINT NOT NULL,
  taken_by TEXT NOT NULL,
  rev BIGINT NOT NULL,
  key_count BIGINT NOT NULL,
  total_tokens BIGINT NOT NULL,
  PRIMARY KEY (workspace, session, label)
);
CREATE TABLE snapshot_entries (
  workspace TEXT NOT NULL,
  session TEXT NOT NULL,
  label TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  version BIGINT NOT NULL,
  rev BIGINT NOT NULL,
  written_by TEXT NOT NULL,
  written_at BIGINT NOT NULL,
  tokens BIGINT NOT NULL,
  expires_at BIGINT,
  access TEXT,
  created_by TEXT NOT NULL,
  -- The lists the key was given later, if others: what is hidden now is hidden in snapshots too.
  later_access TEXT,
  PRIMARY KEY (workspace, session, label, key)
);
