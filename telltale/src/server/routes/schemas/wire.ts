import { z } from '@hono/zod-openapi';
import type { Page } from '../../../client/api.ts';
import type { Json, JsonObject } from '../../../kernel/json.ts';

/** A schema for each key of a wire type, no more and no less: what the document says is what the client's types say. */
export type Shape<Wire> = {
  readonly [Key in keyof Wire]-?: object extends Pick<Wire, Key>
    ? z.ZodType<Wire[Key] | undefined>
    : z.ZodType<Wire[Key]>;
};

/** The schema of what the server answers with: named in the document, and never run. */
export const answered = <Wire>(name: string, shape: Shape<Wire>): z.ZodType<Wire> =>
  z.object(shape).openapi(name) as unknown as z.ZodType<Wire>;

/** A part of one, which has no name. */
export const part = <Wire>(shape: Shape<Wire>): z.ZodType<Wire> =>
  z.object(shape) as unknown as z.ZodType<Wire>;

/** The schema of what a request's body is held against. A key that it does not know is a mistake. */
export const asked = <Wire>(name: string, shape: Shape<Wire>): z.ZodType<Wire> =>
  z.strictObject(shape).openapi(name) as unknown as z.ZodType<Wire>;

export const pageOf = <Item>(name: string, item: z.ZodType<Item>): z.ZodType<Page<Item>> =>
  answered<Page<Item>>(name, {
    items: z.array(item),
    next: z
      .string()
      .optional()
      .openapi({ description: 'The cursor of the part behind it; absent at the end.' }),
  });

/** Whatever JSON can say: it has been parsed already. */
export const json = z.unknown().openapi({ description: 'Any JSON.' }) as unknown as z.ZodType<Json>;

export const jsonObject = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>;

export const text = z.string();

/** Milliseconds since the Unix epoch. */
export const time = z.number().openapi({ description: 'Milliseconds since the Unix epoch.' });

export const count = z.int().nonnegative();

export const role = z.enum(['read', 'run', 'admin']);

const DIGITS = /^\d{1,15}$/;

/** A whole number in a path or behind a `?`. */
export const wholeNumber = (most: number, description: string, least = 0) =>
  z
    .string()
    .regex(DIGITS, 'is no whole number')
    .transform(Number)
    .pipe(z.number().min(least).max(most))
    .openapi({ type: 'integer', minimum: least, maximum: most, description });

/** Several words in one parameter, with commas between them. */
export const oneOrMore = <Word extends string>(words: readonly [Word, ...Word[]], description: string) =>
  z
    .string()
    .transform((given) => given.split(','))
    .pipe(z.array(z.enum(words)))
    .openapi({
      param: { style: 'form', explode: false },
      type: 'array',
      items: { type: 'string', enum: [...words] },
      description,
    });

/** Of a path such as `/sessions/{id}`. */
export const byId = z.object({ id: z.string().openapi({ description: 'The id of it.' }) });
