import { z } from 'zod';
import { compilePattern } from '../../expressions/linear-regex.ts';
import { beginsWithADay } from '../../lib/dates.ts';
import type { Result } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { BYTE_SIZE_PATTERN, DURATION_PATTERN, parseByteSize, parseDuration } from '../../lib/quantity.ts';
import { IDENTIFIER } from './plain-values.ts';
import { showValue } from './show-value.ts';

export const MAX_NAME_LENGTH = 128;

const NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/**
 * Names of manifests, steps, states, feeds and output keys: letters, digits, `_` and `-`, not starting with a digit.
 * They have no dots, because `$name.path` and `${steps.NAME.output}` split there.
 */
export const name = (description: string) =>
  z.string().check(z.maxLength(MAX_NAME_LENGTH), z.regex(NAME)).register(z.globalRegistry, {
    description,
    expects: 'a name of letters, digits, "_" and "-" that begins with a letter or "_"',
  });

/**
 * Names that CEL uses without a prefix (context variables, metadata fields, loop variables). They have no `-`, which
 * means minus in CEL.
 */
export const identifier = (description: string) =>
  z.string().check(z.maxLength(MAX_NAME_LENGTH), z.regex(IDENTIFIER)).register(z.globalRegistry, {
    description,
    expects: 'a name of letters, digits and "_" that begins with a letter or "_" ("-" is minus in CEL)',
  });

/** The name of something that may not be ours (an MCP tool, a target, a reference): any text. */
export const targetName = (description: string) =>
  z
    .string()
    .check(z.minLength(1), z.maxLength(1024))
    .register(z.globalRegistry, { description, expects: 'a name' });

export const text = (description: string) =>
  z.string().register(z.globalRegistry, { description, expects: 'text' });

export const nonEmptyText = (description: string) =>
  z.string().min(1).register(z.globalRegistry, { description, expects: 'text that is not empty' });

/** An unquoted 1.0 is a number in YAML. */
export const version = () =>
  z.string().register(z.globalRegistry, {
    description: 'A version of your own, in quotes.',
    expects: 'text in quotes, like "1.0"',
  });

/** A whole number of one or more. */
export const count = (description: string) =>
  z.int().min(1).register(z.globalRegistry, { description, expects: 'a whole number of one or more' });

/** A whole number of zero or more. */
export const countFromZero = (description: string) =>
  z.int().min(0).register(z.globalRegistry, { description, expects: 'a whole number of zero or more' });

/** A number of zero or more. */
export const amount = (description: string) =>
  z.number().min(0).register(z.globalRegistry, { description, expects: 'a number of zero or more' });

export const flag = (description: string) =>
  z.boolean().register(z.globalRegistry, { description, expects: 'true or false' });

/** Any JSON value. Depth and size of the whole document were checked before. */
export const jsonValue = (description: string) =>
  z.custom<Json>((value) => value !== undefined).register(z.globalRegistry, { description });

/** Any JSON object. */
export const jsonObject = (description: string) =>
  z
    .record(
      z.string(),
      z.custom<Json>(() => true),
    )
    .transform((value): JsonObject => value)
    .register(z.globalRegistry, { description, expects: 'a map' });

const ISO_TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** A point in time in ISO 8601. */
export const moment = (description: string) =>
  z
    .string()
    .check((ctx) => {
      if (ISO_TIME.test(ctx.value) && beginsWithADay(ctx.value) && !Number.isNaN(Date.parse(ctx.value)))
        return;
      const message = `${showValue(ctx.value)} is not a time.`;
      ctx.issues.push(
        finding(ctx.value, { code: 'bad_time', message, hint: 'Write it like 2026-11-15T08:30:00Z.' }),
      );
    })
    .meta({ description, expects: 'a time like 2026-11-15T08:30:00Z' });

export const timeZone = (description: string) =>
  z
    .string()
    .check((ctx) => {
      if (isTimeZone(ctx.value)) return;
      const message = `${showValue(ctx.value)} is not a time zone.`;
      ctx.issues.push(
        finding(ctx.value, {
          code: 'bad_time_zone',
          message,
          hint: 'Write it like "Europe/Lisbon" or "UTC".',
        }),
      );
    })
    .meta({ description, expects: 'a time zone like "Europe/Lisbon"' });

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

/**
 * The convention for quantities in a checked manifest: keys keep their names, and values carry the unit. `timeout: 30s`
 * becomes `timeout.ms === 30000`, and `max_body: 1MiB` becomes `max_body.bytes === 1048576`.
 */
export interface ValuesDuration {
  readonly ms: number;
}

export interface ByteSize {
  readonly bytes: number;
}

/** `30s`, `1h30m`, or a bare number of seconds. */
export const duration = (description: string) =>
  quantity(parseDuration, (ms): ValuesDuration => ({ ms })).register(z.globalRegistry, {
    description,
    expects: 'a duration such as "30s", "5m" or a number of seconds',
    pattern: DURATION_PATTERN,
    minimum: 0,
  });

/** A lookahead for quantities above zero: at least one digit is not 0. */
const NOT_ZERO = '(?=.*[1-9])';

/** A duration above zero: an interval, a time limit. */
export const positiveDuration = (description: string) =>
  quantity(
    (input) => {
      const parsed = parseDuration(input);
      return parsed.ok && parsed.value === 0 ? { ok: false, error: zero(input) } : parsed;
    },
    (ms): ValuesDuration => ({ ms }),
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

/** A problem of a value in the user's words. Zod carries it in the params of a custom issue. */
export interface ValuesFinding {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly at?: 'key' | 'value';
  readonly offset?: number | undefined;
  readonly severity?: 'error' | 'warning';
}

/** `continue` makes zod check the rest of the document too, so that all errors are reported. */
export const finding = (
  input: unknown,
  found: ValuesFinding,
  path: readonly (string | number)[] = [],
): z.core.$ZodRawIssue => ({
  code: 'custom',
  input,
  params: { ...found },
  path: [...path],
  continue: true,
});

/**
 * A regular expression for linear-time engines: without lookaround and back-references. It matches anywhere in the
 * text.
 */
export const pattern = (description: string) =>
  z
    .string()
    .check((ctx) => {
      const found = checkPattern(ctx.value);
      if (found !== undefined) ctx.issues.push(finding(ctx.value, found));
    })
    .meta({ description, expects: 'a regular expression' });

/** RE2 refuses exactly the constructs that can make matching slow, so an accepted pattern is safe on any text. */
export function checkPattern(source: string): ValuesFinding | undefined {
  const compiled = compilePattern(source);
  return compiled.ok ? undefined : compiled.error;
}
