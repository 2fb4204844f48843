//! What the tables look like, and how an older schema becomes one of today. They stand in a schema of their own, `mailwarden`.

/// Each makes version n + 1 of version n. One that was released is never changed; another is added.
pub(super) const MIGRATIONS: &[&str] = &[FIRST, ANSWERS, UNSETTLED, LANDINGS];

/// What refuses a note: the transaction is another's, or there is none.
pub(super) const NOT_HELD: &str = "MW001";
pub(super) const NO_SUCH: &str = "MW002";

/// Times that only we compare are text of one width, as in SQLite; those that replicas compare are the server's. Lists are
/// JSON. What is looked for by a text of any length is looked for by its digest: an index has no room for more.
const FIRST: &str = r#"
CREATE TABLE transactions (
    id                     TEXT COLLATE "C" PRIMARY KEY,
    -- what was asked
    kind                   TEXT NOT NULL,
    caller                 TEXT NOT NULL,
    tool                   TEXT NOT NULL,
    request_id             TEXT NOT NULL,
    policy                 TEXT NOT NULL,
    source                 TEXT,
    target_account         TEXT,
    target_folder          TEXT,
    source_home            TEXT,
    target_home            TEXT,
    horizon_uidvalidity    BIGINT,
    horizon_next           BIGINT,
    marks                  TEXT NOT NULL,
    key                    TEXT,
    key_arguments          TEXT,
    undoes                 TEXT COLLATE "C",
    -- what is known of the message
    size                   BIGINT,
    sha256                 TEXT,
    sha256_octets          BIGINT,
    message_id             TEXT,
    flags                  TEXT,
    flags_after            TEXT,
    arrived                TEXT,
    landed_uidvalidity     BIGINT,
    landed_uid             BIGINT,
    store_id               BIGINT,
    source_id              BIGINT,
    end_of_all_uidvalidity BIGINT,
    end_of_all_next        BIGINT,
    -- how far it is
    state                  TEXT NOT NULL,
    ending_code            TEXT,
    ending_words           TEXT,
    began                  TEXT COLLATE "C" NOT NULL,
    ended                  TEXT COLLATE "C",
    attempts               BIGINT NOT NULL,
    next_try               TEXT COLLATE "C",
    undone_by              TEXT COLLATE "C",
    -- who works on it, and by which request it was written last
    lease_owner            TEXT COLLATE "C",
    written_by             TEXT COLLATE "C" NOT NULL,
    -- digests: of caller and key, of the message and its home, of the target's home and folder
    key_digest             BYTEA,
    source_digest          BYTEA,
    target_digest          BYTEA
);

CREATE TABLE steps (
    transaction_id TEXT COLLATE "C" NOT NULL REFERENCES transactions (id) ON DELETE CASCADE,
    number         BIGINT NOT NULL,
    name           TEXT NOT NULL,
    state          TEXT NOT NULL,
    at             TEXT NOT NULL,
    why            TEXT,
    PRIMARY KEY (transaction_id, number)
);

-- What recovery needs and nobody else: the octets of a message that is nowhere yet.
CREATE TABLE contents (
    transaction_id TEXT COLLATE "C" PRIMARY KEY REFERENCES transactions (id) ON DELETE CASCADE,
    octets         BYTEA NOT NULL
);

CREATE UNIQUE INDEX transactions_by_key ON transactions (key_digest) WHERE key_digest IS NOT NULL;
CREATE INDEX transactions_open ON transactions (next_try) WHERE state = 'open';
CREATE INDEX transactions_leased ON transactions (lease_owner) WHERE lease_owner IS NOT NULL;
CREATE INDEX transactions_ended ON transactions (ended) WHERE ended IS NOT NULL;
-- Nothing is anybody's twice, but what its store has a name for.
CREATE UNIQUE INDEX transactions_landed ON transactions (target_digest, landed_uidvalidity, landed_uid)
    WHERE landed_uid IS NOT NULL AND store_id IS NULL AND target_digest IS NOT NULL;
CREATE INDEX transactions_leaving ON transactions (source_digest) WHERE state = 'open';

-- Who is there. One that was not heard of for long is dead, by the server's clock.
CREATE TABLE replicas (
    name  TEXT COLLATE "C" PRIMARY KEY,
    heard TIMESTAMPTZ NOT NULL,
    -- without a gap
    since TIMESTAMPTZ NOT NULL
);

-- INVARIANT: an outage makes nobody dead. Only who was heard without a gap while the other was not, by a server that was
-- there all the while, may say so.
CREATE FUNCTION dead(other TEXT, me TEXT) RETURNS BOOLEAN LANGUAGE sql STABLE SET search_path = mailwarden AS $$
    SELECT NOT EXISTS (SELECT 1 FROM replicas WHERE name = other AND heard > now() - INTERVAL '15 seconds')
        AND EXISTS (SELECT 1 FROM replicas
            WHERE name = me AND since < now() - INTERVAL '15 seconds' AND heard > now() - INTERVAL '15 seconds')
        AND pg_postmaster_start_time() < now() - INTERVAL '15 seconds'
