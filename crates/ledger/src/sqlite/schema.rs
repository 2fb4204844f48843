//! What the tables look like, and how an older file becomes one of today.

/// `PRAGMA application_id`: "mwlg".
pub(super) const APPLICATION: i32 = 0x6d77_6c67;

/// Each makes version n + 1 of version n. One that was released is never changed; another is added.
pub(super) const MIGRATIONS: &[&str] = &[
    FIRST, STORE_IDS, ORIGINS, SHARED, CLAIMS, UNSETTLED, LANDINGS, LOCKS,
];

/// Times are text of one width, so that they sort. Lists are JSON. Marks are flags behind `+` and `-`.
const FIRST: &str = "
CREATE TABLE transactions (
    id                  TEXT PRIMARY KEY,
    -- what was asked
    kind                TEXT NOT NULL,
    caller              TEXT NOT NULL,
    tool                TEXT NOT NULL,
    request_id          TEXT NOT NULL,
    policy              TEXT NOT NULL,
    source              TEXT,
    target_account      TEXT,
    target_folder       TEXT,
    source_home         TEXT,
    target_home         TEXT,
    horizon_uidvalidity INTEGER,
    horizon_next        INTEGER,
    marks               TEXT NOT NULL,
    key                 TEXT,
    key_arguments       TEXT,
    undoes              TEXT,
    -- what is known of the message
    size                INTEGER,
    sha256              TEXT,
    sha256_octets       INTEGER,
    message_id          TEXT,
    flags               TEXT,
    flags_after         TEXT,
    arrived             TEXT,
    landed_uidvalidity  INTEGER,
    landed_uid          INTEGER,
    -- how far it is
    state               TEXT NOT NULL,
    ending_code         TEXT,
    ending_words        TEXT,
    began               TEXT NOT NULL,
    ended               TEXT,
    attempts            INTEGER NOT NULL,
    next_try            TEXT,
    undone_by           TEXT,
    -- who works on it
    lease_owner         TEXT,
    lease_until         TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE steps (
    transaction_id TEXT NOT NULL REFERENCES transactions (id) ON DELETE CASCADE,
    number         INTEGER NOT NULL,
    name           TEXT NOT NULL,
    state          TEXT NOT NULL,
    at             TEXT NOT NULL,
    why            TEXT,
    PRIMARY KEY (transaction_id, number)
) STRICT, WITHOUT ROWID;

-- What recovery needs and nobody else: the octets of a message that is nowhere yet.
CREATE TABLE contents (
    transaction_id TEXT PRIMARY KEY REFERENCES transactions (id) ON DELETE CASCADE,
    octets         BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX transactions_by_key ON transactions (caller, key) WHERE key IS NOT NULL;
CREATE INDEX transactions_open ON transactions (next_try) WHERE state = 'open';
CREATE INDEX transactions_leased ON transactions (lease_owner) WHERE lease_owner IS NOT NULL;
CREATE INDEX transactions_ended ON transactions (ended) WHERE ended IS NOT NULL;
-- Nothing is anybody's twice.
CREATE UNIQUE INDEX transactions_landed ON transactions (target_home, target_folder, landed_uidvalidity, landed_uid)
    WHERE landed_uid IS NOT NULL;
CREATE INDEX transactions_leaving ON transactions (source) WHERE state = 'open';
";

/// Where a store has names of its own for messages (Gmail), one is known by that and needs no number to itself: the same
/// message comes to lie under the same number again.
const STORE_IDS: &str = "
ALTER TABLE transactions ADD COLUMN store_id INTEGER;
DROP INDEX transactions_landed;
CREATE UNIQUE INDEX transactions_landed ON transactions (target_home, target_folder, landed_uidvalidity, landed_uid)
    WHERE landed_uid IS NOT NULL AND store_id IS NULL;
";

/// What an account had before something was added to it, and which message of which store that was, so that taking it back
/// leaves what was there.
const ORIGINS: &str = "
ALTER TABLE transactions ADD COLUMN source_id INTEGER;
ALTER TABLE transactions ADD COLUMN end_of_all_uidvalidity INTEGER;
ALTER TABLE transactions ADD COLUMN end_of_all_next INTEGER;
";

/// What all processes have in common: keys that are made once, sealed records, and who has the only right to one.
const SHARED: &str = "
CREATE TABLE keys (
    name   TEXT PRIMARY KEY,
    octets BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE records (
    name   TEXT PRIMARY KEY,
    octets BLOB NOT NULL,
    stamp  INTEGER NOT NULL
) STRICT;
CREATE TABLE locks (
    name   TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    turn   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
";

/// A lease belongs to a claim, not only to a process.
const CLAIMS: &str = "
ALTER TABLE transactions ADD COLUMN lease_claim TEXT;
";

/// What is not at its end is counted often.
const UNSETTLED: &str = "
CREATE INDEX transactions_unsettled ON transactions (state, began) WHERE state IN ('open', 'needs_operator');
";

/// What landed is asked for by account and folder.
const LANDINGS: &str = "
CREATE INDEX transactions_landed_in ON transactions (target_account, target_folder, landed_uidvalidity, landed_uid)
    WHERE landed_uid IS NOT NULL;
";

/// Until when a lock is good whose owner cannot be asked.
const LOCKS: &str = "
ALTER TABLE locks ADD COLUMN until TEXT;
";
