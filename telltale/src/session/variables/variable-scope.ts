import { createHash } from 'node:crypto';
import { readPath } from '../../conditions/own-property.ts';
import { PLAIN_NAME, parsePath } from '../../conditions/path.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { DefinedVariable } from './declared-variables.ts';

/** What the value of a defined variable is kept by. */
export interface VariableKeys {
  readonly session: string;
  readonly agent: string;
  readonly user: string;
  readonly metadata: JsonObject;
}

/** Whose values they are where nobody says. */
export const DEFAULT_USER = 'local';

/** Longer ones are kept by their hash: a table's name has to stay one. */
const MAX_KEY_CHARS = 200;

/**
 * Which of its values a session has: `user:ada`, `metadata.customer:17`. Undefined where `key` is a path into the
 * metadata at which no text, number or boolean stands: then there is none, and what is set is not kept.
 */
export function scopeOf({ key }: Pick<DefinedVariable, 'key'>, keys: VariableKeys): string | undefined {
  if (key === 'session' || key === 'agent' || key === 'user') return `${key}:${short(keys[key])}`;
  const path = parsePath(key.startsWith('metadata.') ? key.slice('metadata.'.length) : key, PLAIN_NAME);
  const value = path.ok ? readPath(keys.metadata, path.value) : undefined;
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  return `${key}:${short(String(value))}`;
}

const short = (text: string): string =>
  text.length <= MAX_KEY_CHARS ? text : createHash('sha256').update(text).digest('hex');