$$;

-- How fast everybody may go. Nothing in it is worth a write to disk.
CREATE UNLOGGED TABLE buckets (
    name    TEXT COLLATE "C" PRIMARY KEY,
    level   DOUBLE PRECISION NOT NULL,
    at      TIMESTAMPTZ NOT NULL,
    full_at TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);

-- What is the same for all: keys that are made once, sealed records, and who has the only right to one.
CREATE TABLE keys (
    name   TEXT COLLATE "C" PRIMARY KEY,
    octets BYTEA NOT NULL
);
CREATE TABLE records (
    name   TEXT COLLATE "C" PRIMARY KEY,
    octets BYTEA NOT NULL,
    stamp  BIGINT NOT NULL
);
CREATE SEQUENCE record_stamps;
CREATE TABLE locks (
    name   TEXT COLLATE "C" PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    turn   TEXT COLLATE "C" NOT NULL
);

-- Whoever writes holds the row, so that what follows in its transaction is its own; everybody else is refused.
-- `follows` are the writings of which one must be the last: one that the server comes to late follows none of them.
CREATE FUNCTION hold(wanted TEXT, replica TEXT, follows TEXT[]) RETURNS VOID LANGUAGE plpgsql SET search_path = mailwarden AS $$
DECLARE
    owner TEXT;
    last  TEXT;
BEGIN
    SELECT lease_owner, written_by INTO owner, last FROM transactions WHERE id = wanted FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no such transaction' USING ERRCODE = 'MW002';
    END IF;
    IF owner IS DISTINCT FROM replica OR NOT coalesce(last = ANY (follows), TRUE) THEN
        RAISE EXCEPTION 'somebody else is working on this transaction' USING ERRCODE = 'MW001';
    END IF;
END
$$;

-- From all buckets or from none; answers what was in them. `firsts` says where a bucket stands first in the list.
CREATE FUNCTION draw(names TEXT[], firsts INT[], mosts FLOAT8[], rates FLOAT8[], costs FLOAT8[], owed BOOLEAN)
RETURNS TABLE (granted BOOLEAN, levels FLOAT8[]) LANGUAGE plpgsql SET search_path = mailwarden AS $$
DECLARE
    moment TIMESTAMPTZ;
    after  FLOAT8[];
    held   FLOAT8;
    since  TIMESTAMPTZ;
BEGIN
    INSERT INTO buckets (name, level, at, full_at)
        SELECT names[i], mosts[i], clock_timestamp(), clock_timestamp()
        FROM generate_subscripts(names, 1) i WHERE firsts[i] = i ORDER BY names[i]
        ON CONFLICT DO NOTHING;
    -- In one order, so that nobody waits for somebody who waits for it.
    PERFORM 1 FROM buckets WHERE name = ANY (names) ORDER BY name FOR UPDATE;
    moment := clock_timestamp();
    levels := mosts;
    FOR i IN 1 .. cardinality(names) LOOP
        IF firsts[i] = i THEN
            SELECT level, at INTO held, since FROM buckets WHERE name = names[i];
            levels[i] := least(mosts[i], held + greatest(0, extract(epoch FROM moment - since)::FLOAT8) * rates[i]);
        END IF;
    END LOOP;
    after := levels;
    granted := TRUE;
    FOR i IN 1 .. cardinality(names) LOOP
        IF NOT owed AND least(costs[i], mosts[i]) - after[firsts[i]] > 1e-6 THEN
            granted := FALSE;
        END IF;
        after[firsts[i]] := after[firsts[i]] - costs[i];
    END LOOP;
    IF granted THEN
        FOR i IN 1 .. cardinality(names) LOOP
            IF firsts[i] = i THEN
                UPDATE buckets SET level = after[i], at = moment, full_at = moment + make_interval(secs =>
                    CASE WHEN rates[i] <= 0 THEN 31536000
                         ELSE least(31536000, greatest(0, mosts[i] - after[i]) / rates[i]) END)
                    WHERE name = names[i];
            END IF;
        END LOOP;
    END IF;
    FOR i IN 1 .. cardinality(names) LOOP
        levels[i] := levels[firsts[i]];
    END LOOP;
    RETURN NEXT;
END
$$;
"#;

/// A beginning is answered when its own process has written something behind it, has said so, or has given it back. An older
/// version knows nothing of that, and what it begins counts as answered.
const ANSWERS: &str = "
ALTER TABLE transactions ADD COLUMN answered BOOLEAN NOT NULL DEFAULT TRUE;
";

/// What is not at its end is counted often.
const UNSETTLED: &str = "
CREATE INDEX transactions_unsettled ON transactions (state, began) WHERE state IN ('open', 'needs_operator');
";

/// What landed is asked for by account and folder. A folder's name may be longer than an index has room for; its beginning tells
/// enough.
const LANDINGS: &str = "
CREATE INDEX transactions_landed_in ON transactions (target_account, left(target_folder, 100), landed_uidvalidity)
    WHERE landed_uid IS NOT NULL;
";
