import { crc32 } from 'node:zlib';

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

/** The places, from 0 on, of a row's events that no longer fit their checksums. */
export function changedEvents(body: string, sums: string): readonly number[] {
  const changed: number[] = [];
  for (const [place, line] of body.split('\n').entries())
    if (checksum(line) !== sums.slice(place * DIGITS, (place + 1) * DIGITS)) changed.push(place);
  return changed;
}

const checksum = (line: string): string => crc32(line).toString(16).padStart(DIGITS, '0');
