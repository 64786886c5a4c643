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
