import type { AppendOp, WriteRequest } from '../../grouped/messages.ts';

export type Write = AppendOp | WriteRequest;

/** What is sent in one call: the writes of a group at places `from` to `to`. */
export interface Part {
  readonly from: number;
  readonly to: number;
}

/** Of the server's memory for a call, and of the locks that it holds: every key that is written has one. */
const MAX_CHARS = 4 * 1024 * 1024;
const MAX_WRITES = 5_000;
const MAX_REQUESTS = 500;

export function isAppend(item: Write): item is AppendOp {
  return Array.isArray(item);
}

/** Cuts a group into what one call takes: mostly one part. */
export function splitGroup(writes: readonly Write[]): readonly Part[] {
  const parts: Part[] = [];
  let [from, chars, requests] = [0, 0, 0];
  for (const [place, item] of writes.entries()) {
    const size = sizeOf(item);
    const isRequest = !isAppend(item) || item[7] !== null;
    const isFull =
      chars + size > MAX_CHARS || place - from >= MAX_WRITES || (isRequest && requests >= MAX_REQUESTS);
    if (isFull && place > from) {
      parts.push({ from, to: place });
      [from, chars, requests] = [place, 0, 0];
    }
    chars += size;
    if (isRequest) requests++;
  }
  if (writes.length > from) parts.push({ from, to: writes.length });
  return parts;
}

function sizeOf(item: Write): number {
  if (isAppend(item)) return item[4].length;
  if (item.op === 'create') return item.first?.[4].length ?? 0;
  if (item.op === 'snapshot') return item.body.length;
  if (item.op === 'send') return item.message.length;
  if (item.op === 'settle') return item.messages.reduce((sum, [, message]) => sum + message.length, 0);
  if (item.op === 'enter') return item.entries.reduce((sum, [, value]) => sum + value.length, 0);
  return 'value' in item ? item.value.length : 0;
}
