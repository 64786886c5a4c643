import { z } from 'zod';
import { BYTE_SIZE_PATTERN, parseByteSize } from '../../kernel/byte-size.ts';
import { DURATION_PATTERN, parseDuration } from '../../kernel/duration.ts';
import type { Result } from '../../kernel/result.ts';
import { finding } from './finding.ts';

/**
 * The convention for quantities in a checked manifest: keys stay as they are written, and the value carries its
 * unit: `timeout: 30s` becomes `timeout.ms === 30000`, `max_body: 1MiB` becomes `max_body.bytes === 1048576`.
 */
export interface Duration {
  readonly ms: number;
}
export interface ByteSize {
  readonly bytes: number;
}

/** `30s`, `1h30m`, or a bare number of seconds. */
export const duration = (description: string) =>
  quantity(parseDuration, (ms): Duration => ({ ms })).register(z.globalRegistry, {
    description,
    expects: 'a duration such as "30s", "5m" or a number of seconds',
    pattern: DURATION_PATTERN,
    minimum: 0,
  });

/** Before the pattern of what is read: a digit of it is not 0. */
const NOT_ZERO = '(?=.*[1-9])';

/** A duration above zero: an interval, a time limit. */
export const positiveDuration = (description: string) =>
  quantity(
    (input) => {
      const parsed = parseDuration(input);
      return parsed.ok && parsed.value === 0 ? { ok: false, error: zero(input) } : parsed;
    },
    (ms): Duration => ({ ms }),
  ).register(z.globalRegistry, {
    description,
    expects: 'a duration above zero such as "30s", "5m" or a number of seconds',
    pattern: NOT_ZERO + DURATION_PATTERN,
    exclusiveMinimum: 0,
  });

/** `64KiB`, `1MB`, or a bare number of bytes. */
export const byteSize = (description: string) =>
  quantity(parseByteSize, (bytes): ByteSize => ({ bytes })).register(z.globalRegistry, {
    description,
    expects: 'a size such as "64KiB" or a number of bytes',
    pattern: BYTE_SIZE_PATTERN,
    minimum: 0,
    multipleOf: 1,
  });

interface Unreadable {
  readonly code: string;
  readonly message: string;
  readonly hint: string | undefined;
}

const zero = (input: string | number): Unreadable => ({
  code: 'bad_duration',
  message: `The duration "${input}" is zero.`,
  hint: 'Write a duration above zero, like "30s".',
});

function quantity<Out>(
  parse: (input: string | number) => Result<number, Unreadable>,
  wrap: (value: number) => Out,
) {
  return z.union([z.string(), z.number()]).transform((input, ctx): Out => {
    const parsed = parse(input);
    if (parsed.ok) return wrap(parsed.value);
    const { code, message, hint } = parsed.error;
    ctx.issues.push(finding(input, { code, message, hint }) as z.core.$ZodRawIssue<z.core.$ZodIssueCustom>);
    return z.NEVER;
  });
}
