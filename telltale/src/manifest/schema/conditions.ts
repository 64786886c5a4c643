import { z } from 'zod';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { checkConditions } from './checks/check-conditions.ts';
import { finding } from './finding.ts';

/** A condition map, read by the condition language when the manifest is checked; the manifest keeps it as written. */
export const conditions = (description: string) =>
  z
    .record(
      z.string(),
      z.custom<Json>(() => true),
    )
    .check((ctx) => {
      for (const { path, ...found } of checkConditions(ctx.value as JsonObject))
        ctx.issues.push(finding(ctx.value, found, path));
    })
    .transform((value): JsonObject => value)
    .register(z.globalRegistry, { description, expects: 'a map of conditions' });
