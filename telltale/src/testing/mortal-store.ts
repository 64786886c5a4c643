import { RuntimeError } from '../kernel/runtime-error.ts';
import type { NewStream, Store, StreamWriter, Tables } from '../store/store.ts';

/** A store as one process sees it that may die: from then on nothing it writes arrives. */
export interface MortalStore extends Store {
  die(): void;
}

export function mortal(store: Store): MortalStore {
  let isDead = false;
  const alive = async () => {
    if (isDead) throw processDied();
  };
  const mortalWriter = (writer: StreamWriter): StreamWriter => ({
    ...writer,
    append(append, settled) {
      if (isDead) queueMicrotask(() => settled(processDied()));
      // What was committed stays; that it was is news that a dead process does not get.
      else writer.append(append, (error) => settled(isDead ? processDied() : error));
    },
    snapshot(seq, body) {
      if (!isDead) writer.snapshot(seq, body);
    },
  });
  const { tables } = store;
  const mortalTables: Tables = {
    get: (table, key) => alive().then(() => tables.get(table, key)),
    set: (table, key, value, options) => alive().then(() => tables.set(table, key, value, options)),
    delete: (table, key) => alive().then(() => tables.delete(table, key)),
    keys: (table, options) => alive().then(() => tables.keys(table, options)),
    increment: (table, key, by) => alive().then(() => tables.increment(table, key, by)),
    exchange: (expected, writes) => alive().then(() => tables.exchange(expected, writes)),
    push: (list, value) => alive().then(() => tables.push(list, value)),
    entries: (list, options) => alive().then(() => tables.entries(list, options)),
  };
  return {
    ...store,
    tables: mortalTables,
    create: async (stream, head) => mortalWriter(await alive().then(() => store.create(stream, head))),
    begin(stream, head) {
      const { writer, made } = isDead ? stillborn(stream) : store.begin(stream, head);
      const known = made.then(alive);
      known.catch(() => undefined); // the appends say so as well
      return { writer: mortalWriter(writer), made: known };
    },
    acquire: async (stream) => mortalWriter(await alive().then(() => store.acquire(stream))),
    close: async () => undefined, // it outlives the process
    die() {
      isDead = true;
    },
  };
}

const stillborn = (stream: string): NewStream => ({
  writer: {
    stream,
    epoch: 1,
    head: 0,
    append: (_append, settled) => settled(processDied()),
    snapshot: () => undefined,
    inbox: async () => [],
    onWake: () => () => undefined,
    release: async () => undefined,
  },
  made: Promise.resolve(),
});

const processDied = () =>
  new RuntimeError('store_failed', 'The process that wrote this has died, as the test wanted.');
