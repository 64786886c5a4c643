import { suggest } from '../../lib/nearest.ts';
import { parseByteSize } from '../../lib/quantity.ts';
import type { Place, TagParserOptions } from '../../parser/index.ts';
import { usage } from '../options.ts';

const KEYS = ['max_body', 'actions_in', 'key', 'ids'] as const;
const PLACES: readonly string[] = ['outside', 'thought', 'response'];
const EXAMPLE = `Write it like '{"actions_in": ["outside"], "max_body": "64KiB", "key": "k9", "ids": ["a1"]}'.`;

/** Reads `--options JSON`. A mistake in it is a usage error that names the key. */
export function readParserOptions(json: string | undefined): TagParserOptions {
  if (json === undefined) return {};
  const given = readObject(json);
  for (const key of Object.keys(given)) {
    if (!KEYS.includes(key as never)) throw usage(`--options has no "${key}".`, suggest(key, KEYS));
  }
  const { max_body, actions_in, key, ids } = given;
  return {
    ...(max_body === undefined ? {} : { max_body: maxBody(max_body) }),
    ...(actions_in === undefined ? {} : { actions_in: places(actions_in) }),
    ...(key === undefined ? {} : { key: sealKey(key) }),
    ids: new Set(ids === undefined ? [] : texts('ids', ids)),
  };
}

function readObject(json: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (thrown) {
    throw usage(`--options is not JSON: ${(thrown as Error).message}.`, EXAMPLE);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw usage('--options is not a JSON object.', EXAMPLE);
  }
  return value as Record<string, unknown>;
}

function maxBody(value: unknown): number {
  if (typeof value !== 'number' && typeof value !== 'string')
    throw wrong('max_body', 'a number of characters');
  const size = parseByteSize(value);
  if (!size.ok) throw usage(`"max_body" in --options: ${size.error.message}`, size.error.hint ?? EXAMPLE);
  return size.value;
}

function places(value: unknown): readonly Place[] {
  const named = texts('actions_in', value);
  for (const place of named) {
    if (!PLACES.includes(place))
      throw usage(`"actions_in" in --options has "${place}".`, suggest(place, PLACES));
  }
  return named as readonly Place[];
}

function sealKey(value: unknown): string {
  const key = text('key', value);
  if (key === '') throw usage('"key" in --options is empty.', 'Leave it out for a session without a seal.');
  return key;
}

function texts(key: string, value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw wrong(key, 'a list of strings');
  return value.map((each) => text(key, each));
}

function text(key: string, value: unknown): string {
  if (typeof value !== 'string') throw wrong(key, key === 'key' ? 'a string' : 'a list of strings');
  return value;
}

const wrong = (key: string, mustBe: string) => usage(`"${key}" in --options must be ${mustBe}.`, EXAMPLE);
