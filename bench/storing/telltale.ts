import { createSystemClock } from '../../telltale/src/lib/clock.ts';
import { createMemoryStore } from '../../telltale/src/store/memory/memory-store.ts';
import { openSqliteStore } from '../../telltale/src/store/sqlite/open-sqlite-store.ts';
import type { Store, StreamWriter } from '../../telltale/src/store/store.ts';
import { type Contestant, event } from './contestant.ts';

const clock = createSystemClock();

export async function createOurs(path: string, sessions: number): Promise<Contestant> {
  const store = await openSqliteStore({ path, clock, pid: process.pid, durability: 'power' });
  return contest('telltale, SQLite', store, sessions);
}

export function createOursInMemory(sessions: number): Promise<Contestant> {
  return contest('telltale, memory', createMemoryStore({ clock }), sessions);
}

/** Sessions as they are: each appends when its last append is settled. */
async function contest(name: string, store: Store, sessions: number): Promise<Contestant> {
  const head = { kind: 'session', name: 'bench', status: 'running', title: 'bench' } as const;
  const heads = new Map<StreamWriter, number>();
  for (let n = 0; n < sessions; n++) heads.set(await store.create(`s${n}`, head), 0);
  const writers = [...heads.keys()];

  const session = async (writer: StreamWriter, count: number, latencies: number[]) => {
    for (let n = 0; n < count; n++) {
      const expectedSeq = heads.get(writer)!;
      const started = performance.now();
      await new Promise<void>((resolve, reject) => {
        writer.append({ expectedSeq, events: [event(expectedSeq + 1)] }, (error) =>
          error === undefined ? resolve() : reject(error),
        );
      });
      latencies.push(performance.now() - started);
      heads.set(writer, expectedSeq + 1);
    }
  };

  return {
    name,
    async together(each) {
      const latencies: number[] = [];
      await Promise.all(writers.map((writer) => session(writer, each, latencies)));
      return latencies;
    },
    async alone(count) {
      const latencies: number[] = [];
      await session(writers[0]!, count, latencies);
      return latencies;
    },
    async count() {
      let found = 0;
      for (const { stream } of writers) {
        const events = await store.read(stream);
        const inOrder = events.every((line, n) => (JSON.parse(line) as { seq: number }).seq === n + 1);
        if (inOrder) found += events.length;
      }
      return found;
    },
    close: () => store.close(),
  };
}
