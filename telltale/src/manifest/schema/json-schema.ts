import { z } from 'zod';
import type { JsonObject } from '../../kernel/json.ts';
import { KINDS, type ManifestKind } from './kinds.ts';

export interface JsonSchemaOptions {
  /** Keeps `expects`, the words that error messages use for what a value must be; no keyword of JSON Schema. */
  readonly expects?: boolean;
}

/** The JSON Schema (2020-12) of a kind, for editors: made from the same definitions that `checkManifest` uses. */
export function manifestJsonSchema(
  kind: ManifestKind,
  { expects = false }: JsonSchemaOptions = {},
): JsonObject {
  const { $schema, ...rest } = z.toJSONSchema(KINDS[kind](), {
    io: 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (!expects) delete jsonSchema.expects;
    },
  });
  const schema = { $schema, $id: `urn:telltale:schema:${kind}`, title: `Telltale ${kind}`, ...rest };
  return JSON.parse(JSON.stringify(schema)) as JsonObject;
}
