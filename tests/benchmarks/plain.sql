PRAGMA journal_mode = WAL;
CREATE TABLE pet (id INTEGER PRIMARY KEY, name TEXT, category INTEGER, status TEXT);
CREATE TABLE usage (key TEXT, start INTEGER, used INTEGER, PRIMARY KEY (key, start));
