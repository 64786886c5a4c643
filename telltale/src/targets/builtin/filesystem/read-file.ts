import type { Json } from '../../../kernel/json.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import type { PermittedPath } from '../../access/permitted-paths.ts';
import { readTextFile } from './text-file.ts';

const DEFAULT_LINES = 2_000;
/** Characters of one result. */
const MAX_READ_CHARS = 256 * 1024;

/** Lines of a text file from `offset` (1 is the first) on; says where to go on if there are more. */
export async function readLines(
  path: PermittedPath,
  { offset = 1, limit = DEFAULT_LINES }: { readonly offset?: number; readonly limit?: number },
): Promise<Json> {
  const text = await readTextFile(path);
  const lines = text.split('\n');
  const count = text === '' ? 0 : text.endsWith('\n') ? lines.length - 1 : lines.length;
  if (offset > Math.max(1, count)) throw pastTheEnd(path.shown, offset, count);
  const wanted: string[] = [];
  let chars = 0;
  for (let at = offset - 1; at < Math.min(count, offset - 1 + limit); at++) {
    const line = lines[at] ?? '';
    chars += line.length + 1;
    if (chars > MAX_READ_CHARS) {
      if (wanted.length === 0)
        wanted.push(`${line.slice(0, MAX_READ_CHARS)}… [the line has ${line.length} characters]`);
      break;
    }
    wanted.push(line);
  }
  const next = offset + wanted.length;
  return {
    path: path.shown,
    content: wanted.join('\n') + (next > count && text.endsWith('\n') ? '\n' : ''),
    lines: count,
    ...(next <= count ? { next_offset: next } : {}),
  };
}

const pastTheEnd = (shown: string, offset: number, count: number) =>
  new RuntimeError('bad_parameters', `"${shown}" has ${count} lines, so there is no line ${offset}.`, {
    hint: 'Lines count from 1.',
  });
