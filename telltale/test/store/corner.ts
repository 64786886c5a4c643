import { createGraphStore } from '../../src/store/sqlite/graph/graph-store.ts';
import type { Store, StreamWriter } from '../../src/store/store.ts';

/**
 * A store in which all names begin with a test's own prefix, so that tests can share one: opening a store starts a
 * thread, a tenth of a second each. `list` shows everybody's streams, and so does `upkeep` where it shows all there is.
 */
export function corner(store: Store, prefix: string): Store {
  const { tables, upkeep } = store;
  const own = (name: string) => `${prefix}/${name}`;
  const inCorner = (writer: StreamWriter): StreamWriter => ({
    ...writer,
    append({ writes, ...append }, settled) {
      const moved = writes?.map((write) => ({ ...write, table: own(write.table) }));
      writer.append(moved === undefined ? append : { ...append, writes: moved }, settled);
    },
  });
  return {
    location: store.location,
    create: async (stream, head) => inCorner(await store.create(own(stream), head)),
    begin(stream, head) {
      const { writer, made } = store.begin(own(stream), head);
      return { writer: inCorner(writer), made };
    },
    acquire: async (stream) => inCorner(await store.acquire(own(stream))),
    read: (stream, options) => store.read(own(stream), options),
    snapshots: (stream) => store.snapshots(own(stream)),
    info: (stream) => store.info(own(stream)),
    list: (filter) => store.list(filter),
    send: (stream, message) => store.send(own(stream), message),
    watch: (stream, moved) => store.watch(own(stream), moved),
    close: () => store.close(),
    upkeep: {
      ...upkeep,
      acquire: async (stream) => inCorner(await upkeep.acquire(own(stream))),
      page: (stream, from) => upkeep.page(own(stream), from),
      inbox: (stream) => upkeep.inbox(own(stream)),
      weigh: (stream) => upkeep.weigh(own(stream)),
      settle: (stream, epoch, as) => upkeep.settle(own(stream), epoch, as),
      remove: (stream, epoch) => upkeep.remove(own(stream), epoch),
      enter: (list, first, entries) => upkeep.enter(own(list), first, entries),
    },
    async graphs() {
      const graphs = await store.graphs();
      const moved = createGraphStore(async (op, ...args) => {
        const [graph, ...rest]: readonly unknown[] = args; // `graphs`, which has none, is replaced below
        return (graphs[op] as (...args: unknown[]) => Promise<never>)(own(String(graph)), ...rest);
      });
      const names = async () => {
        const found: string[] = [];
        for (const name of await graphs.graphs())
          if (name.startsWith(own(''))) found.push(name.slice(own('').length));
        return found;
      };
      return { ...moved, graphs: names };
    },
    tables: {
      get: (table, key) => tables.get(own(table), key),
      set: (table, key, value, options) => tables.set(own(table), key, value, options),
      delete: (table, key) => tables.delete(own(table), key),
      keys: (table, options) => tables.keys(own(table), options),
      increment: (table, key, by) => tables.increment(own(table), key, by),
      exchange: (expected, writes) =>
        tables.exchange(
          expected.map((write) => ({ ...write, table: own(write.table) })),
          writes.map((write) => ({ ...write, table: own(write.table) })),
        ),
      push: (list, value) => tables.push(own(list), value),
      entries: (list, options) => tables.entries(own(list), options),
    },
  };
}
