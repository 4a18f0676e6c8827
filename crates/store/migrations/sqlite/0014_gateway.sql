-- The gateway: which messages of channels were taken, which session a place has, who asked to be let in, and which
-- answers are owed to a place.
CREATE TABLE heard_messages (
  -- SHA-256 of what names the message with its provider: a house row, because where it belongs is not known before.
  key TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  user_id TEXT NOT NULL,
  -- What became of it: a JSON object of ids.
  outcome TEXT NOT NULL,
  heard_at BIGINT NOT NULL,
  sum BIGINT
);
CREATE INDEX heard_messages_by_age ON heard_messages (heard_at);
CREATE INDEX heard_messages_by_workspace ON heard_messages (workspace);
CREATE INDEX heard_messages_by_user ON heard_messages (user_id);
CREATE TABLE place_sessions (
  workspace TEXT NOT NULL,
  -- The place as one text, as in bindings.
  place TEXT NOT NULL,
  session TEXT NOT NULL,
  since BIGINT NOT NULL,
  sum BIGINT,
  PRIMARY KEY (workspace, place)
);
CREATE INDEX place_sessions_by_session ON place_sessions (workspace, session);
CREATE TABLE sender_pairings (
  -- SHA-256 of the code that an admin approves.
  code_hash TEXT PRIMARY KEY,
  channel TEXT NOT NULL,
  sender TEXT NOT NULL,
  -- What they call themselves: for people's eyes.
  display_name TEXT NOT NULL,
  -- With the house's secret it gives the code again.
  salt TEXT NOT NULL,
  asked_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX sender_pairings_by_sender ON sender_pairings (channel, sender);
CREATE INDEX sender_pairings_by_expiry ON sender_pairings (expires_at);
CREATE TABLE deliveries (
  workspace TEXT NOT NULL,
  -- In order of their ids, deliveries are in the order in which they were asked for.
  id TEXT NOT NULL,
  place TEXT NOT NULL,
  -- Where exactly, and whose message it answers: a JSON object.
  target TEXT NOT NULL,
  user_id TEXT NOT NULL,
  project TEXT NOT NULL,
  task TEXT NOT NULL,
  -- pending, sent, failed or dropped.
  status TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  next_at BIGINT NOT NULL,
  last_error TEXT,
  created_at BIGINT NOT NULL,
  ended_at BIGINT,
  sum BIGINT,
  PRIMARY KEY (workspace, id)
);
CREATE INDEX deliveries_open ON deliveries (place, id) WHERE ended_at IS NULL;
CREATE INDEX deliveries_by_age ON deliveries (created_at);
CREATE INDEX deliveries_by_user ON deliveries (user_id);
