PRAGMA journal_mode = WAL;
CREATE TABLE pet (id INTEGER PRIMARY KEY, name TEXT, category INTEGER, status TEXT);
CREATE TABLE key (id TEXT, per_minute INTEGER, per_day INTEGER, digest TEXT UNIQUE);
CREATE TABLE usage (
    key TEXT, period INTEGER, start INTEGER, used INTEGER,
    PRIMARY KEY (key, period, start)
);
