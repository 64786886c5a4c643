import type { Json } from '../../../kernel/json.ts';
import { outputTooLarge } from '../../output/output-limits.ts';

/** What the server says: numbers as digits, texts as bytes. */
export type Reply = null | string | Uint8Array | readonly Reply[];

const MAX_REPLY_BYTES = 4 * 1024 * 1024;

/** As JSON: bytes are read as UTF-8, a number beyond 2^53 stays text. */
export function replyJson(what: string, reply: Reply): Json {
  if (bytesOf(reply) > MAX_REPLY_BYTES) throw outputTooLarge(what, MAX_REPLY_BYTES);
  return convert(reply);
}

const bytesOf = (reply: Reply): number =>
  reply === null
    ? 0
    : Array.isArray(reply)
      ? (reply as readonly Reply[]).reduce((sum, each) => sum + bytesOf(each), 0)
      : (reply as string | Uint8Array).length;

function convert(reply: Reply): Json {
  if (reply === null) return null;
  if (reply instanceof Uint8Array) return Buffer.from(reply).toString('utf8');
  if (typeof reply !== 'string') return (reply as readonly Reply[]).map(convert);
  const number = /^-?\d+$/.test(reply) ? Number(reply) : Number.NaN;
  return Number.isSafeInteger(number) ? number : reply;
}
