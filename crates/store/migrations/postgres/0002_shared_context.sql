-- Sessions and their shared context. Every key starts with the workspace.
CREATE TABLE sessions (
  workspace TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
  id TEXT COLLATE "C" NOT NULL,
  -- Tells this session from an earlier one of the same id.
  uid TEXT COLLATE "C" NOT NULL,
  title TEXT COLLATE "C",
  state TEXT COLLATE "C" NOT NULL,
  config TEXT COLLATE "C" NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  archived_at BIGINT,
  rev BIGINT NOT NULL,
  total_tokens BIGINT NOT NULL,
  keys BIGINT NOT NULL,
  event_seq BIGINT NOT NULL,
  history_floor BIGINT NOT NULL,
  next_expiry BIGINT,
  PRIMARY KEY (workspace, id)
-- Its counters change with every write: room for the new row beside the old one.
) WITH (fillfactor = 50);
CREATE INDEX sessions_by_id ON sessions (id, workspace);
CREATE INDEX sessions_by_expiry ON sessions (next_expiry) WHERE next_expiry IS NOT NULL AND archived_at IS NULL;
CREATE TABLE context_entries (
  workspace TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  value TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL,
  rev BIGINT NOT NULL,
  written_by TEXT COLLATE "C" NOT NULL,
  written_at BIGINT NOT NULL,
  tokens BIGINT NOT NULL,
  expires_at BIGINT,
  -- NULL stands for open access by the writer: what nearly every row has.
  access TEXT COLLATE "C",
  created_by TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace, session, key)
) WITH (fillfactor = 70);
CREATE TABLE context_history (
  workspace TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  rev BIGINT NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL,
  value TEXT COLLATE "C",
  written_by TEXT COLLATE "C" NOT NULL,
  written_at BIGINT NOT NULL,
  access TEXT COLLATE "C",
  created_by TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace, session, key, rev)
);
CREATE TABLE snapshots (
  workspace TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  label TEXT COLLATE "C" NOT NULL,
  taken_at BIGINT NOT NULL,
  taken_by TEXT COLLATE "C" NOT NULL,
  rev BIGINT NOT NULL,
  key_count BIGINT NOT NULL,
  total_tokens BIGINT NOT NULL,
  PRIMARY KEY (workspace, session, label)
);
CREATE TABLE snapshot_entries (
  workspace TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  label TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  value TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL,
  rev BIGINT NOT NULL,
  written_by TEXT COLLATE "C" NOT NULL,
  written_at BIGINT NOT NULL,
  tokens BIGINT NOT NULL,
  expires_at BIGINT,
  access TEXT COLLATE "C",
  created_by TEXT COLLATE "C" NOT NULL,
  -- The lists the key was given later, if others: what is hidden now is hidden in snapshots too.
  later_access TEXT COLLATE "C",
  PRIMARY KEY (workspace, session, label, key)
);
