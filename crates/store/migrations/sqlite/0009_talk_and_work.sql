-- Talk and work: the history of sessions, and the tasks that the agents of a project have.
CREATE TABLE messages (
  workspace TEXT NOT NULL,
  session TEXT NOT NULL,
  -- From 1, without a gap.
  number BIGINT NOT NULL,
  id TEXT NOT NULL,
  -- user, assistant or summary.
  role TEXT NOT NULL,
  content TEXT NOT NULL,
  participant TEXT NOT NULL,
  user_id TEXT NOT NULL,
  -- The agent that speaks, or is spoken to.
  agent TEXT,
  agent_name TEXT,
  task TEXT,
  in_reply_to TEXT,
  model TEXT,
  input_tokens BIGINT,
  output_tokens BIGINT,
  -- Micro-dollars; NULL = of unknown cost, or none.
  cost BIGINT,
  truncated BIGINT NOT NULL,
  -- JSON lists and objects.
  calls TEXT,
  error TEXT,
  -- Of a summary: the last message that it stands for.
  covers BIGINT,
  created_at BIGINT NOT NULL,
  sum BIGINT,
  PRIMARY KEY (workspace, session, number)
);
CREATE INDEX messages_summaries ON messages (workspace, session, number) WHERE role = 'summary';
CREATE TABLE tasks (
  workspace TEXT NOT NULL,
  project TEXT NOT NULL,
  -- In order of their ids, tasks are in the order in which they were asked for.
  id TEXT NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  agent_name TEXT NOT NULL,
  -- The message that it answers, and the one that ended it.
  message TEXT NOT NULL,
  message_number BIGINT NOT NULL,
  reply_number BIGINT,
  participant TEXT NOT NULL,
  user_id TEXT NOT NULL,
  -- queued, running, waiting, completed, failed or cancelled.
  status TEXT NOT NULL,
  -- 0 = normal, 1 = high.
  priority BIGINT NOT NULL,
  hops BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  started_at BIGINT,
  ended_at BIGINT,
  deadline_at BIGINT,
  -- The server that runs it.
  holder TEXT,
  -- A JSON object.
  error TEXT,
  sum BIGINT,
  PRIMARY KEY (workspace, project, id)
);
CREATE INDEX tasks_of_sessions ON tasks (workspace, session, id);
CREATE INDEX tasks_unfinished ON tasks (workspace, agent, status, priority, id) WHERE ended_at IS NULL;
CREATE INDEX tasks_held ON tasks (holder, workspace, id) WHERE holder IS NOT NULL;
CREATE INDEX tasks_by_deadline ON tasks (deadline_at, workspace, id) WHERE deadline_at IS NOT NULL;
