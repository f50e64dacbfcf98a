PRAGMA journal_mode = WAL;
-- weaker than ours: a power loss may take acknowledged creates
PRAGMA synchronous = NORMAL;
CREATE TABLE pet (id INTEGER PRIMARY KEY, name TEXT, category INTEGER, status TEXT);
CREATE TABLE usage (key TEXT, minute INTEGER, used INTEGER, PRIMARY KEY (key, minute));
