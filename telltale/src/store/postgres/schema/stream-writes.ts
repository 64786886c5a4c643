import { RESTORING } from '../../upkeep/upkeep.ts';

/** How long an owner has given no sign of life, in milliseconds. A server that was down is no fault of its. */
export const AGE_MS = `CASE WHEN NOT isfinite(w.beat_at) THEN 1e15
  ELSE extract(epoch FROM clock_timestamp() - greatest(w.beat_at, pg_postmaster_start_time())) * 1000 END`;

/** What is written about streams besides plain appends. Each answers with an outcome; one that has `e` changed nothing. */
export const STREAM_WRITES = `
CREATE FUNCTION {S}.append_1(
  p_now bigint, p_stream bigint, p_epoch bigint, p_expected bigint, p_count integer, p_body text,
  p_status text, p_due bigint, p_consumed jsonb, p_writes jsonb
) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  UPDATE {S}.heads SET
    head = p_expected + p_count,
    updated_at = p_now,
    status = coalesce(p_status, status),
    due_at = CASE WHEN p_status IS NULL THEN due_at ELSE p_due END
  WHERE id = p_stream AND epoch = p_epoch AND head = p_expected;
  IF NOT FOUND THEN
    RETURN (
      SELECT jsonb_build_object('refused', jsonb_build_array(h.epoch, h.head, s.stream))
      FROM (SELECT p_stream AS id) a LEFT JOIN {S}.heads h ON h.id = a.id LEFT JOIN {S}.streams s ON s.id = a.id
    );
  END IF;
  IF p_count > 0 THEN
    INSERT INTO {S}.log (stream, first, count, body) VALUES (p_stream, p_expected + 1, p_count, p_body);
  END IF;
  IF p_consumed IS NOT NULL THEN
    DELETE FROM {S}.inbox WHERE stream = p_stream AND id IN (SELECT c::bigint FROM jsonb_array_elements_text(p_consumed) c);
  END IF;
  PERFORM {S}.put_1(p_now, p_writes);
  RETURN NULL;
END $$;

CREATE FUNCTION {S}.dissolve_1(p_owner bigint, p_lease_ms bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  UPDATE {S}.owners w SET gone_at = clock_timestamp()
    WHERE w.id = p_owner AND w.gone_at IS NULL AND ${AGE_MS} > p_lease_ms;
  IF FOUND THEN
    UPDATE {S}.heads h SET owner = NULL
      FROM (SELECT id FROM {S}.heads WHERE owner = p_owner ORDER BY id FOR UPDATE) own WHERE h.id = own.id;
    DELETE FROM {S}.slots WHERE owner = p_owner;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION {S}.acquire_1(p_name text, p_dead bigint, p_restoring boolean, p_owner bigint, p_lease_ms bigint)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  r record;
  v record;
BEGIN
  -- Before the stream is locked: whoever else buries this owner locks the owner first, too.
  IF p_dead IS NOT NULL THEN
    PERFORM {S}.dissolve_1(p_dead, p_lease_ms);
  END IF;
  SELECT s.id, h.epoch, h.head, h.owner, h.status INTO r
    FROM {S}.streams s JOIN {S}.heads h ON h.id = s.id WHERE s.stream = p_name FOR UPDATE OF h;
  IF NOT FOUND THEN
    RETURN '{"e": "unknown"}';
  END IF;
  IF r.status = '${RESTORING}' AND NOT p_restoring THEN
    RETURN '{"e": "restoring"}';
  END IF;
  IF r.owner IS NOT NULL THEN
    SELECT w.id, w.pid, w.started_at, w.host, ${AGE_MS} AS age INTO v
      FROM {S}.owners w WHERE w.id = r.owner AND w.gone_at IS NULL;
    IF FOUND THEN
      RETURN jsonb_build_object('owner', jsonb_build_array(v.id, v.pid, v.started_at, v.host, v.age, r.epoch));
    END IF;
  END IF;
  UPDATE {S}.heads SET epoch = r.epoch + 1, owner = p_owner WHERE id = r.id;
  RETURN jsonb_build_object('taken', jsonb_build_array(r.id, r.epoch + 1, r.head));
END $$;

CREATE FUNCTION {S}.release_1(p_stream bigint, p_epoch bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_status text;
BEGIN
  UPDATE {S}.heads SET owner = NULL WHERE id = p_stream AND epoch = p_epoch RETURNING status INTO v_status;
  RETURN jsonb_build_object('adrift', v_status = 'running'
    OR (v_status = 'waiting' AND EXISTS (SELECT 1 FROM {S}.inbox WHERE stream = p_stream)));
END $$;

CREATE FUNCTION {S}.snapshot_1(p_stream bigint, p_epoch bigint, p_seq bigint, p_body text) RETURNS jsonb LANGUAGE sql AS $$
  INSERT INTO {S}.snapshots (stream, seq, body)
    SELECT id, p_seq, p_body FROM {S}.heads WHERE id = p_stream AND epoch = p_epoch AND head >= p_seq
    ON CONFLICT (stream, seq) DO UPDATE SET body = excluded.body;
  SELECT NULL::jsonb;
$$;

CREATE FUNCTION {S}.send_1(p_now bigint, p_name text, p_message text, p_limit integer) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  r record;
  v_id bigint;
BEGIN
  SELECT s.id, w.id AS owner, w.peer INTO r FROM {S}.streams s JOIN {S}.heads h ON h.id = s.id
    LEFT JOIN {S}.owners w ON w.id = h.owner AND w.gone_at IS NULL WHERE s.stream = p_name;
  IF NOT FOUND THEN
    RETURN '{"e": "unknown"}';
  END IF;
  IF (SELECT count(*) FROM (SELECT 1 FROM {S}.inbox WHERE stream = r.id LIMIT p_limit) m) >= p_limit THEN
    RETURN '{"e": "full"}';
  END IF;
  INSERT INTO {S}.inbox (stream, at, message) VALUES (r.id, p_now, p_message) RETURNING id INTO v_id;
  RETURN jsonb_build_object('id', v_id, 'owner', r.owner, 'peer', r.peer);
END $$;
`;

