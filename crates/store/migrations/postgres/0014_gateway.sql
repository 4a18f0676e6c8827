-- The gateway: which messages of channels were taken, which session a place has, who asked to be let in, and which
-- answers are owed to a place.
CREATE TABLE heard_messages (
  -- SHA-256 of what names the message with its provider: a house row, because where it belongs is not known before.
  key TEXT COLLATE "C" PRIMARY KEY,
  workspace TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  -- What became of it: a JSON object of ids.
  outcome TEXT COLLATE "C" NOT NULL,
  heard_at BIGINT NOT NULL,
  sum BIGINT
);
CREATE INDEX heard_messages_by_age ON heard_messages (heard_at);
CREATE INDEX heard_messages_by_workspace ON heard_messages (workspace);
CREATE INDEX heard_messages_by_user ON heard_messages (user_id);
CREATE TABLE place_sessions (
  workspace TEXT COLLATE "C" NOT NULL,
  -- The place as one text, as in bindings.
  place TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  since BIGINT NOT NULL,
  sum BIGINT,
  PRIMARY KEY (workspace, place)
);
CREATE INDEX place_sessions_by_session ON place_sessions (workspace, session);
CREATE TABLE sender_pairings (
  -- SHA-256 of the code that an admin approves.
  code_hash TEXT COLLATE "C" PRIMARY KEY,
  channel TEXT COLLATE "C" NOT NULL,
  sender TEXT COLLATE "C" NOT NULL,
  -- What they call themselves: for people's eyes.
  display_name TEXT COLLATE "C" NOT NULL,
  -- With the house's secret it gives the code again.
  salt TEXT COLLATE "C" NOT NULL,
  asked_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX sender_pairings_by_sender ON sender_pairings (channel, sender);
CREATE INDEX sender_pairings_by_expiry ON sender_pairings (expires_at);
CREATE TABLE deliveries (
  workspace TEXT COLLATE "C" NOT NULL,
  -- In order of their ids, deliveries are in the order in which they were asked for.
  id TEXT COLLATE "C" NOT NULL,
  place TEXT COLLATE "C" NOT NULL,
  -- Where exactly, and whose message it answers: a JSON object.
  target TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  project TEXT COLLATE "C" NOT NULL,
  task TEXT COLLATE "C" NOT NULL,
  -- pending, sent, failed or dropped.
  status TEXT COLLATE "C" NOT NULL,
  attempts BIGINT NOT NULL,
  next_at BIGINT NOT NULL,
  last_error TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  ended_at BIGINT,
  sum BIGINT,
  PRIMARY KEY (workspace, id)
);
CREATE INDEX deliveries_open ON deliveries (place, id) WHERE ended_at IS NULL;
CREATE INDEX deliveries_by_age ON deliveries (created_at);
CREATE INDEX deliveries_by_user ON deliveries (user_id);
