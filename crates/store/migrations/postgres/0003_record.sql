-- What happened: the outbox of events, the audit chain, and answers kept for repeated requests.
CREATE SEQUENCE event_numbers;
CREATE TABLE events (
  -- Given under a lock that is held until the commit, so that numbers appear in their order.
  seq BIGINT PRIMARY KEY DEFAULT nextval('event_numbers'),
  workspace TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  session_seq BIGINT NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C",
  readable_by TEXT COLLATE "C",
  at BIGINT NOT NULL,
  data TEXT COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX events_by_session ON events (workspace, session, session_seq);
CREATE TABLE audit (
  workspace TEXT COLLATE "C" NOT NULL,
  seq BIGINT NOT NULL,
  at BIGINT NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  participant TEXT COLLATE "C" NOT NULL,
  action TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C",
  detail TEXT COLLATE "C" NOT NULL,
  hash TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace, seq)
);
CREATE TABLE audit_heads (
  workspace TEXT COLLATE "C" PRIMARY KEY,
  seq BIGINT NOT NULL,
  hash TEXT COLLATE "C" NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE idempotency (
  caller TEXT COLLATE "C" NOT NULL,
  route TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  body_hash TEXT COLLATE "C" NOT NULL,
  -- What the operation gave, or the refusal that was answered.
  outcome TEXT COLLATE "C" NOT NULL,
  refused BIGINT NOT NULL,
  -- The session it is about, if any: they end together.
  session_uid TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  PRIMARY KEY (caller, route, key)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
CREATE INDEX idempotency_by_session ON idempotency (session_uid) WHERE session_uid IS NOT NULL;
