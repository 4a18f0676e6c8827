-- People, the workspaces they belong to, and what lets them in.
CREATE TABLE users (
  id TEXT COLLATE "C" PRIMARY KEY,
  role TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  -- A removed user keeps the row, so that the name is never given to somebody else.
  removed_at BIGINT
);
CREATE TABLE workspaces (
  id TEXT COLLATE "C" PRIMARY KEY,
  personal_of TEXT COLLATE "C" REFERENCES users (id),
  created_at BIGINT NOT NULL
);
CREATE TABLE members (
  workspace TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
  PRIMARY KEY (workspace, user_id)
);
CREATE INDEX members_by_user ON members (user_id, workspace);
CREATE TABLE tokens (
  id TEXT COLLATE "C" PRIMARY KEY,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
  kind TEXT COLLATE "C" NOT NULL,
  workspace TEXT COLLATE "C",
  session TEXT COLLATE "C",
  participant TEXT COLLATE "C",
  channel TEXT COLLATE "C",
  label TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT,
  -- The token that was used to make this one: they end together.
  made_by TEXT COLLATE "C"
);
CREATE INDEX tokens_by_expiry ON tokens (expires_at);
CREATE INDEX tokens_by_maker ON tokens (made_by) WHERE made_by IS NOT NULL;
CREATE INDEX tokens_by_user ON tokens (user_id, id);
CREATE INDEX tokens_by_session ON tokens (workspace, session);
CREATE TABLE sign_in_codes (
  code_hash TEXT COLLATE "C" PRIMARY KEY,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
  expires_at BIGINT NOT NULL,
  used_at BIGINT
);
