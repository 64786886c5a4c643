import type { Clock } from '../../src/lib/clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { createMemoryHome, type MemoryStream } from '../../src/store/memory/memory-tables.ts';
import type { Orphan, SharedStore } from '../../src/store/shared-store.ts';
import type { Store, StreamOwner, StreamWriter } from '../../src/store/store.ts';

/** Several machines over one store in memory, with leases that somebody else renews. */
export function createMemoryFleet(clock: Clock, leaseMs = 7_500) {
  const home = createMemoryHome();
  const moved = new Set<() => void>();
  /** By stream; whoever simulates them counts. */
  const deaths = new Map<string, number>();
  /** By pid, when it last gave a sign of life, or who knows. */
  const signs = new Map<number, number | (() => number)>();
  const isAlive = (pid: number) => {
    const sign = signs.get(pid) ?? Number.NEGATIVE_INFINITY;
    return clock.now() - (typeof sign === 'number' ? sign : sign()) < leaseMs;
  };
  const tell = () => {
    for (const each of [...moved]) each();
  };

  const rootOf = (stream: string, depth = 0): string => {
    const parent = home.streams.get(stream)?.head.parent;
    return parent === undefined || depth > 32 ? stream : rootOf(parent, depth + 1);
  };
  const isOrphan = ({ owner, status, due, inbox }: MemoryStream) => {
    if (owner !== undefined && isAlive(owner.pid)) return false;
    if (status === 'running') return true;
    return status === 'waiting' && ((due !== undefined && due <= clock.now()) || inbox.length > 0);
  };

  const open = (pid: number) => {
    const store: Store = createMemoryStore({
      clock,
      home,
      pid,
      isAlive: (owner: StreamOwner) => isAlive(owner.pid),
    });
    const released = (writer: StreamWriter): StreamWriter => ({
      ...writer,
      async release() {
        await writer.release();
        tell();
      },
    });
    const shared: Pick<SharedStore, 'orphans' | 'onOrphans' | 'workers' | 'isAlive' | 'forgive'> = {
      orphans: async (limit) =>
        [...home.streams.values()]
          .filter(isOrphan)
          .slice(0, limit)
          .map(
            ({ stream, head: { kind, name }, status }): Orphan => ({
              stream,
              kind,
              name,
              status,
              root: rootOf(stream),
              deaths: deaths.get(stream) ?? 0,
            }),
          ),
      onOrphans(listener) {
        moved.add(listener);
        return () => {
          moved.delete(listener);
        };
      },
      workers: async () =>
        [...signs.keys()].map((id) => ({
          id,
          pid: id,
          holds: 0,
          startedAt: 0,
          quietMs: 0,
          alive: isAlive(id),
          role: 'worker',
          host: 'here',
          version: '0',
          capacity: 4,
          working: 0,
        })),
      isAlive: () => isAlive(pid),
      forgive: async (stream) => void deaths.delete(stream),
    };
    signs.set(pid, clock.now());
    return {
      pid,
      shared,
      store: {
        ...store,
        create: async (name, head) => released(await store.create(name, head)),
        acquire: async (name) => released(await store.acquire(name)),
        async send(name, message) {
          const id = await store.send(name, message);
          tell();
          return id;
        },
      } satisfies Store,
    };
  };

  return {
    home,
    deaths,
    open,
    isAlive,
    /** A sign of life. */
    beat: (pid: number) => signs.set(pid, clock.now()),
    /** Its last sign of life, asked for whenever somebody wants to know. */
    beatsAt: (pid: number, lastSign: () => number) => signs.set(pid, lastSign),
    kill: (pid: number) => signs.set(pid, Number.NEGATIVE_INFINITY),
  };
}
