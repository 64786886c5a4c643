import { z } from 'zod';
import type { Json, JsonObject } from '../../lib/json.ts';
import { checkUserSchema } from './user-schemas/check-user-schema.ts';
import { finding } from './values.ts';

/** A user's JSON Schema (draft 2020-12), compiled when the manifest is checked. */
export const userSchema = (description: string) =>
  z
    .record(
      z.string(),
      z.custom<Json>(() => true),
    )
    .check((ctx) => {
      for (const { path, ...found } of checkUserSchema(ctx.value))
        ctx.issues.push(finding(ctx.value, found, path));
    })
    .transform((value): JsonObject => value)
    .register(z.globalRegistry, { description, expects: 'a JSON Schema, which is a map' });
