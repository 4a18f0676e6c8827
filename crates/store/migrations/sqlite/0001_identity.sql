-- People, the workspaces they belong to, and what lets them in.
CREATE TABLE users (
  id TEXT PRIMARY KEY,
  role TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  -- A removed user keeps the row, so that the name is never given to somebody else.
  removed_at BIGINT
);
CREATE TABLE workspaces (
  id TEXT PRIMARY KEY,
  personal_of TEXT REFERENCES users (id),
  created_at BIGINT NOT NULL
);
CREATE TABLE members (
  workspace TEXT NOT NULL REFERENCES workspaces (id),
  user_id TEXT NOT NULL REFERENCES users (id),
  PRIMARY KEY (workspace, user_id)
);
CREATE INDEX members_by_user ON members (user_id, workspace);
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  kind TEXT NOT NULL,
  workspace TEXT,
  session TEXT,
  participant TEXT,
  channel TEXT,
  label TEXT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT,
  -- The token that was used to make this one: they end together.
  made_by TEXT
);
CREATE INDEX tokens_by_expiry ON tokens (expires_at);
CREATE INDEX tokens_by_maker ON tokens (made_by) WHERE made_by IS NOT NULL;
CREATE INDEX tokens_by_user ON tokens (user_id, id);
CREATE INDEX tokens_by_session ON tokens (workspace, session);
CREATE TABLE sign_in_codes (
  code_hash TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  expires_at BIGINT NOT NULL,
  used_at BIGINT
);
