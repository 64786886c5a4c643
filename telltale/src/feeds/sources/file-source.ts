import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import { abortError } from '../../tools/abort.ts';
import { needForPath } from '../../tools/access/approval-need.ts';
import { openChecked, type PermittedPath } from '../../tools/access/permitted-paths.ts';
import { notRegular } from '../../tools/builtin/filesystem/text-file.ts';
import { compileCheck } from '../../tools/check-parameters.ts';
import type { FeedSource, SourceCall } from '../feed.ts';
import { MAX_FEED_VALUE } from '../max-feed-value.ts';
import { badParams, cutNote, needsApproval, notText, type SourceDeps, sourceFailed } from './source.ts';

export type FileSource = Extract<FeedSource, { readonly type: 'file' | 'repo' }>;

/** Bytes of a file that are shown. */
const MAX_SHOWN = MAX_FEED_VALUE - 1024;
/** How far into a file its lines are counted. */
const MAX_SCANNED = 64 * 1024 * 1024;
const CHUNK = 64 * 1024;
const NEWLINE = 10;

const PARAMS = {
  type: 'object',
  properties: { lines: { type: ['string', 'integer'] } },
  additionalProperties: false,
};

/** Compiled once a process, when it is first needed. */
export const checkFileParams = compileCheck(PARAMS, 'a file source');

/** A text file, or lines of it. Of a large one no more is read than can be shown. */
export function createFileSource(deps: SourceDeps) {
  return async (source: FileSource, { feed, params, signal }: SourceCall): Promise<Json> => {
    const wrong = checkFileParams(params);
    if (wrong !== undefined) throw wrong;
    const range = params.lines === undefined ? undefined : readRange(String(params.lines));
    const what = `feed "${feed.id}"`;
    return readText(await permitted(source.name, what, deps), range, signal);
  };
}

/** A path that may be read without asking. */
export async function permitted(
  path: string,
  what: string,
  { targets }: Pick<SourceDeps, 'targets'>,
): Promise<PermittedPath> {
  const { paths } = targets.deps.permissions;
  const need = await needForPath(paths, path, what, 'read');
  if (need !== undefined) throw needsApproval(what, need.what, need.because);
  return paths.resolve(path);
}

interface LineRange {
  readonly first: number;
  readonly last: number;
}

/** `1-80`, `80-`, `12`. */
function readRange(text: string): LineRange {
  const [, first, dash, last] = /^\s*(\d{1,9})\s*(?:(-)\s*(\d{1,9})?)?\s*$/.exec(text) ?? [];
  const range = {
    first: Number(first),
    last: dash === undefined ? Number(first) : last === undefined ? Number.POSITIVE_INFINITY : Number(last),
  };
  if (first !== undefined && range.first >= 1 && range.last >= range.first) return range;
  throw badParams(
    'a file source',
    `"/lines" is "${text.slice(0, 60)}", which names no lines.`,
    'Write it like "1-80", "80-" or "12"; lines count from 1.',
  );
}

async function readText(
  { real, shown }: PermittedPath,
  range: LineRange | undefined,
  signal: AbortSignal,
): Promise<string> {
  try {
    await using handle = await openChecked(real, shown, constants.O_RDONLY);
    const stats = await handle.stat();
    if (stats.isDirectory()) throw isFolder(shown);
    if (!stats.isFile()) throw notRegular(shown);
    const { bytes, isWhole } = await readBytes(handle, range, shown, signal);
    const text = decode(bytes, shown);
    if (isWhole) return text;
    return `${text}\n${range === undefined ? cutNote(stats.size - bytes.length) : '… [cut: the lines go on]'}`;
  } catch (thrown) {
    throw sourceFailed(shown, thrown);
  }
}

/** The lines of the range, all if there is none; not whole where there is more of them than is shown. */
async function readBytes(
  handle: FileHandle,
  range: LineRange = { first: 1, last: Number.POSITIVE_INFINITY },
  shown: string,
  signal: AbortSignal,
): Promise<{ readonly bytes: Buffer; readonly isWhole: boolean }> {
  const kept: Buffer[] = [];
  const all = (isWhole: boolean) => ({ bytes: Buffer.concat(kept), isWhole });
  let room = MAX_SHOWN;
  let skip = range.first - 1;
  let wanted = range.last - skip;
  for (let position = 0; wanted > 0; ) {
    if (signal.aborted) throw abortError(`the file "${shown}"`, signal);
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK), 0, CHUNK, position);
    if (bytesRead === 0) return all(true);
    position += bytesRead;
    if (position > MAX_SCANNED) throw tooFar(shown);
    const chunk = buffer.subarray(0, bytesRead);
    const before = behindLines(chunk, skip);
    skip -= before.lines;
    if (skip > 0) continue;
    const rest = chunk.subarray(before.at);
    const { at, lines } = behindLines(rest, wanted);
    wanted -= lines;
    kept.push(rest.subarray(0, Math.min(at, room)));
    if (at > room) return all(false);
    room -= at;
  }
  return all(true);
}

/** Where so many lines have ended, or the chunk has, and how many lines that were. */
function behindLines(chunk: Buffer, count: number): { readonly at: number; readonly lines: number } {
  if (count === Number.POSITIVE_INFINITY) return { at: chunk.length, lines: 0 };
  let at = 0;
  for (let lines = 0; lines < count; lines++) {
    const newline = chunk.indexOf(NEWLINE, at);
    if (newline === -1) return { at: chunk.length, lines };
    at = newline + 1;
  }
  return { at, lines: count };
}

/** Undecodable bytes at the very end may be half of a character that was cut. */
function decode(bytes: Buffer, shown: string): string {
  if (bytes.includes(0)) throw notText(`The file "${shown}"`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: bytes.length >= MAX_SHOWN });
  } catch {
    throw notText(`The file "${shown}"`);
  }
}

const isFolder = (shown: string) =>
  new RuntimeError('file_failed', `"${shown}" is a folder.`, {
    hint: 'A source of type "repo" shows a folder with its files.',
  });

const tooFar = (shown: string) =>
  new RuntimeError(
    'file_too_large',
    `The lines lie more than ${MAX_SCANNED} bytes into "${shown}", which is as far as they are counted.`,
    {
      hint: 'Name lines further up, or have a tool read the file from its end.',
    },
  );
