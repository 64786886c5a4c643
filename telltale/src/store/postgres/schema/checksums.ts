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
