import type { RuntimeError } from '../../../kernel/runtime-error.ts';
import { nameMalformed } from '../../store-errors.ts';
import { isAppend, type Write } from './split-group.ts';

/** Two of them, and what stands beside them, are below the 2,704 bytes of an index entry. 1,024 letters of ASCII fit. */
const MAX_NAME_BYTES = 1_250;

/** Why PostgreSQL could not keep what a write names. */
export function checkWrite(write: Write): RuntimeError | undefined {
  if (isAppend(write)) {
    for (const [table, key] of write[7] ?? []) {
      const why = tooLong('A table', table) ?? tooLong('A key', key);
      if (why !== undefined) return why;
    }
    return undefined;
  }
  switch (write.op) {
    case 'create':
      return (
        tooLong('A stream', write.stream) ??
        tooLong('The name of what a stream is of', write.head.name) ??
        tooLong('The parent of a stream', write.head.parent ?? '') ??
        (write.first === null ? undefined : checkWrite(write.first))
      );
    case 'set':
    case 'delete':
    case 'increment':
      return tooLong('A table', write.table) ?? tooLong('A key', write.key);
    case 'exchange':
      for (const [table, key] of [...write.expected, ...write.writes]) {
        const why = tooLong('A table', table) ?? tooLong('A key', key);
        if (why !== undefined) return why;
      }
      return undefined;
    case 'push':
    case 'enter':
      return tooLong('A list', write.list);
    case 'acquire':
    case 'dissolve':
    case 'release':
    case 'snapshot':
    case 'send':
    case 'settle':
    case 'remove':
      return undefined;
  }
}

function tooLong(what: string, name: string): RuntimeError | undefined {
  if (name.length <= MAX_NAME_BYTES / 3) return undefined;
  const bytes = Buffer.byteLength(name);
  if (bytes <= MAX_NAME_BYTES) return undefined;
  return nameMalformed(what, `${bytes} bytes of UTF-8 long (PostgreSQL keeps ${MAX_NAME_BYTES})`);
}
