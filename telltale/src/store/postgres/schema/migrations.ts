import { DEATHS, FLEET_QUERIES } from './fleet-writes.ts';
import { CHECKSUMS, STREAM_WRITES, WRITE_GROUP } from './stream-writes.ts';

/** Expired rows that a write with a time to live clears away: more than it makes, so that they cannot pile up. */
const SWEEP = 16;

/** `isTooLarge`: whether the sum is beyond all numbers. `check`: what is looked at before it is written. */
const incrementFunction = (
  create: 'CREATE' | 'CREATE OR REPLACE',
  isTooLarge: string,
  check: string,
) => `${create} FUNCTION {S}.increment_1(p_now bigint, p_tab text, p_key text, p_by double precision)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  c_most CONSTANT double precision := 1.7976931348623157e308;
  v_before text;
  v_was double precision := 0;
  v_after double precision;
  v_text text;
BEGIN
  SELECT value INTO v_before FROM {S}.kv WHERE tab = p_tab AND key = p_key AND (expires_at IS NULL OR expires_at > p_now);
  IF v_before IS NOT NULL THEN
    IF v_before !~ '^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$' THEN
      RETURN '{"e": "number"}';
    END IF;
    v_was := v_before;
  END IF;
  IF ${isTooLarge} THEN
    RETURN '{"e": "number"}';
  END IF;
  v_after := v_was + p_by;
${check}  v_text := CASE
    WHEN v_after = 0 THEN '0'
    WHEN abs(v_after) >= 1e-6 AND abs(v_after) < 1e21 THEN v_after::text::numeric::text
    ELSE replace(v_after::text, 'e-0', 'e-')
  END;
  IF v_before IS NULL THEN
    PERFORM {S}.set_1(p_now, p_tab, p_key, v_text, NULL);
  ELSE
    UPDATE {S}.kv SET value = v_text WHERE tab = p_tab AND key = p_key;
  END IF;
  RETURN to_jsonb(v_text);
END $$;`;

/**
 * Writes to tables and lists. Whoever calls one holds the lock of its key or list (`p_locks` of `write_group`): that makes
 * read-then-write atomic over processes, for keys that are not there as well.
 *
 * A counter is written as JavaScript writes it, so that an exchange which expects the number finds the same text.
 */
const TABLE_WRITES = `
CREATE FUNCTION {S}.set_1(p_now bigint, p_tab text, p_key text, p_value text, p_expires bigint)
RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  IF p_expires IS NOT NULL THEN
    DELETE FROM {S}.kv WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM {S}.kv WHERE expires_at <= p_now LIMIT ${SWEEP} FOR UPDATE SKIP LOCKED));
  END IF;
  INSERT INTO {S}.kv (tab, key, value, expires_at) VALUES (p_tab, p_key, p_value, p_expires)
    ON CONFLICT (tab, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at;
  RETURN NULL;
END $$;

CREATE FUNCTION {S}.delete_1(p_now bigint, p_tab text, p_key text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_was boolean;
BEGIN
  DELETE FROM {S}.kv WHERE tab = p_tab AND key = p_key RETURNING coalesce(expires_at > p_now, true) INTO v_was;
  RETURN to_jsonb(coalesce(v_was, false));
END $$;

CREATE FUNCTION {S}.put_1(p_now bigint, p_writes jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  w jsonb;
BEGIN
  IF p_writes IS NULL THEN
    RETURN;
  END IF;
  FOR w IN SELECT * FROM jsonb_array_elements(p_writes) LOOP
    IF w ->> 2 IS NULL THEN
      PERFORM {S}.delete_1(p_now, w ->> 0, w ->> 1);
    ELSE
      PERFORM {S}.set_1(p_now, w ->> 0, w ->> 1, w ->> 2, (w ->> 3)::bigint);
    END IF;
  END LOOP;
END $$;

${incrementFunction('CREATE', '(p_by > 0 AND v_was > c_most - p_by) OR (p_by < 0 AND v_was < -c_most - p_by)', '')}

CREATE FUNCTION {S}.exchange_1(p_now bigint, p_expected jsonb, p_writes jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT 1 FROM jsonb_array_elements(p_expected) e
    LEFT JOIN {S}.kv k ON k.tab = e ->> 0 AND k.key = e ->> 1 AND (k.expires_at IS NULL OR k.expires_at > p_now)
    WHERE k.value IS DISTINCT FROM e ->> 2
  ) THEN
    RETURN 'false';
  END IF;
  PERFORM {S}.put_1(p_now, p_writes);
  RETURN 'true';
END $$;

CREATE FUNCTION {S}.push_1(p_now bigint, p_list text, p_value text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_n bigint;
BEGIN
  INSERT INTO {S}.lists (list, n, at, value)
    SELECT p_list, coalesce(max(l.n), 0) + 1, p_now, p_value FROM {S}.lists l WHERE l.list = p_list RETURNING n INTO v_n;
  RETURN to_jsonb(v_n);
END $$;
`;

