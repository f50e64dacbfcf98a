-- The tables in SQLite.
CREATE TABLE pet (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    category_id BIGINT NOT NULL,
    status TEXT
);

CREATE INDEX pet_by_status ON pet (status, id);

CREATE TABLE key (
    id TEXT PRIMARY KEY,
    label TEXT NOT NULL,
    per_minute BIGINT NOT NULL,
    per_day BIGINT NOT NULL,
    plan TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    revoked_at DOUBLE PRECISION,
    digest TEXT NOT NULL UNIQUE
);

CREATE TABLE usage (
    subject TEXT PRIMARY KEY,
    minute_start BIGINT NOT NULL,
    minute_used BIGINT NOT NULL,
    day_start BIGINT NOT NULL,
    day_used BIGINT NOT NULL,
    refused_at DOUBLE PRECISION NOT NULL,
    refused_until DOUBLE PRECISION NOT NULL,
    retries_during_block BIGINT NOT NULL,
    banned_until DOUBLE PRECISION NOT NULL
);

CREATE TABLE inventory (changes BIGINT NOT NULL, base_url TEXT);

INSERT INTO inventory (changes) VALUES (0);

CREATE TRIGGER pet_updated AFTER UPDATE ON pet
BEGIN UPDATE inventory SET changes = changes + 1; END;

CREATE TRIGGER pet_deleted AFTER DELETE ON pet
BEGIN UPDATE inventory SET changes = changes + 1; END;

PRAGMA application_id = 0x50455453;

PRAGMA user_version = 2;
