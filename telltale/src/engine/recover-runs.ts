import { decodeRunEvent } from '../events/run-codec.ts';
import type { Store, StreamInfo } from '../store/store.ts';
import type { Engine } from './engine.ts';

/** Logs that are looked at side by side. */
const LOOKS = 32;

/**
 * Places every run that was alive when the last process stopped, and gives their names: those that were in hand, then
 * those whose time has come, then those that wait, each oldest first. Also the last are looked at, since a message may
 * have come meanwhile; their work says for how long they go on waiting. A run that a living process has is left to it.
 */
export async function recoverRuns(engine: Engine, store: Store, now: number): Promise<readonly string[]> {
  const alive = await store.list({ kind: 'run', status: ['running', 'waiting'] });
  const left = alive.filter(({ owner }) => owner === undefined).reverse();
  const ranked = await inTurn(left, async (info) => ({
    stream: info.stream,
    rank: await rankOf(store, info, now),
  }));
  const ordered = ranked.sort((one, other) => one.rank - other.rank).map(({ stream }) => stream);
  for (const stream of ordered) engine.place('run', stream);
  return ordered;
}

/** 0: it was in hand. 1: what it waited for has come due. 2: it waits. */
async function rankOf(store: Store, { stream, status, head }: StreamInfo, now: number): Promise<number> {
  if (status === 'running' || head === 0) return 0;
  const [line] = await store.read(stream, { from: head, limit: 1 });
  const due = line === undefined ? undefined : dueIn(line, stream);
  return due === undefined || due <= now ? 1 : 2;
}

/** Until when a run waits whose log ends with this line; undefined where it does not wait, or nobody can read it. */
function dueIn(line: string, run: string): number | undefined {
  try {
    const last = decodeRunEvent(line, run);
    return last.type === 'workflow.waiting' ? (last.due ?? Number.POSITIVE_INFINITY) : undefined;
  } catch {
    return undefined; // whoever works on it finds out, and says so
  }
}

async function inTurn<In, Out>(all: readonly In[], ask: (each: In) => Promise<Out>): Promise<Out[]> {
  const answers: Out[] = [];
  for (let at = 0; at < all.length; at += LOOKS)
    answers.push(...(await Promise.all(all.slice(at, at + LOOKS).map(ask))));
  return answers;
}
