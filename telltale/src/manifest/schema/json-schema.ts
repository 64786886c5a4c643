import { z } from 'zod';
import type { JsonObject } from '../../kernel/json.ts';
import { schemaWithOtherNames } from '../other-names.ts';
import { allowEnvironment } from './allow-environment.ts';
import { KINDS, type ManifestKind } from './kinds.ts';

export interface JsonSchemaOptions {
  /** For the reference: with `expects`, the words of error messages for what a value must be, and no `${NAME}` in its place. */
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
  const plain = JSON.parse(JSON.stringify(schema)) as JsonObject;
  return expects ? plain : allowEnvironment(schemaWithOtherNames(plain));
}
