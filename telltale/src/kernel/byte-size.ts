import { quantityPattern, readQuantity, spelt } from './quantity.ts';
import { err, type Result } from './result.ts';
import { RuntimeError } from './runtime-error.ts';

const BYTE_SIZE = {
  what: 'size',
  code: 'bad_size',
  bare: 'B',
  example: '"512B", "64KiB", "1.5MiB", "2GB" or a bare number of bytes',
  units: new Map([
    ['B', 1],
    ['KB', 1e3],
    ['KiB', 2 ** 10],
    ['MB', 1e6],
    ['MiB', 2 ** 20],
    ['GB', 1e9],
    ['GiB', 2 ** 30],
    ['TB', 1e12],
    ['TiB', 2 ** 40],
  ]),
  words: new Map([
    ...spelt('B', 'byte', 'bytes'),
    ...spelt('KiB', 'k', 'kib'),
    ...spelt('KB', 'kb'),
    ...spelt('MiB', 'm', 'mib'),
    ...spelt('MB', 'mb'),
    ...spelt('GiB', 'g', 'gib'),
    ...spelt('GB', 'gb'),
    ...spelt('TiB', 't', 'tib'),
    ...spelt('TB', 'tb'),
  ]),
} as const;

/** For JSON Schemas. It takes parts of a byte, too. */
export const BYTE_SIZE_PATTERN = quantityPattern(BYTE_SIZE);

/** Bytes of `64KiB` (1,024s) or `64KB` (1,000s); a bare number is bytes. A part of a byte is an error. */
export function parseByteSize(input: string | number): Result<number> {
  const size = readQuantity(input, BYTE_SIZE);
  if (size.ok && !Number.isInteger(size.value)) return err(notWhole(input, size.value));
  return size;
}

const notWhole = (input: string | number, bytes: number) =>
  new RuntimeError('bad_size', `The size "${input}" is ${bytes} bytes, which is not a whole number.`, {
    hint: `Write it like ${BYTE_SIZE.example}.`,
  });
