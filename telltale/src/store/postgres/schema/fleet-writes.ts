import { AGE_MS } from './stream-writes.ts';

/** How far up a stream's root is looked for. */
const MOST_PARENTS = 32;
/** Owners that were found dead are shown for so long. */
const SHOWN_GONE = "interval '10 minutes'";
/** A store that wrote nothing for so long has no group on its way whose answer could be lost. */
const IDLE_CALLER = "interval '1 day'";

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

/**
 * Events that being taken up writes by itself: that it was resumed, that a turn was cut short, that actions begin again.
 * A stream that wrote no more since its last owner died has got nowhere.
 */
const NOWHERE_EVENTS = 10;
/** The longest pause after a death: 2 s, 4 s, 8 s and so on up to here; half of it to half as much again, by chance. */
const LONGEST_PAUSE_S = 60;

/** Takings of a caller in which a session that it called was left as it was: it is not wanted any more. */
const IN_VAIN = 2;

/**
 * The stream that is to be taken up where something came for stream `s`: itself, unless it is a session that another
 * called. What called that one has to wait: where it runs, it is found by itself.
 */
const GOES_ON = `LATERAL (SELECT CASE
  WHEN NOT (s.kind = 'session' AND s.parent IS NOT NULL) THEN s.id
  WHEN EXISTS (SELECT 1 FROM {S}.streams p JOIN {S}.heads ph ON ph.id = p.id
    WHERE p.stream = s.parent AND ph.owner IS NULL AND ph.status = 'waiting') THEN {S}.goes_on_1(s.id)
  END AS id)`;

/** There is one, and it does not pause. */
const MAY_GO_ON = `g.id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {S}.deaths d
  WHERE d.id = g.id AND d.count > 1 AND clock_timestamp() < d.at + interval '1 second'
    * (least(${LONGEST_PAUSE_S}, 2 ^ least(d.count - 1, 16)) * (0.5 + (hashint8(d.id + d.count) & 1023) / 1023.0)))`;

/**
 * `deaths`: streams whose owner died while he held them, how often in a row, and how far they were then. Written in the
 * transaction that buries the owner, so that no worker has to live to tell. The first costs no pause: most workers die of
 * something else. Pauses differ from stream to stream, so that one that kills its workers does not take the same others
 * with it each time.
 *
 * `sweep_2` is `sweep_1`, and counts. Those that resigned are no longer among the owners: nothing is counted for them.
 * A sign of life of the future is from before the database's clock was set back: it counts from now on.
 *
 * `goes_on`: up from a session that another called to the session at the top, or to the nearest run that leads no session.
 * Null where that one does not wait, or is held; and where it was taken up for this and left it as it was (`calls`: how far
 * the called one was, and how often its caller had been taken, when it was first found). Else a caller that has no use
 * for it any more would be taken up each second for ever.
 *
 * `orphans_2` is `orphans_1` of those, by the clock of whoever asks: a time that is waited for was set by such a one, not
 * by the database. A stream without events is left out: nobody could go on with it.
 */