/**
 * Refuses a sum that is not exact (`isExactSum`), and one that is too large by the rule of all other stores: halves add up as
 * the whole does, and where one of the two is below 1e290, the sum cannot be. The one function that was changed, in place: whoever works on the store
 * at that time is answered with what it knows of a counter that cannot be counted up.
 */
const EXACT_COUNTS = incrementFunction(
  'CREATE OR REPLACE',
  'abs(v_was) > 1e290 AND abs(p_by) > 1e290 AND abs(v_was / 2 + p_by / 2) > c_most / 2',
  `  IF v_was <> 0 AND p_by <> 0 AND (v_after = v_was OR v_after = p_by
    OR (v_was = trunc(v_was) AND p_by = trunc(p_by)
      AND CASE WHEN abs(p_by) > abs(v_was) THEN v_after - p_by <> v_was ELSE v_after - v_was <> p_by END)) THEN
    RETURN '{"e": "exact"}';
  END IF;
`,
);

/**
 * `{S}` stands for the schema.
 *
 * A row of `log` is an append, not an event: `body` is its encoded events, a line each. Its key is also the last word on
 * forks: even a mistake in the fence could not put two appends at one place of a stream.
 *
 * `heads` holds what changes with each append, apart from what does not: PostgreSQL writes a row anew at each change.
 * No index has `head` or `updated_at` in it, and pages have room, so that such a change touches the one page of its row
 * and no index (a HOT update). Where a status, an owner or a due time changes, the indexes are touched, too.
 *
 * `owners` has a row a process that owns streams, with its last sign of life by the database's clock; one that was found
 * dead has `gone_at`. `callers` has a row a store that writes: the number of its last group and what came of it, so that a
 * group whose answer was lost can be sent again and is not done twice (`write-group.ts`).
 *
 * `idle` messages are those whose stream has ended: nobody has to look at them to know whom to wake.
 */
const FIRST = `
CREATE TABLE {S}.streams (
  id bigint PRIMARY KEY,
  stream text COLLATE "C" NOT NULL UNIQUE,
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  title text NOT NULL,
  parent text COLLATE "C",
  created_at bigint NOT NULL
);
CREATE SEQUENCE {S}.stream_ids AS bigint OWNED BY {S}.streams.id;
CREATE INDEX streams_by_name ON {S}.streams (kind, name, id);
CREATE INDEX streams_by_kind ON {S}.streams (kind, id);
CREATE INDEX streams_by_parent ON {S}.streams (parent, id) WHERE parent IS NOT NULL;
CREATE TABLE {S}.heads (
  id bigint PRIMARY KEY,
  epoch bigint NOT NULL,
  owner bigint,
  head bigint NOT NULL,
  updated_at bigint NOT NULL,
  due_at bigint,
  status text COLLATE "C" NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX heads_by_status ON {S}.heads (status, id);
CREATE INDEX heads_by_owner ON {S}.heads (owner, id) WHERE owner IS NOT NULL;
CREATE INDEX heads_adrift ON {S}.heads (id) WHERE owner IS NULL AND status = 'running';
CREATE INDEX heads_due ON {S}.heads (due_at, id) WHERE owner IS NULL AND due_at IS NOT NULL;
CREATE TABLE {S}.log (
  stream bigint NOT NULL,
  first bigint NOT NULL,
  count integer NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (stream, first)
);
CREATE TABLE {S}.snapshots (
  stream bigint NOT NULL,
  seq bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (stream, seq)
);
CREATE TABLE {S}.inbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  stream bigint NOT NULL,
  at bigint NOT NULL,
  idle boolean NOT NULL DEFAULT false,
  message text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX inbox_by_stream ON {S}.inbox (stream, id);
CREATE INDEX inbox_waiting ON {S}.inbox (stream, id) WHERE NOT idle;
CREATE TABLE {S}.kv (
  tab text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text NOT NULL,
  expires_at bigint,
  PRIMARY KEY (tab, key)
) WITH (fillfactor = 80);
CREATE INDEX kv_by_expiry ON {S}.kv (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE {S}.lists (
  list text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  at bigint NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (list, n)
);
CREATE TABLE {S}.owners (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  pid bigint NOT NULL,
  started_at bigint NOT NULL,
  host text NOT NULL,
  peer text NOT NULL,
  born_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  beat_at timestamptz NOT NULL,
  gone_at timestamptz,
  note jsonb
) WITH (fillfactor = 50);
CREATE TABLE {S}.slots (
  key text COLLATE "C" NOT NULL,
  holder text COLLATE "C" NOT NULL,
  owner bigint NOT NULL,
  PRIMARY KEY (key, holder)
);
CREATE INDEX slots_by_owner ON {S}.slots (owner);
CREATE TABLE {S}.callers (
  store uuid PRIMARY KEY,
  n bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  outcome jsonb
) WITH (fillfactor = 50);
`;

