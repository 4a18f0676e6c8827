-- What models cost: the ledger of calls, the sums of each day, and the numbers of what is told to a whole workspace.
-- Nothing here refers to another table: it stays when people, agents, sessions and workspaces go.
CREATE TABLE ledger (
  workspace TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  project TEXT COLLATE "C",
  agent TEXT COLLATE "C",
  session TEXT COLLATE "C",
  model TEXT COLLATE "C" NOT NULL,
  -- The local date that it counts against.
  day TEXT COLLATE "C" NOT NULL,
  -- open, assumed, settled or released.
  state TEXT COLLATE "C" NOT NULL,
  -- Micro-dollars; NULL = the model has no known price.
  reserved BIGINT,
  spent BIGINT,
  input_tokens BIGINT,
  output_tokens BIGINT,
  holder TEXT COLLATE "C" NOT NULL,
  opened_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  closed_at BIGINT,
  sum BIGINT,
  PRIMARY KEY (workspace, id)
);
CREATE INDEX ledger_by_day ON ledger (workspace, day, agent);
CREATE INDEX ledger_open_by_holder ON ledger (holder, workspace, id) WHERE state = 'open';
CREATE INDEX ledger_open_by_expiry ON ledger (expires_at, workspace, id) WHERE state = 'open';
CREATE TABLE budget_days (
  workspace TEXT COLLATE "C" NOT NULL,
  day TEXT COLLATE "C" NOT NULL,
  -- Of one member, or of all together: then it is empty.
  user_id TEXT COLLATE "C" NOT NULL,
  spent BIGINT NOT NULL,
  reserved BIGINT NOT NULL,
  calls BIGINT NOT NULL,
  unpriced_calls BIGINT NOT NULL,
  -- What the members have been told.
  warned BIGINT NOT NULL,
  reached BIGINT NOT NULL,
  PRIMARY KEY (workspace, day, user_id)
);
CREATE TABLE workspace_streams (
  workspace TEXT COLLATE "C" PRIMARY KEY,
  seq BIGINT NOT NULL
);
