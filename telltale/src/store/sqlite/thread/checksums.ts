import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';

import type { ChecksumReport } from '../../upkeep/upkeep.ts';

/** Changed events that are named; whoever has more has to begin with these. */
const MOST = 1_000;
/** Hexadecimal digits of one event's checksum. */
const DIGITS = 8;

/**
 * The checksums of a row's events, one behind the other. They show that a stored byte has changed. They are no signature:
 * whoever can write the file can also write a checksum that fits.
 */
export function checksumsOf(body: string, count: number): string {
  if (count === 1) return checksum(body);
  let sums = '';
  for (const line of body.split('\n')) sums += checksum(line);
  return sums;
}

/** Compares the whole log with its checksums. */
export function compareChecksums(db: DatabaseSync): ChecksumReport {
  const uncovered = db.prepare('SELECT coalesce(sum(count), 0) AS n FROM log WHERE sums IS NULL').get()?.n;
  const rows = db.prepare(
    `SELECT s.stream, l.first, l.body, l.sums FROM log l JOIN streams s ON s.id = l.stream
      WHERE l.sums IS NOT NULL ORDER BY l.id`,
  );
  const changed: { stream: string; seq: number }[] = [];
  for (const { stream, first, body, sums } of rows.iterate()) {
    for (const place of changedEvents(String(body), String(sums)))
      changed.push({ stream: String(stream), seq: Number(first) + place });
    if (changed.length >= MOST) break;
  }
  return { changed, uncovered: Number(uncovered) };
}

/** The places, from 0 on, of a row's events that no longer fit their checksums. */
function changedEvents(body: string, sums: string): readonly number[] {
  const changed: number[] = [];
  for (const [place, line] of body.split('\n').entries())
    if (checksum(line) !== sums.slice(place * DIGITS, (place + 1) * DIGITS)) changed.push(place);
  return changed;
}

const checksum = (line: string): string => crc32(line).toString(16).padStart(DIGITS, '0');
