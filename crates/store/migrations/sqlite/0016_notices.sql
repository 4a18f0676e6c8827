-- What people are told in channels about approvals that wait for them.
CREATE TABLE notices (
  workspace TEXT NOT NULL,
  approval TEXT NOT NULL,
  channel TEXT NOT NULL,
  -- The provider's id of whoever is told.
  identity TEXT NOT NULL,
  -- direct, or group: a line where the turn came from.
  kind TEXT NOT NULL,
  project TEXT NOT NULL,
  user_id TEXT NOT NULL,
  -- The message that began the turn, if one of a channel did: a JSON object.
  origin TEXT,
  -- The message that it became, and what that showed: a JSON object.
  told TEXT,
  -- owed, sent, concluded, failed or dropped.
  status TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  next_at BIGINT NOT NULL,
  last_error TEXT,
  created_at BIGINT NOT NULL,
  ended_at BIGINT,
  sum BIGINT,
  PRIMARY KEY (workspace, approval, channel, identity, kind)
);
CREATE INDEX notices_open ON notices (next_at) WHERE ended_at IS NULL;
CREATE INDEX notices_by_age ON notices (created_at);
CREATE INDEX notices_by_user ON notices (user_id);
CREATE INDEX deliveries_by_task ON deliveries (workspace, task);
