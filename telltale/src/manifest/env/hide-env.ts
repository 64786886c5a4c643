import type { Json } from '../../lib/json.ts';

/** A variable that was put into a document, and what it was set to. */
export interface EnvValue {
  readonly name: string;
  readonly value: string;
}

/** Shorter values stand in other texts by chance: they are only hidden where they are the whole text. */
const MIN_INSIDE = 3;

/** Manifests that know which variables were put into them. */
export interface FromEnv {
  readonly fromEnv?: readonly EnvValue[];
}

/** What was put into any of these manifests. */
export const envOf = (manifests: readonly FromEnv[]): readonly EnvValue[] =>
  manifests.flatMap(({ fromEnv = [] }) => fromEnv);

/**
 * JSON as it may be shown: every value that came from the environment stands as the reference that it came from,
 * wherever it ended up, also inside longer texts, in keys and as a number. What matters is where a value came from,
 * not what the key above it is called.
 */
export function hideEnv<T extends Json>(shown: T, from: readonly EnvValue[]): T {
  const values = spellings(from);
  if (values.length === 0) return shown;
  const text = (original: string): string => {
    let clean = original;
    for (const { reference, value } of values) {
      if (clean === value) return reference;
      if (value.length >= MIN_INSIDE) clean = clean.replaceAll(value, () => reference);
    }
    return clean;
  };
  const walk = (value: Json): Json => {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'number') {
      const hidden = values.find((each) => each.value === String(value));
      return hidden === undefined ? value : hidden.reference;
    }
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), walk(inner)]));
  };
  return walk(shown) as T;
}

/** Each value as it may be written in a manifest, longest first: as it was set, escaped, trimmed, or part of an address. */
function spellings(
  from: readonly EnvValue[],
): readonly { readonly reference: string; readonly value: string }[] {
  const found = new Map<string, string>();
  for (const { name, value } of from) {
    const reference = `\${${name}}`;
    const escaped = value.replace(/\$+(?=\{)/g, (dollars) => dollars + dollars);
    for (const each of [value, escaped, value.trim(), encoded(value)])
      if (each !== '' && !found.has(each)) found.set(each, reference);
    const number = Number(value);
    if (value.trim() !== '' && Number.isFinite(number)) found.set(String(number), reference);
  }
  return [...found]
    .map(([value, reference]) => ({ value, reference }))
    .sort((one, other) => other.value.length - one.value.length);
}

function encoded(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    return value; // a lone surrogate cannot be encoded
  }
}
