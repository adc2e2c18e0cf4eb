-- Tables of the demo service. Times are UTC.
-- Date: 2024-05-06

-- people who may log in
CREATE TABLE people (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL
);

CREATE TABLE sessions (
  token TEXT PRIMARY KEY,
  person INTEGER REFERENCES people(id),
  until TEXT NOT NULL
);

CREATE INDEX sessions_until ON sessions(until);