/** What moving and pruning write: see `store/upkeep/upkeep.ts`. Each answers as those of `stream-writes.ts` do. */
const UPKEEP_WRITES = `
CREATE FUNCTION {S}.settle_1(
  p_name text, p_epoch bigint, p_status text, p_due bigint, p_created bigint, p_updated bigint, p_messages jsonb
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint;
BEGIN
  SELECT id INTO v_id FROM {S}.streams WHERE stream = p_name;
  IF NOT FOUND THEN
    RETURN '{"e": "unknown"}';
  END IF;
  UPDATE {S}.heads SET status = p_status, due_at = p_due, updated_at = p_updated, owner = NULL
    WHERE id = v_id AND epoch = p_epoch;
  IF NOT FOUND THEN
    RETURN '{"e": "lost"}';
  END IF;
  UPDATE {S}.streams SET created_at = p_created WHERE id = v_id;
  DELETE FROM {S}.inbox WHERE stream = v_id;
  INSERT INTO {S}.inbox (stream, at, message)
    SELECT v_id, (m.item ->> 0)::bigint, m.item ->> 1
    FROM jsonb_array_elements(p_messages) WITH ORDINALITY AS m(item, n) ORDER BY m.n;
  RETURN jsonb_build_object('adrift', p_status = 'running'
    OR (p_status = 'waiting' AND (p_due IS NOT NULL OR jsonb_array_length(p_messages) > 0)));
END $$;

CREATE FUNCTION {S}.remove_1(p_name text, p_epoch bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint;
BEGIN
  SELECT id INTO v_id FROM {S}.streams WHERE stream = p_name;
  IF NOT FOUND THEN
    RETURN '{"e": "unknown"}';
  END IF;
  DELETE FROM {S}.heads WHERE id = v_id AND epoch = p_epoch;
  IF NOT FOUND THEN
    RETURN '{"e": "lost"}';
  END IF;
  DELETE FROM {S}.log WHERE stream = v_id;
  DELETE FROM {S}.snapshots WHERE stream = v_id;
  DELETE FROM {S}.inbox WHERE stream = v_id;
  DELETE FROM {S}.streams WHERE id = v_id;
  RETURN NULL;
END $$;

CREATE FUNCTION {S}.enter_1(p_list text, p_first bigint, p_entries jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_last bigint;
BEGIN
  SELECT coalesce(max(n), 0) INTO v_last FROM {S}.lists WHERE list = p_list;
  IF v_last + 1 <> p_first THEN
    RETURN jsonb_build_object('e', 'moved', 'last', v_last);
  END IF;
  INSERT INTO {S}.lists (list, n, at, value)
    SELECT p_list, p_first + e.n - 1, (e.item ->> 0)::bigint, e.item ->> 1
    FROM jsonb_array_elements(p_entries) WITH ORDINALITY AS e(item, n);
  RETURN NULL;
END $$;
`;

/** What a fleet goes by (`agree-on-lease.ts`); null for the usual one. */
const LEASES = `
ALTER TABLE {S}.meta ADD COLUMN lease_ms bigint;
`;

export interface Migration {
  /** `{S}` stands for the schema, quoted. */
  readonly sql: string;
  /**
   * The oldest version of the schema that a process may know and still work on what this leaves. A migration that only
   * adds keeps that of the one before, so that old and new processes run side by side while a fleet is updated. What a
   * function does is never changed: its successor has the next number in its name, and both stay. `EXACT_COUNTS` alone
   * replaces one, with one that refuses more, in an answer that is known to all.
   */
  readonly compatible: number;
}

/** The n-th brings a store from version n to n + 1. Only ever add to the end. */
export const MIGRATIONS: readonly Migration[] = [
  {
    sql: `${FIRST}${TABLE_WRITES}${STREAM_WRITES}${UPKEEP_WRITES}${WRITE_GROUP}${FLEET_QUERIES}`,
    compatible: 1,
  },
  { sql: `${DEATHS}${LEASES}`, compatible: 1 },
  { sql: EXACT_COUNTS, compatible: 1 },
  { sql: CHECKSUMS, compatible: 1 },
];

/** What marks a schema as ours. */
export const PRODUCT = 'telltale';

export const META = `
CREATE TABLE {S}.meta (
  product text PRIMARY KEY,
  version integer NOT NULL,
  compatible integer NOT NULL,
  fleet text NOT NULL
);
`;
