import { z } from '@hono/zod-openapi';
import type { Page } from '../../client/api.ts';
import { badCursor } from './bad-request.ts';
import { wholeNumber } from './schemas/wire.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
const MAX_CURSOR = 500;

/** Of every list: `?cursor=…&limit=…`. */
export const pageQuery = {
  cursor: z
    .string()
    .max(MAX_CURSOR)
    .optional()
    .openapi({ description: '`next` of the page before; absent for the first.' }),
  limit: wholeNumber(MAX_LIMIT, `Items at the most; ${DEFAULT_LIMIT} by default.`, 1).optional(),
};

export interface AskedPage {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/**
 * A part of a list of which one item more than asked for is read, to know whether there are more. The cursor is a place
 * in the list, not a number of items: what is put in front meanwhile moves nothing.
 */
export async function pageOf<Item, Place extends readonly (string | number)[]>(
  { cursor, limit = DEFAULT_LIMIT }: AskedPage,
  place: z.ZodType<Place>,
  read: (behind: Place | undefined, limit: number) => Promise<readonly Item[]>,
  placeOf: (item: Item) => Place,
): Promise<Page<Item>> {
  const found = await read(cursor === undefined ? undefined : decodeCursor(cursor, place), limit + 1);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return found.length > limit && last !== undefined
    ? { items, next: encodeCursor(placeOf(last)) }
    : { items };
}

const encodeCursor = (place: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(place)).toString('base64url');

function decodeCursor<Place>(cursor: string, place: z.ZodType<Place>): Place {
  let decoded: unknown;
  try {
    decoded = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    throw badCursor(cursor);
  }
  const read = place.safeParse(decoded);
  if (!read.success) throw badCursor(cursor);
  return read.data;
}

export const textPlace = z.tuple([z.string()]);
export const numberPlace = z.tuple([z.int()]);
