import { randomInt, randomUUID } from 'node:crypto';
import type { Json, JsonObject } from '../../../kernel/json.ts';
import { badParams } from '../feed-errors.ts';

/** What `randomInt` takes. */
const MAX_SPAN = 2 ** 48 - 1;

/** One of `choices`, a `uuid`, or a number from `min` to `max`: a whole one where both are, unless `integer` says. */
export function randomValue(params: JsonObject): Json {
  const { min, max, integer, choices, uuid } = params;
  const ways = [choices, uuid, min ?? max ?? integer].filter((way) => way !== undefined);
  if (ways.length > 1)
    throw wrong('it asks for several things at once.', 'Give "choices", "uuid", or "min" and "max".');
  if (Array.isArray(choices)) return choices[randomInt(choices.length)] ?? null;
  if (uuid !== undefined) return randomUUID();
  const low = Number(min ?? 0);
  const high = Number(max ?? low + 1);
  if (low > high) throw wrong(`"/min" is ${low}, above "/max", which is ${high}.`, 'Swap them.');
  const areWhole = min !== undefined && max !== undefined && Number.isInteger(low) && Number.isInteger(high);
  if (!(integer ?? areWhole)) return low + Math.random() * (high - low);
  const [first, last] = [Math.ceil(low), Math.floor(high)];
  if (first > last) throw wrong(`there is no whole number from ${low} to ${high}.`, 'Widen the range.');
  if (last - first >= MAX_SPAN) throw wrong('the range is too wide.', 'Whole numbers: 2^48 of them at most.');
  return first + randomInt(last - first + 1);
}

const wrong = (message: string, hint: string) => badParams('the internal source "random"', message, hint);
