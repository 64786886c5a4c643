import { z } from 'zod';
import type { Json, JsonObject } from '../../kernel/json.ts';

/** Any JSON value; depth and size have been bounded for the whole document before schemas see it. */
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
