-- The rules of the house: what the configuration file says, what admins say, and who said each part.
CREATE TABLE house_rules (
  -- One row.
  id BIGINT PRIMARY KEY,
  -- Moves with every change of any rule, also of those in other tables.
  version BIGINT NOT NULL,
  -- The file it came from, and what it says for the whole house.
  origin TEXT COLLATE "C",
  document TEXT COLLATE "C" NOT NULL,
  applied_at BIGINT,
  sum BIGINT
);
-- The skills that it names or could name: long texts, apart from the rest, which is read often.
CREATE TABLE skills (
  name TEXT COLLATE "C" PRIMARY KEY,
  document TEXT COLLATE "C" NOT NULL,
  sum BIGINT
);
-- The role that the file gives; it goes before the other. Whoever neither the file nor an admin names is out.
ALTER TABLE users ADD COLUMN file_role TEXT COLLATE "C";
ALTER TABLE users ADD COLUMN by_admin BIGINT NOT NULL DEFAULT 1;
-- A workspace that neither the file nor an admin names is closed.
ALTER TABLE workspaces ADD COLUMN by_admin BIGINT NOT NULL DEFAULT 1;
ALTER TABLE workspaces ADD COLUMN file_settings TEXT COLLATE "C";
ALTER TABLE workspaces ADD COLUMN admin_settings TEXT COLLATE "C";
ALTER TABLE workspaces ADD COLUMN settings_sum BIGINT;
-- Who belongs where, and who said so. `members` is what follows from it.
CREATE TABLE member_grants (
  workspace TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
  source TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace, user_id, source)
);
CREATE INDEX member_grants_by_user ON member_grants (user_id);
INSERT INTO member_grants (workspace, user_id, source) SELECT workspace, user_id, 'admin' FROM members;
CREATE TABLE identities (
  channel TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  source TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
  PRIMARY KEY (channel, id, source)
);
CREATE INDEX identities_by_user ON identities (user_id);
CREATE TABLE bindings (
  -- The place as one text: a place belongs to one workspace.
  place TEXT COLLATE "C" PRIMARY KEY,
  workspace TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
  source TEXT COLLATE "C" NOT NULL,
  binding TEXT COLLATE "C" NOT NULL
);
CREATE INDEX bindings_by_workspace ON bindings (workspace, place);
