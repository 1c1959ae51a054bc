"""The schema of a database of records. ``PRAGMA user_version`` is its version, ``PRAGMA application_id`` says that the file is one.

What is long and repeats is kept once, by its hash: texts of programs, arrays, environments. What queries ask for has columns of its own; ``work`` and
``result`` hold all fields as JSON, by the names of :class:`~wengert.lab.records.work.Work` and :class:`~wengert.lab.records.record.Result`.
"""

from __future__ import annotations

VERSION = 1
APPLICATION = 0x57454E47
"""``WENG``: files of other programs are refused."""

CREATE = """
CREATE TABLE programs (
  hash TEXT PRIMARY KEY,          -- of the normalised text and the entry
  entry TEXT NOT NULL,            -- the function to start at
  name TEXT NOT NULL,             -- where the text came from
  text TEXT NOT NULL              -- as it was written, without locations
) WITHOUT ROWID;
CREATE TABLE arrays (
  hash TEXT PRIMARY KEY,          -- of types, shapes and elements
  npz BLOB NOT NULL               -- in_0, in_1, ...: the first inputs, as numpy.savez_compressed writes them
) WITHOUT ROWID;
CREATE TABLE environments (
  hash TEXT PRIMARY KEY,
  fields TEXT NOT NULL            -- JSON: machine, commit, versions, variables, threads, plug-ins
) WITHOUT ROWID;
CREATE TABLE runs (
  id TEXT PRIMARY KEY,            -- 12 hexadecimal digits, drawn at random
  command TEXT NOT NULL,          -- the command line
  folder TEXT NOT NULL,           -- where it was given
  begun TEXT NOT NULL             -- UTC, ISO 8601
) WITHOUT ROWID;
CREATE TABLE records (
  id TEXT PRIMARY KEY,            -- a hash of all fields: a record that is merged twice is there once
  task TEXT NOT NULL,             -- a hash of the work: the same wherever the same is run
  run TEXT NOT NULL REFERENCES runs (id),
  program TEXT NOT NULL REFERENCES programs (hash),
  environment TEXT NOT NULL REFERENCES environments (hash),
  taken TEXT NOT NULL,            -- UTC, ISO 8601
  label TEXT NOT NULL,
  mode TEXT NOT NULL,
  sizes TEXT NOT NULL,            -- JSON
  status TEXT NOT NULL,           -- ok, refused, wrong, failed
  load REAL,                      -- processes that want to run, over a minute
  minimum REAL,                   -- seconds per call: the least sample
  median REAL,
  work TEXT NOT NULL,             -- JSON: what the task is a hash of
  result TEXT NOT NULL            -- JSON: counts, samples, reason, and the rest
) WITHOUT ROWID;
CREATE INDEX records_by_task ON records (task);
CREATE INDEX records_by_run ON records (run);
"""
