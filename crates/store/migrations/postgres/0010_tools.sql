-- Tools on people's machines: the nodes, the calls they are asked to make, and what people decided about them.
CREATE TABLE nodes (
  workspace TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  -- Whoever paired it.
  user_id TEXT COLLATE "C" NOT NULL,
  -- The one project that it serves; NULL = the members of its workspace.
  project TEXT COLLATE "C",
  -- SHA-256 of the key that only the node has.
  key_hash TEXT COLLATE "C" NOT NULL,
  root_label TEXT COLLATE "C" NOT NULL,
  platform TEXT COLLATE "C" NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  paired_at BIGINT NOT NULL,
  last_seen_at BIGINT,
  -- Whether its members were told that it is there.
  online BIGINT NOT NULL,
  sum BIGINT,
  PRIMARY KEY (workspace, id)
);
CREATE UNIQUE INDEX nodes_by_name ON nodes (workspace, name);
CREATE UNIQUE INDEX nodes_by_id ON nodes (id);
CREATE INDEX nodes_by_user ON nodes (user_id);
CREATE INDEX nodes_online ON nodes (last_seen_at) WHERE online = 1;
ALTER TABLE tokens ADD COLUMN node TEXT COLLATE "C";
CREATE INDEX tokens_by_node ON tokens (node) WHERE node IS NOT NULL;
CREATE TABLE pairings (
  -- SHA-256 of the code that a person confirms.
  code_hash TEXT COLLATE "C" PRIMARY KEY,
  -- What the node says of itself: a JSON object.
  asked TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT NOT NULL,
  -- What became of it.
  workspace TEXT COLLATE "C",
  node TEXT COLLATE "C"
);
CREATE INDEX pairings_by_expiry ON pairings (expires_at);
CREATE TABLE tool_calls (
  workspace TEXT COLLATE "C" NOT NULL,
  project TEXT COLLATE "C" NOT NULL,
  -- In order of their ids, calls are in the order in which they were wished for.
  id TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C",
  agent TEXT COLLATE "C" NOT NULL,
  agent_name TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  participant TEXT COLLATE "C" NOT NULL,
  -- The task whose turn waits for it, and the model's own id of it.
  task TEXT COLLATE "C",
  task_call TEXT COLLATE "C",
  tool TEXT COLLATE "C" NOT NULL,
  -- The arguments exactly as they are shown, approved and executed.
  params TEXT COLLATE "C" NOT NULL,
  wished_node TEXT COLLATE "C",
  status TEXT COLLATE "C" NOT NULL,
  -- Risk, reasons, digest and preview: a JSON object.
  judgement TEXT COLLATE "C",
  approval TEXT COLLATE "C",
  node TEXT COLLATE "C",
  -- How often a node was told of it.
  attempt BIGINT NOT NULL,
  -- A JSON object.
  reason TEXT COLLATE "C",
  result TEXT COLLATE "C",
  consumed BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  deadline_at BIGINT,
  ended_at BIGINT,
  sum BIGINT,
  PRIMARY KEY (workspace, project, id)
);
CREATE INDEX tool_calls_of_tasks ON tool_calls (workspace, task, id) WHERE task IS NOT NULL;
CREATE INDEX tool_calls_of_sessions ON tool_calls (workspace, session, id) WHERE session IS NOT NULL;
CREATE INDEX tool_calls_of_nodes ON tool_calls (workspace, node, id) WHERE node IS NOT NULL AND ended_at IS NULL;
CREATE INDEX tool_calls_by_deadline ON tool_calls (deadline_at, workspace, id) WHERE deadline_at IS NOT NULL;
CREATE TABLE approvals (
  workspace TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  project TEXT COLLATE "C" NOT NULL,
  call TEXT COLLATE "C" NOT NULL,
  -- On whose behalf the call would be made.
  user_id TEXT COLLATE "C" NOT NULL,
  digest TEXT COLLATE "C" NOT NULL,
  -- pending, approved, rejected, expired or cancelled.
  status TEXT COLLATE "C" NOT NULL,
  requested_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  decided_by TEXT COLLATE "C",
  decided_at BIGINT,
  -- Why it was rejected, in the words of whoever did.
  note TEXT COLLATE "C",
  sum BIGINT,
  PRIMARY KEY (workspace, id)
);
CREATE UNIQUE INDEX approvals_by_id ON approvals (id);
CREATE UNIQUE INDEX approvals_of_calls ON approvals (workspace, call);
CREATE INDEX approvals_pending ON approvals (workspace, id) WHERE status = 'pending';
CREATE TABLE standing_rules (
  workspace TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  project TEXT COLLATE "C" NOT NULL,
  agent TEXT COLLATE "C" NOT NULL,
  node TEXT COLLATE "C" NOT NULL,
  tool TEXT COLLATE "C" NOT NULL,
  -- The exact arguments of one call, or a folder and all below it.
  params TEXT COLLATE "C",
  folder TEXT COLLATE "C",
  -- Of one session, or until a time.
  session TEXT COLLATE "C",
  until BIGINT,
  -- The approval it was made with.
  approval TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  sum BIGINT,
  PRIMARY KEY (workspace, id)
);
CREATE INDEX standing_rules_by_user ON standing_rules (user_id, workspace, id);
CREATE INDEX standing_rules_by_use ON standing_rules (workspace, project, agent, tool);
