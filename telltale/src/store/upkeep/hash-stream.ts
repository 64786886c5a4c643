import { createHash } from 'node:crypto';
import type { InboxMessage, Store, StoredSnapshot, StreamInfo } from '../store.ts';
import { eventPages } from './event-pages.ts';

/** What a stream is besides its events. */
export type StreamFront = Omit<StreamInfo, 'owner' | 'head' | 'messages' | 'place'>;

/** The SHA-256 of a stream: the same in every store that has it as it is here. */
export interface StreamHash {
  event(line: string): void;
  snapshot(snapshot: StoredSnapshot): void;
  message(message: Omit<InboxMessage, 'id'>): void;
  /** As hexadecimal digits. */
  end(): string;
}

/** Over a line each for the front and for the hashes of its events, snapshots and messages, which are a line each. */
export function createStreamHash(front: StreamFront): StreamHash {
  const [events, snapshots, messages] = [createHash('sha256'), createHash('sha256'), createHash('sha256')];
  const { stream, kind, name, title, parent = null, status, due = null, createdAt, updatedAt } = front;
  return {
    event: (line) => void events.update(line).update('\n'),
    snapshot: ({ seq, body }) => void snapshots.update(`${JSON.stringify([seq, body])}\n`),
    message: ({ at, kind: asked, from, body }) =>
      void messages.update(`${JSON.stringify([at, asked, from, body])}\n`),
    end() {
      const whole = createHash('sha256');
      const names = [stream, kind, printed(name), printed(title), parent, status];
      const head = JSON.stringify([...names, due, createdAt, updatedAt]);
      whole.update(`${head}\n`);
      for (const part of [events, snapshots, messages]) whole.update(`${part.digest('hex')}\n`);
      return whole.digest('hex');
    },
  };
}

/** Not every home can keep a NUL in what people read: the sign for the unprintable stands for it. */
const printed = (text: string): string => text.replaceAll('\0', '\ufffd');

/** Reads all of it. */
export async function hashStream(
  store: Pick<Store, 'upkeep' | 'snapshots'>,
  info: StreamInfo,
  signal?: AbortSignal,
): Promise<string> {
  const hash = createStreamHash(info);
  for await (const page of eventPages(store, info.stream, { through: info.head, signal }))
    for (const line of page) hash.event(line);
  const snapshots = (await store.snapshots(info.stream)).filter(({ seq }) => seq <= info.head);
  for (const snapshot of snapshots) hash.snapshot(snapshot);
  for (const message of await store.upkeep.inbox(info.stream)) hash.message(message);
  return hash.end();
}
