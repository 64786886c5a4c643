import type { AppendOp, WriteRequest } from '../../grouped/messages.ts';
import { isAppend } from './run-group.ts';

/** About how much a group puts into the WAL: the texts of its writes. Names and keys count little. */
export function writtenChars(writes: readonly (AppendOp | WriteRequest)[]): number {
  let chars = 0;
  for (const write of writes) chars += isAppend(write) ? appended(write) : requested(write);
  return chars;
}

function appended([, , , , body, , , writes]: AppendOp): number {
  return writes === null ? body.length : body.length + valuesOf(writes);
}

function requested(request: WriteRequest): number {
  switch (request.op) {
    case 'create':
      return request.first === null ? 0 : appended(request.first);
    case 'snapshot':
      return request.body.length;
    case 'send':
      return request.message.length;
    case 'set':
    case 'push':
      return request.value.length;
    case 'exchange':
      return valuesOf(request.writes);
    case 'settle':
      return request.messages.reduce((sum, [, message]) => sum + message.length, 0);
    case 'enter':
      return request.entries.reduce((sum, [, value]) => sum + value.length, 0);
    case 'acquire':
    case 'dissolve':
    case 'release':
    case 'delete':
    case 'increment':
    case 'remove':
      return 0;
  }
}

const valuesOf = (writes: readonly (readonly [string, string, string | null, ...unknown[]])[]): number =>
  writes.reduce((sum, [, , value]) => sum + (value?.length ?? 0), 0);
