import { relative } from 'node:path';
import type { Io } from '../io.ts';
import { shellWord } from '../usage.ts';

/** The command that goes on with a conversation, up to the id of its session. */
export function chatAgain(manifest: string, { cwd }: Pick<Io, 'cwd'>): string {
  const near = relative(cwd, manifest);
  return `chat ${shellWord(near.startsWith('..') || near === '' ? manifest : near)} --resume`;
}
