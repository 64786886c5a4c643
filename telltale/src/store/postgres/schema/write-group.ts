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
