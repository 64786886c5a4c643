import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { decodeEvent } from '../../../src/log/codec.ts';
import type { SessionEvent } from '../../../src/log/event.ts';
import type { Model } from '../../../src/models/model.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { Store, StreamHead } from '../../../src/store/store.ts';
import { responsesOf } from '../../recovery/check-survival.ts';
import { readJournal } from '../../recovery/scene.ts';
import { checkFamily, lineOf, makeFamily } from './lab-family.ts';

const SIDE_BY_SIDE = 8;
const TIMEOUT_MS = 60_000;
const WHOLE = 'whole';

/** `pause` lets everything else have its turn between a few characters, so that the log is written in many pieces. */
const model = (pause: boolean): Model => ({
  id: 'scripted:family',
  async stream(request, sink) {
    const text = lineOf(request);
    for (let at = 0; at < text.length; at += 8) {
      if (pause) await new Promise((resolve) => setImmediate(resolve));
      sink.text(text.slice(at, at + 8));
    }
    return { finish: 'stop', usage: { input: 10, output: 5 } };
  },
});

interface Cut {
  readonly parent: number;
  readonly child: number;
}

/** A store that notes where appends of each stream end: where a kill can leave its log. */
function noting(store: Store): { readonly store: Store; readonly boundaries: Map<string, number[]> } {
  const boundaries = new Map<string, number[]>();
  const begin = (stream: string, head: StreamHead) => {
    const { writer, made } = store.begin(stream, head);
    const ends: number[] = [];
    boundaries.set(stream, ends);
    const noted: typeof writer = {
      ...writer,
      append(append, settled) {
        ends.push(append.expectedSeq + append.events.length);
        writer.append(append, settled);
      },
    };
    return { writer: noted, made };
  };
  return { store: { ...store, begin }, boundaries };
}

/** Every pair of prefixes that a kill can leave: nothing is on either log before what brought it about. */
function cutsOf(
  boundaries: ReadonlyMap<string, readonly number[]>,
  parent: readonly SessionEvent[],
  child: readonly SessionEvent[],
): Cut[] {
  const started = parent.find((event) => event.type === 'action.started' && event.id === 'a1')?.seq ?? 0;
  const ended = parent.find((event) => event.type === 'action.completed' && event.id === 'a1')?.seq ?? 0;
  const cuts: Cut[] = [];
  for (const p of (boundaries.get(WHOLE) ?? []).slice(0, -1))
    for (const c of [0, ...(boundaries.get(`${WHOLE}.a1`) ?? [])]) {
      const copied = parent.slice(0, p).findLast((event) => 'child' in event);
      const least =
        p >= ended ? child.length : copied !== undefined && 'child' in copied ? copied.child.seq : 0;
      if (c >= least && (c === 0 || p >= started)) cuts.push({ parent: p, child: c });
    }
  return cuts;
}

describe('the logs of an agent and of one that it calls', () => {
  it(
    'that end behind any of their appends are taken up there together, and come to the same end',
    async () => {
      const folder = makeFamily('no model');
      const agent = await loadAgent('agent.yml', { cwd: folder });
      const { store, boundaries } = noting(createMemoryStore({ clock: createSystemClock() }));
      const runtime = await createRuntime({ store, cwd: folder });
      await runtime.start(agent, { input: 'Do all of it.', id: WHOLE, model: model(true) }).result;
      const logs = [await runtime.events(WHOLE), await runtime.events(`${WHOLE}.a1`)] as const;
      const lines = [await store.read(WHOLE), await store.read(`${WHOLE}.a1`)] as const;
      const undisturbed = { parent: responsesOf(logs[0]), child: responsesOf(logs[1]) };
      const cuts = cutsOf(boundaries, ...logs);
      expect(cuts.length).toBeGreaterThan(100);

      const wrong: string[] = [];
      const survive = async (cut: Cut) => {
        const id = `from_${cut.parent}_${cut.child}`;
        const named = (line: string) => line.replaceAll(`"${WHOLE}`, `"${id}`);
        const left = {
          parent: lines[0].slice(0, cut.parent).map(named),
          child: lines[1].slice(0, cut.child).map(named),
        };
        await leave(store, id, left.parent);
        if (cut.child > 0) await leave(store, `${id}.a1`, left.child, id);
        const session = await runtime.resume(id, { agent, model: model(false) });
        await session.result;
        const parent = await runtime.events(id);
        const child = await runtime.events(`${id}.a1`);
        try {
          checkFamily({
            id,
            before: {
              parent: left.parent.map((line) => decodeEvent(line, id)),
              child: left.child.map((line) => decodeEvent(line, `${id}.a1`)),
            },
            parent,
            child,
            journal: readJournal(folder),
            isCopied: true,
            undisturbed,
          });
        } catch (thrown) {
          const tail = (log: readonly SessionEvent[], from: number) =>
            log
              .slice(from)
              .map((event) => JSON.stringify(event).slice(0, 200))
              .join('\n');
          wrong.push(
            `behind ${cut.parent} and ${cut.child}: ${(thrown as Error).message}\n${tail(parent, cut.parent)}\n\n${tail(child, cut.child)}`,
          );
        }
      };
      const worker = async () => {
        for (let cut = cuts.shift(); cut !== undefined; cut = cuts.shift()) await survive(cut);
      };
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
      await runtime.close();
      rmSync(folder, { recursive: true });
      expect(wrong.slice(0, 2)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

/** Leaves a stream as a killed process did. */
async function leave(store: Store, id: string, events: readonly string[], parent?: string): Promise<void> {
  const writer = await store.create(id, {
    kind: 'session',
    name: 'lab',
    status: 'running',
    title: '',
    ...(parent === undefined ? {} : { parent }),
  });
  await new Promise<void>((resolve, reject) =>
    writer.append({ expectedSeq: 0, events }, (error) => (error === undefined ? resolve() : reject(error))),
  );
  await writer.release();
}
