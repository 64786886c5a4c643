import { AGE_MS } from './stream-writes.ts';

/** How far up a stream's root is looked for. */
export const MOST_PARENTS = 32;
/** Owners that were found dead are shown for so long. */
export const SHOWN_GONE = "interval '10 minutes'";
/** A store that wrote nothing for so long has no group on its way whose answer could be lost. */
export const IDLE_CALLER = "interval '1 day'";

/**
 * `sweep`: owners without a sign of life are gone, and whatever belongs to somebody who is not there any more is nobody's.
 * That way a stream is found as well that was taken in the instant in which its owner was declared dead.
 *
 * `orphans`: each of the three ways of being one has an index of its own, which holds hardly more than they. Messages of
 * streams that have ended are put aside on the way, so that they are not looked at for ever. Streams of the living and
 * those asleep are not looked at. Plans are kept for as long as a connection lasts, hence no reading of whole tables, as
 * would be best while they are small.
 *
 * `take_slot`: one at a time for each key, so that two cannot both find the last one free.
 */
export const FLEET_QUERIES = `
CREATE FUNCTION {S}.sweep_1(p_self bigint, p_lease_ms bigint) RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  v_dead bigint[];
  v_freed bigint;
BEGIN
  UPDATE {S}.owners w SET gone_at = clock_timestamp()
    WHERE w.gone_at IS NULL AND w.id IS DISTINCT FROM p_self AND ${AGE_MS} > p_lease_ms;
  WITH RECURSIVE noted AS (
    (SELECT owner FROM {S}.heads WHERE owner IS NOT NULL ORDER BY owner LIMIT 1)
    UNION ALL
    SELECT (SELECT h.owner FROM {S}.heads h WHERE h.owner > n.owner ORDER BY h.owner LIMIT 1) FROM noted n WHERE n.owner IS NOT NULL
  ) SELECT array_agg(n.owner) INTO v_dead FROM noted n
    WHERE n.owner IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {S}.owners w WHERE w.id = n.owner AND w.gone_at IS NULL);
  IF v_dead IS NOT NULL THEN
    UPDATE {S}.heads h SET owner = NULL
      FROM (SELECT id FROM {S}.heads WHERE owner = ANY (v_dead) ORDER BY id FOR UPDATE) own WHERE h.id = own.id;
  END IF;
  DELETE FROM {S}.slots s WHERE NOT EXISTS (SELECT 1 FROM {S}.owners w WHERE w.id = s.owner AND w.gone_at IS NULL);
  GET DIAGNOSTICS v_freed = ROW_COUNT;
  DELETE FROM {S}.owners WHERE gone_at < clock_timestamp() - ${SHOWN_GONE};
  DELETE FROM {S}.callers WHERE at < now() - ${IDLE_CALLER};
  RETURN v_freed > 0;
END $$;

CREATE FUNCTION {S}.root_1(p_stream text, p_parent text) RETURNS text LANGUAGE sql STABLE AS $$
  WITH RECURSIVE up AS (
    SELECT p_stream COLLATE "C" AS stream, p_parent COLLATE "C" AS parent, 0 AS depth
    UNION ALL
    SELECT s.stream, s.parent, up.depth + 1 FROM up JOIN {S}.streams s ON s.stream = up.parent WHERE up.depth < ${MOST_PARENTS}
  ) SELECT up.stream FROM up ORDER BY up.depth DESC LIMIT 1
$$;

CREATE FUNCTION {S}.orphans_1(p_limit bigint) RETURNS TABLE (stream text, kind text, name text, status text, root text)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  v_now bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
  v_mail bigint[];
BEGIN
  WITH RECURSIVE mail AS (
    (SELECT i.stream FROM {S}.inbox i WHERE NOT i.idle ORDER BY i.stream LIMIT 1)
    UNION ALL
    SELECT (SELECT i.stream FROM {S}.inbox i WHERE NOT i.idle AND i.stream > m.stream ORDER BY i.stream LIMIT 1)
      FROM mail m WHERE m.stream IS NOT NULL
  ) SELECT array_agg(m.stream) INTO v_mail FROM mail m WHERE m.stream IS NOT NULL;
  IF v_mail IS NOT NULL THEN
    UPDATE {S}.inbox i SET idle = true FROM unnest(v_mail) AS m(id)
      WHERE i.stream = m.id AND NOT i.idle
        AND NOT EXISTS (SELECT 1 FROM {S}.heads h WHERE h.id = m.id AND h.status IN ('running', 'waiting'));
  END IF;
  RETURN QUERY
    SELECT s.stream, s.kind, s.name, f.status, {S}.root_1(s.stream, s.parent) FROM (
      SELECT c.id, min(c.since) AS since, min(c.status) AS status FROM (
        (SELECT h.id, h.updated_at AS since, h.status FROM {S}.heads h
          WHERE h.owner IS NULL AND h.status = 'running' AND NOT EXISTS (
            SELECT 1 FROM {S}.streams p WHERE p.id = h.id AND p.kind = 'session' AND p.parent IS NOT NULL)
          ORDER BY h.id LIMIT p_limit)
        UNION ALL
        (SELECT h.id, h.due_at, h.status FROM {S}.heads h
          WHERE h.owner IS NULL AND h.due_at IS NOT NULL AND h.due_at <= v_now AND h.status IN ('running', 'waiting') AND NOT EXISTS (
            SELECT 1 FROM {S}.streams p WHERE p.id = h.id AND p.kind = 'session' AND p.parent IS NOT NULL)
          ORDER BY h.due_at LIMIT p_limit)
        UNION ALL
        (SELECT h.id, (SELECT min(i.at) FROM {S}.inbox i WHERE i.stream = h.id), h.status
          FROM unnest(v_mail) AS m(id) JOIN {S}.heads h ON h.id = m.id
          WHERE h.owner IS NULL AND h.status IN ('running', 'waiting') LIMIT p_limit)
      ) c GROUP BY c.id
    ) f JOIN {S}.streams s ON s.id = f.id
    WHERE NOT (s.kind = 'session' AND s.parent IS NOT NULL)
    ORDER BY f.since, f.id LIMIT p_limit;
END $$;

CREATE FUNCTION {S}.take_slot_1(p_lock bigint, p_key text, p_max bigint, p_holder text, p_owner bigint, p_lease_ms bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM {S}.owners WHERE id = p_owner AND gone_at IS NULL;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'owner % is gone', p_owner USING ERRCODE = 'TT001';
  END IF;
  PERFORM pg_advisory_xact_lock(p_lock);
  IF (SELECT count(*) FROM {S}.slots s JOIN {S}.owners w ON w.id = s.owner AND w.gone_at IS NULL AND ${AGE_MS} <= p_lease_ms
      WHERE s.key = p_key AND s.holder <> p_holder) >= p_max THEN
    RETURN false;
  END IF;
  INSERT INTO {S}.slots (key, holder, owner) VALUES (p_key, p_holder, p_owner)
    ON CONFLICT (key, holder) DO UPDATE SET owner = excluded.owner;
  RETURN true;
END $$;
`;
