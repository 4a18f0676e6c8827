-- What happened: the outbox of events, the audit chain, and answers kept for repeated requests.
CREATE TABLE events (
  -- Never reused: the newest row keeps its number even when everything else about it is removed.
  seq INTEGER PRIMARY KEY,
  workspace TEXT NOT NULL,
  session TEXT NOT NULL,
  session_seq BIGINT NOT NULL,
  kind TEXT NOT NULL,
  key TEXT,
  readable_by TEXT,
  at BIGINT NOT NULL,
  data TEXT NOT NULL
);
CREATE UNIQUE INDEX events_by_session ON events (workspace, session, session_seq);
CREATE TABLE audit (
  workspace TEXT NOT NULL,
  seq BIGINT NOT NULL,
  at BIGINT NOT NULL,
  user_id TEXT NOT NULL,
  participant TEXT NOT NULL,
  action TEXT NOT NULL,
  session TEXT,
  detail TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (workspace, seq)
) WITHOUT ROWID;
CREATE TABLE audit_heads (
  workspace TEXT PRIMARY KEY,
  seq BIGINT NOT NULL,
  hash TEXT NOT NULL
);
CREATE TABLE idempotency (
  caller TEXT NOT NULL,
  route TEXT NOT NULL,
  key TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  -- What the operation gave, or the refusal that was answered.
  outcome TEXT NOT NULL,
  refused BIGINT NOT NULL,
  -- The session it is about, if any: they end together.
  session_uid TEXT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (caller, route, key)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
CREATE INDEX idempotency_by_session ON idempotency (session_uid) WHERE session_uid IS NOT NULL;
