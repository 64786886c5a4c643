import type { Json } from '../../lib/json.ts';

/** A variable that was inserted into a document, and its value. */
export interface EnvValue {
  readonly name: string;
  readonly value: string;
}

/** Shorter values occur in other texts by chance, so they are hidden only if they are the whole text. */
const MIN_INSIDE = 3;

/** A manifest that knows which variables were inserted into it. */
export interface FromEnv {
  readonly fromEnv?: readonly EnvValue[];
}

/** Everything that was inserted into these manifests. */
export const envOf = (manifests: readonly FromEnv[]): readonly EnvValue[] =>
  manifests.flatMap(({ fromEnv = [] }) => fromEnv);

/**
 * Makes JSON safe to show: every value from the environment appears as its reference, wherever it ended up, even inside
 * longer texts, in keys and as a number. It goes by where a value came from, not by the name of its key.
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

/**
 * The ways in which a manifest may contain a value, longest first: as it is, escaped, trimmed, or as part of an
 * address.
 */
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
    return value; // A lone surrogate cannot be encoded.
  }
}
