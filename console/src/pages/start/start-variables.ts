import type { Json, JsonObject } from '../../../../telltale/src/lib/json.ts';
import { isJsonObject } from '../../../../telltale/src/lib/json.ts';

/** A variable that can be set at the start. */
export interface StartVariable {
  readonly name: string;
  readonly value: string;
  /** Description and default from the manifest. */
  readonly description?: string;
  readonly fallback?: string;
  readonly declared: boolean;
}

/** The variables that a manifest declares, except derived ones. */
export function declaredVariables(manifest: JsonObject | null): readonly StartVariable[] {
  const declared = manifest?.context_variables;
  if (!isJsonObject(declared)) return [];
  return ['defined', 'runtime'].flatMap((kind) => {
    const list = declared[kind];
    return Array.isArray(list) ? list.flatMap(variableOf) : [];
  });
}

function variableOf(one: Json): readonly StartVariable[] {
  if (!isJsonObject(one) || typeof one.name !== 'string') return [];
  const { name, description, default: fallback } = one;
  return [
    {
      name,
      value: '',
      declared: true,
      ...(typeof description === 'string' ? { description } : {}),
      ...(fallback === undefined ? {} : { fallback: JSON.stringify(fallback) }),
    },
  ];
}

/** The typed values: parsed if they are JSON, otherwise text. Empty ones are omitted. */
export function readVariables(variables: readonly StartVariable[]): JsonObject {
  const given = variables.filter(({ name, value }) => name.trim() !== '' && value.trim() !== '');
  return Object.fromEntries(given.map(({ name, value }) => [name.trim(), readValue(value)]));
}

function readValue(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
