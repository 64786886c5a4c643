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
export const FIRST = `
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
