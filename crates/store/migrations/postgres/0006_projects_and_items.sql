-- Projects with their agents, the items that agents keep, and what was published from one scope to another.
CREATE TABLE projects (
  workspace TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
  id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  key_conventions TEXT COLLATE "C",
  created_by TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  sum BIGINT,
  PRIMARY KEY (workspace, id)
);
CREATE UNIQUE INDEX projects_by_name ON projects (workspace, name);
CREATE UNIQUE INDEX projects_by_id ON projects (id);
CREATE TABLE agents (
  workspace TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
  project TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  visibility TEXT COLLATE "C" NOT NULL,
  audience TEXT COLLATE "C" NOT NULL,
  settings TEXT COLLATE "C" NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  sum BIGINT,
  PRIMARY KEY (workspace, project, id)
);
CREATE UNIQUE INDEX agents_by_name ON agents (workspace, project, name);
CREATE UNIQUE INDEX agents_by_id ON agents (id);
CREATE INDEX agents_shared ON agents (workspace, id) WHERE visibility = 'shared';
CREATE INDEX agents_for_everyone ON agents (id) WHERE audience = 'everyone';
CREATE TABLE workspace_items (
  id TEXT COLLATE "C" PRIMARY KEY,
  -- Whose: `user-<user>` or `agent-<agent>`.
  workspace_id TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  value TEXT COLLATE "C" NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  version BIGINT NOT NULL,
  updated_by TEXT COLLATE "C" NOT NULL,
  on_behalf_of TEXT COLLATE "C" NOT NULL,
  published_from TEXT COLLATE "C",
  -- The beginning and the length of the value, so that a list need not read it.
  preview TEXT COLLATE "C" NOT NULL,
  size_bytes BIGINT NOT NULL,
  -- Its place among the changes of its scope: order never depends on a clock.
  seq BIGINT NOT NULL,
  value_sum BIGINT,
  sum BIGINT,
  UNIQUE (workspace_id, key)
);
CREATE INDEX workspace_items_by_newest ON workspace_items (workspace_id, seq);
CREATE INDEX workspace_items_by_creator ON workspace_items (created_by);
CREATE TABLE item_scopes (
  scope TEXT COLLATE "C" PRIMARY KEY,
  -- Numbers every change; the events of the scope have the same numbers.
  seq BIGINT NOT NULL,
  items BIGINT NOT NULL
);
CREATE TABLE publications (
  id TEXT COLLATE "C" PRIMARY KEY,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
  agent TEXT COLLATE "C" NOT NULL,
  source_scope TEXT COLLATE "C" NOT NULL,
  source_key TEXT COLLATE "C" NOT NULL,
  source_version BIGINT NOT NULL,
  target_agent TEXT COLLATE "C" NOT NULL,
  target_key TEXT COLLATE "C" NOT NULL,
  -- The copy as it was made.
  item TEXT COLLATE "C" NOT NULL,
  item_version BIGINT NOT NULL,
  published_at BIGINT NOT NULL,
  sum BIGINT
);
CREATE INDEX publications_by_user ON publications (user_id, id);
CREATE INDEX publications_by_target ON publications (target_agent);
ALTER TABLE sessions ADD COLUMN project TEXT COLLATE "C";
CREATE INDEX sessions_by_project ON sessions (workspace, project, id) WHERE project IS NOT NULL;
ALTER TABLE tokens ADD COLUMN project TEXT COLLATE "C";
ALTER TABLE tokens ADD COLUMN agent TEXT COLLATE "C";
CREATE INDEX tokens_by_agent ON tokens (agent) WHERE agent IS NOT NULL;
ALTER TABLE events ADD COLUMN project TEXT COLLATE "C";
CREATE INDEX events_by_project ON events (project, seq) WHERE project IS NOT NULL;