export const DEATHS = `
CREATE TABLE {S}.deaths (
  id bigint PRIMARY KEY,
  head bigint NOT NULL,
  count integer NOT NULL,
  at timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE {S}.calls (
  id bigint PRIMARY KEY,
  head bigint NOT NULL,
  mail bigint NOT NULL,
  epoch bigint NOT NULL
) WITH (fillfactor = 50);

CREATE FUNCTION {S}.sweep_2(p_self bigint, p_lease_ms bigint) RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  v_dead bigint[];
  v_freed bigint;
BEGIN
  UPDATE {S}.owners w SET beat_at = clock_timestamp() WHERE w.gone_at IS NULL AND w.beat_at > clock_timestamp() + interval '1 second';
  UPDATE {S}.owners w SET gone_at = clock_timestamp()
    WHERE w.gone_at IS NULL AND w.id IS DISTINCT FROM p_self AND ${AGE_MS} > p_lease_ms;
  WITH RECURSIVE noted AS (
    (SELECT owner FROM {S}.heads WHERE owner IS NOT NULL ORDER BY owner LIMIT 1)
    UNION ALL
    SELECT (SELECT h.owner FROM {S}.heads h WHERE h.owner > n.owner ORDER BY h.owner LIMIT 1) FROM noted n WHERE n.owner IS NOT NULL
  ) SELECT array_agg(n.owner) INTO v_dead FROM noted n
    WHERE n.owner IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {S}.owners w WHERE w.id = n.owner AND w.gone_at IS NULL);
  IF v_dead IS NOT NULL THEN
    WITH freed AS (
      UPDATE {S}.heads h SET owner = NULL
        FROM (SELECT id, owner FROM {S}.heads WHERE owner = ANY (v_dead) ORDER BY id FOR UPDATE) own WHERE h.id = own.id
        RETURNING h.id, h.head, h.status, own.owner
    )
    INSERT INTO {S}.deaths AS d (id, head, count, at)
      SELECT f.id, f.head, 1, clock_timestamp() FROM freed f JOIN {S}.owners w ON w.id = f.owner
        WHERE f.status IN ('running', 'waiting')
      ON CONFLICT (id) DO UPDATE SET head = excluded.head, at = excluded.at,
        count = CASE WHEN excluded.head - d.head > ${NOWHERE_EVENTS} THEN 1 ELSE d.count + 1 END;
  END IF;
  DELETE FROM {S}.deaths d
    WHERE NOT EXISTS (SELECT 1 FROM {S}.heads h WHERE h.id = d.id AND h.status IN ('running', 'waiting'));
  DELETE FROM {S}.calls k
    WHERE NOT EXISTS (SELECT 1 FROM {S}.heads h WHERE h.id = k.id AND h.owner IS NULL AND h.status IN ('running', 'waiting'));
  DELETE FROM {S}.slots s WHERE NOT EXISTS (SELECT 1 FROM {S}.owners w WHERE w.id = s.owner AND w.gone_at IS NULL);
  GET DIAGNOSTICS v_freed = ROW_COUNT;
  DELETE FROM {S}.owners WHERE gone_at < clock_timestamp() - ${SHOWN_GONE};
  DELETE FROM {S}.callers WHERE at < now() - ${IDLE_CALLER};
  RETURN v_freed > 0;
END $$;

CREATE FUNCTION {S}.last_mail_1(p_id bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce(max(i.id), 0) FROM {S}.inbox i WHERE i.stream = p_id
$$;

CREATE FUNCTION {S}.goes_on_1(p_id bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  WITH RECURSIVE up AS (
    SELECT s.id, s.stream, s.kind, s.parent, 0 AS depth FROM {S}.streams s WHERE s.id = p_id
    UNION ALL
    SELECT p.id, p.stream, p.kind, p.parent, up.depth + 1 FROM up JOIN {S}.streams p ON p.stream = up.parent
      WHERE up.depth < ${MOST_PARENTS} AND (up.kind = 'session' OR up.stream = up.parent || '~lead')
  ) SELECT t.id FROM (SELECT * FROM up ORDER BY up.depth DESC LIMIT 1) t JOIN {S}.heads h ON h.id = t.id
    WHERE (t.kind = 'run' OR t.parent IS NULL) AND h.owner IS NULL AND h.status = 'waiting' AND NOT EXISTS (
      SELECT 1 FROM {S}.calls k JOIN {S}.heads c ON c.id = k.id WHERE k.id = p_id
        AND h.epoch >= k.epoch + ${IN_VAIN} AND k.head = c.head AND k.mail = {S}.last_mail_1(p_id))
$$;

CREATE FUNCTION {S}.orphans_2(p_limit bigint, p_now bigint)
RETURNS TABLE (stream text, kind text, name text, status text, root text, deaths integer)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
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
    WITH found AS MATERIALIZED (
      (SELECT h.id AS came, g.id, h.updated_at AS since FROM {S}.heads h JOIN {S}.streams s ON s.id = h.id, ${GOES_ON} g
        WHERE h.owner IS NULL AND h.status = 'running' AND h.head > 0 AND ${MAY_GO_ON} ORDER BY h.id LIMIT p_limit)
      UNION ALL
      (SELECT h.id, g.id, h.due_at FROM {S}.heads h JOIN {S}.streams s ON s.id = h.id, ${GOES_ON} g
        WHERE h.owner IS NULL AND h.due_at IS NOT NULL AND h.due_at <= p_now AND h.status IN ('running', 'waiting')
          AND ${MAY_GO_ON} ORDER BY h.due_at LIMIT p_limit)
      UNION ALL
      (SELECT h.id, g.id, (SELECT min(i.at) FROM {S}.inbox i WHERE i.stream = h.id)
        FROM unnest(v_mail) AS m(id) JOIN {S}.heads h ON h.id = m.id JOIN {S}.streams s ON s.id = h.id, ${GOES_ON} g
        WHERE h.owner IS NULL AND h.status IN ('running', 'waiting') AND h.head > 0 AND ${MAY_GO_ON} LIMIT p_limit)
    ), noted AS (
      INSERT INTO {S}.calls AS k (id, head, mail, epoch)
        SELECT DISTINCT ON (f.came) f.came, h.head, {S}.last_mail_1(f.came), u.epoch
          FROM found f JOIN {S}.heads h ON h.id = f.came JOIN {S}.heads u ON u.id = f.id
          WHERE f.came <> f.id ORDER BY f.came
        ON CONFLICT (id) DO UPDATE SET head = excluded.head, mail = excluded.mail, epoch = excluded.epoch
          WHERE (k.head, k.mail) IS DISTINCT FROM (excluded.head, excluded.mail)
    )
    SELECT s.stream, s.kind, s.name, h.status, {S}.root_1(s.stream, s.parent), coalesce(d.count, 0)
      FROM (SELECT c.id, min(c.since) AS since FROM found c GROUP BY c.id) f
      JOIN {S}.streams s ON s.id = f.id JOIN {S}.heads h ON h.id = f.id LEFT JOIN {S}.deaths d ON d.id = f.id
      ORDER BY f.since, f.id LIMIT p_limit;
END $$;
`;
