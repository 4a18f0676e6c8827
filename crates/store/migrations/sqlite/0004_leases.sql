-- Who does what only one may do at a time. A holder that lost its lease is told apart by its number.
CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  -- Grows with every new holding, so that work begun under an earlier one can be refused.
  fence BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
