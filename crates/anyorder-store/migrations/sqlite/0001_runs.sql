-- Text compares byte by byte everywhere (SQLite's BINARY): two tests may differ in case only.

-- Who wrote this file, for the message to somebody whose anyorder is older.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Suites are shared between sweeps: same tests in the same order, same digest. `size` is how many tests it has.
CREATE TABLE suites (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, size INTEGER NOT NULL);
CREATE TABLE tests (
  suite INTEGER NOT NULL REFERENCES suites (id),
  position INTEGER NOT NULL,
  test TEXT NOT NULL,
  occurrence INTEGER NOT NULL,
  file TEXT NOT NULL,
  source INTEGER,
  PRIMARY KEY (suite, position)
) WITHOUT ROWID;

-- `labels` is a JSON array of the planned orders.
CREATE TABLE sweeps (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  tree TEXT NOT NULL,
  tree_digest TEXT NOT NULL,
  environment_digest TEXT NOT NULL,
  plan_digest TEXT NOT NULL,
  settings_digest TEXT NOT NULL,
  suite INTEGER NOT NULL REFERENCES suites (id),
  labels TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  finished_ms INTEGER
);
CREATE INDEX sweeps_by_key ON sweeps (tree_digest, environment_digest, plan_digest, settings_digest, id);

-- One packed record a run. `sequence` is a digest of the tests in the order asked for: two selections of one order,
-- and two tests run `alone`, are different runs.
CREATE TABLE runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  sweep INTEGER NOT NULL REFERENCES sweeps (id),
  label TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  executor TEXT NOT NULL,
  sequence BLOB NOT NULL,
  complete INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  record BLOB NOT NULL,
  UNIQUE (sweep, label, attempt, executor, sequence)
);

-- How tests went wrong; `position` is the test's in its suite.
CREATE TABLE failures (
  run INTEGER NOT NULL REFERENCES runs (id),
  position INTEGER NOT NULL,
  phase TEXT NOT NULL,
  signature TEXT NOT NULL,
  head TEXT NOT NULL,
  tail TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (run, position)
) WITHOUT ROWID;

-- `patches` is a JSON array of names, `document` the whole report.
CREATE TABLE checks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  created_ms INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  base TEXT NOT NULL,
  patches TEXT NOT NULL,
  document TEXT NOT NULL
);
