/** What moving and pruning write: see `store/upkeep/upkeep.ts`. Each answers as those of `stream-writes.ts` do. */
export const UPKEEP_WRITES = `
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
