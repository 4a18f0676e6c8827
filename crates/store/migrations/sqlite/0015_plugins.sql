-- Plugins: which of their tools somebody accepted, in which words, and calls that a server has begun.
CREATE TABLE plugins (
  name TEXT PRIMARY KEY,
  -- The digest of how the file says it is reached: another program is another plugin.
  reach TEXT NOT NULL,
  accepted_at BIGINT NOT NULL,
  -- What somebody should look at, as it was told last: a JSON object of names and fingerprints.
  noticed TEXT NOT NULL,
  noticed_at BIGINT,
  sum BIGINT
);
CREATE TABLE plugin_tools (
  plugin TEXT NOT NULL,
  tool TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  -- Description and schema as they were accepted: a JSON object.
  document TEXT NOT NULL,
  -- NULL = with the declaration of its plugin.
  accepted_by TEXT,
  accepted_at BIGINT NOT NULL,
  sum BIGINT,
  PRIMARY KEY (plugin, tool)
);
CREATE INDEX plugin_tools_by_tool ON plugin_tools (tool);
-- Written with `running`, and removed with the end: what is here when its server starts was cut off.
CREATE TABLE plugin_runs (
  workspace TEXT NOT NULL,
  project TEXT NOT NULL,
  call TEXT NOT NULL,
  holder TEXT NOT NULL,
  PRIMARY KEY (workspace, project, call)
);
CREATE INDEX plugin_runs_by_holder ON plugin_runs (holder);
