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
export const TABLE_WRITES = `
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
export const EXACT_COUNTS = incrementFunction(
  'CREATE OR REPLACE',
  'abs(v_was) > 1e290 AND abs(p_by) > 1e290 AND abs(v_was / 2 + p_by / 2) > c_most / 2',
  `  IF v_was <> 0 AND p_by <> 0 AND (v_after = v_was OR v_after = p_by
    OR (v_was = trunc(v_was) AND p_by = trunc(p_by)
      AND CASE WHEN abs(p_by) > abs(v_was) THEN v_after - p_by <> v_was ELSE v_after - v_was <> p_by END)) THEN
    RETURN '{"e": "exact"}';
  END IF;
`,
);