/**
 * One group of writes in one call and one transaction, which ends with the call: no lock is ever held while a client is
 * waited for, so one that is paused or cut off in mid-group holds up nobody.
 *
 * Numbered (`p_store`, `p_n`): a group that was done is not done again, but answered with what came of it. Whoever sends
 * one again because its answer was lost waits here for the first to end, and then either does it or hears that it is done.
 *
 * In this order: locks on all keys and lists that are written, sorted, so that no two groups wait for each other; new
 * streams, each with its first append; appends, at most one a stream, by which a stream that was taken from a paused owner, and that nobody else has taken since, is his again; then everything else in the order of the calls,
 * the appends of streams that have several, or that write to tables, among them. Appends come sorted by stream. What is
 * refused has changed nothing and fails alone.
 *
 * Answers null where everything went through and there is nothing to tell; else `made` (ids of new streams by place, null
 * for one whose name is taken), `refused` ([place, epoch, head, name] of appends), `out` ([place, outcome] of the rest).
 */
export const WRITE_GROUP = `
CREATE FUNCTION {S}.write_group_1(
  p_store uuid, p_n bigint, p_now bigint, p_owner bigint, p_lease_ms bigint, p_locks bigint[],
  b_stream text[], b_kind text[], b_name text[], b_title text[], b_parent text[],
  b_status text[], b_due bigint[], b_count integer[], b_body text,
  a_stream bigint[], a_epoch bigint[], a_expected bigint[], a_count integer[], a_body text,
  a_status text[], a_due bigint[], c_stream bigint[], c_id bigint[],
  p_ops jsonb
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  v_made bigint[];
  v_moved integer[];
  v_refused jsonb;
  v_lost bigint[] := '{}';
  v_out jsonb := '[]';
  v_result jsonb;
  v_rows bigint;
  o record;
BEGIN
  UPDATE {S}.callers SET n = p_n, at = now(), outcome = NULL WHERE store = p_store AND n < p_n;
  IF NOT FOUND THEN
    INSERT INTO {S}.callers (store, n) VALUES (p_store, p_n) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      RETURN (SELECT outcome FROM {S}.callers WHERE store = p_store);
    END IF;
  END IF;
  IF p_owner IS NOT NULL THEN
    PERFORM 1 FROM {S}.owners WHERE id = p_owner AND gone_at IS NULL;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'owner % is gone', p_owner USING ERRCODE = 'TT001';
    END IF;
  END IF;
  IF p_locks IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(l) FROM unnest(p_locks) AS l;
  END IF;

  IF b_stream IS NOT NULL THEN
    v_made := ARRAY(SELECT nextval('{S}.stream_ids') FROM generate_series(1, cardinality(b_stream)));
    INSERT INTO {S}.streams (id, stream, kind, name, title, parent, created_at)
      SELECT b.id, b.stream, b.kind, b.name, b.title, b.parent, p_now
      FROM unnest(v_made, b_stream, b_kind, b_name, b_title, b_parent) AS b(id, stream, kind, name, title, parent)
      ON CONFLICT (stream) DO NOTHING;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows < cardinality(b_stream) THEN
      v_made := ARRAY(
        SELECT (SELECT s.id FROM {S}.streams s WHERE s.id = m.id) FROM unnest(v_made) WITH ORDINALITY AS m(id, n) ORDER BY m.n
      );
    END IF;
    INSERT INTO {S}.heads (id, epoch, owner, head, updated_at, due_at, status)
      SELECT b.id, 1, p_owner, b.count, p_now, b.due, b.status
      FROM unnest(v_made, b_count, b_due, b_status) AS b(id, count, due, status) WHERE b.id IS NOT NULL;
    INSERT INTO {S}.log (stream, first, count, body)
      SELECT b.id, 1, b.count, b.body
      FROM unnest(v_made, b_count, string_to_array(b_body, chr(30))) AS b(id, count, body)
      WHERE b.id IS NOT NULL AND b.count > 0;
  END IF;

  IF a_stream IS NOT NULL THEN
    WITH moved AS (
      UPDATE {S}.heads h SET
        head = a.expected + a.count,
        owner = coalesce(h.owner, p_owner),
        updated_at = p_now,
        status = coalesce(a.status, h.status),
        due_at = CASE WHEN a.status IS NULL THEN h.due_at ELSE a.due END
      FROM unnest(a_stream, a_epoch, a_expected, a_count, string_to_array(a_body, chr(30)), a_status, a_due)
        WITH ORDINALITY AS a(stream, epoch, expected, count, body, status, due, place)
      WHERE h.id = a.stream AND h.epoch = a.epoch AND h.head = a.expected
      RETURNING a.place, a.stream, a.expected, a.count, a.body
    ), written AS (
      INSERT INTO {S}.log (stream, first, count, body)
        SELECT m.stream, m.expected + 1, m.count, m.body FROM moved m WHERE m.count > 0
    )
    SELECT array_agg(place) INTO v_moved FROM moved;
    IF coalesce(cardinality(v_moved), 0) < cardinality(a_stream) THEN
      SELECT jsonb_agg(jsonb_build_array(a.place - 1, h.epoch, h.head, s.stream)), array_agg(a.stream)
        INTO v_refused, v_lost
        FROM unnest(a_stream) WITH ORDINALITY AS a(stream, place)
        LEFT JOIN {S}.heads h ON h.id = a.stream
        LEFT JOIN {S}.streams s ON s.id = a.stream
        WHERE NOT a.place = ANY (coalesce(v_moved, '{}'));
    END IF;
    IF c_id IS NOT NULL THEN
      DELETE FROM {S}.inbox i USING unnest(c_stream, c_id) AS c(stream, id)
        WHERE i.id = c.id AND i.stream = c.stream AND NOT c.stream = ANY (v_lost);
    END IF;
  END IF;

  IF p_ops IS NOT NULL THEN
    FOR o IN SELECT * FROM jsonb_to_recordset(p_ops) AS x(
      place integer, op text, stream bigint, made integer, name text, epoch bigint, seq bigint, count integer, body text,
      status text, due bigint, consumed jsonb, writes jsonb, tab text, key text, value text, expires bigint,
      plus double precision, expected jsonb, dead bigint, restoring boolean, created bigint, updated bigint, items jsonb)
    LOOP
      v_out := v_out || jsonb_build_array(jsonb_build_array(o.place, CASE o.op
        WHEN 'append' THEN {S}.append_1(p_now, CASE WHEN o.made IS NULL THEN o.stream ELSE v_made[o.made + 1] END,
          o.epoch, o.seq, o.count, o.body, o.status, o.due, o.consumed, o.writes)
        WHEN 'acquire' THEN {S}.acquire_1(o.name, o.dead, o.restoring, p_owner, p_lease_ms)
        WHEN 'dissolve' THEN {S}.dissolve_1(o.dead, p_lease_ms)
        WHEN 'release' THEN {S}.release_1(o.stream, o.epoch)
        WHEN 'snapshot' THEN {S}.snapshot_1(o.stream, o.epoch, o.seq, o.body)
        WHEN 'send' THEN {S}.send_1(p_now, o.name, o.body, o.count)
        WHEN 'set' THEN {S}.set_1(p_now, o.tab, o.key, o.value, o.expires)
        WHEN 'delete' THEN {S}.delete_1(p_now, o.tab, o.key)
        WHEN 'increment' THEN {S}.increment_1(p_now, o.tab, o.key, o.plus)
        WHEN 'exchange' THEN {S}.exchange_1(p_now, o.expected, o.writes)
        WHEN 'push' THEN {S}.push_1(p_now, o.name, o.value)
        WHEN 'settle' THEN {S}.settle_1(o.name, o.epoch, o.status, o.due, o.created, o.updated, o.items)
        WHEN 'remove' THEN {S}.remove_1(o.name, o.epoch)
        WHEN 'enter' THEN {S}.enter_1(o.name, o.seq, o.items)
      END));
    END LOOP;
  END IF;

  IF v_made IS NULL AND v_refused IS NULL AND p_ops IS NULL THEN
    RETURN NULL;
  END IF;
  v_result := jsonb_build_object('made', to_jsonb(v_made), 'refused', v_refused, 'out', v_out);
  UPDATE {S}.callers SET outcome = v_result WHERE store = p_store;
  RETURN v_result;
END $$;
`;

/** Hexadecimal digits of one event's checksum. */
export const CHECKSUM_DIGITS = 8;

/** The checksum of the event `e.line`. Not md5, which a server in FIPS mode refuses. */
export const CHECKSUM = `left(encode(sha256(convert_to(e.line, 'UTF8')), 'hex'), ${CHECKSUM_DIGITS})`;

/**
 * Each row of `log` gets the checksums of its events, one behind the other, from the database as it is inserted. So no
 * function that writes has to change, and processes of the version before write them as well. A later change of the row
 * leaves them as they are, and shows. They are no signature: whoever can write the table can write a checksum that fits.
 */
export const CHECKSUMS = `
ALTER TABLE {S}.log ADD COLUMN sums text;
CREATE FUNCTION {S}.sum_log_1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.sums := (
    SELECT string_agg(${CHECKSUM}, '' ORDER BY e.n)
    FROM unnest(string_to_array(NEW.body, chr(10))) WITH ORDINALITY AS e(line, n)
  );
  RETURN NEW;
END $$;
CREATE TRIGGER sum_log BEFORE INSERT ON {S}.log FOR EACH ROW EXECUTE FUNCTION {S}.sum_log_1();
`;
