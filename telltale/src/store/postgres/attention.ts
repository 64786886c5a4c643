import type { FromBackend } from '../grouped/messages.ts';
import type { AskPrepared } from './ask.ts';
import type { Consequences } from './group/decode-answer.ts';
import type { Ownership } from './ownership.ts';

/** How far a stream is: its last event, and the last message that waits. */
interface Mark {
  head: number;
  message: number;
}

/**
 * Tells this store what others have written. It looks at the database every now and then, which is the floor; pokes of
 * the others make it quick (`poked`).
 */
export interface Attention {
  watch(stream: string, on: boolean): void;
  isWatched(stream: string): boolean;
  /** What this store itself has committed, which its callers hear of otherwise. */
  committed(stream: string, head: number): void;
  /** From `true` to `false` a look cannot tell one's own messages from those of others. */
  sending(on: boolean): void;
  sent(messages: Consequences['sent']): void;
  /** Somebody says that a stream has moved, or got a message. */
  poked(stream: string, head: number, message: number): void;
  /** Looks at everything: after a time in which pokes may have been lost. */
  look(): Promise<void>;
  stop(): void;
}

export interface AttentionDeps {
  readonly ask: AskPrepared;
  readonly schema: string;
  readonly ownership: Ownership;
  /** Has others tell of a stream, until the returned function is called. */
  readonly listen: (stream: string) => () => void;
  /** The last event of a stream that this store writes; undefined of any other. */
  readonly ownHead: (stream: string) => number | undefined;
  readonly tell: (message: FromBackend) => void;
  readonly lookMs: number;
}

/** Messages of streams of one's own that a look finds at once; those behind are found when these are gone. */
const MAX_MESSAGES = 1_000;

export function createAttention(deps: AttentionDeps): Attention {
  const { ask, schema, ownership, ownHead, tell } = deps;
  const MARKS = `SELECT s.stream, h.head, coalesce((SELECT max(i.id) FROM "${schema}".inbox i WHERE i.stream = s.id), 0)
    FROM "${schema}".streams s JOIN "${schema}".heads h ON h.id = s.id WHERE s.stream = ANY ($1::text[])`;
  const MESSAGES = `SELECT i.id, s.stream FROM "${schema}".inbox i JOIN "${schema}".heads h ON h.id = i.stream
    JOIN "${schema}".streams s ON s.id = i.stream WHERE NOT i.idle AND h.owner = $1 ORDER BY i.id LIMIT ${MAX_MESSAGES}`;
  const watched = new Map<string, Mark>();
  const ends = new Map<string, () => void>();
  let told = new Set<number>();
  let [sendings, sends] = [0, 0];
  let looking: Promise<void> | undefined;
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const moved = (stream: string, head: number, message: number): boolean => {
    const mark = watched.get(stream);
    if (mark === undefined || (head <= mark.head && message <= mark.message)) return false;
    mark.head = Math.max(head, mark.head);
    mark.message = Math.max(message, mark.message);
    return true;
  };

  const lookAtWatched = async (streams: readonly string[]): Promise<void> => {
    const found: string[] = [];
    for (const [stream, head, message] of await ask('marks', MARKS, [streams])) {
      const name = String(stream);
      // What this store wrote itself it tells at the commit.
      const isOwn = ownHead(name) !== undefined;
      if (moved(name, isOwn ? 0 : Number(head), Number(message))) found.push(name);
    }
    if (found.length > 0) tell({ kind: 'moved', streams: found });
  };

  const lookAtInboxes = async (owner: number): Promise<void> => {
    const before = sends;
    const rows = await ask('messages', MESSAGES, [owner]);
    if (sendings > 0 || sends !== before) return; // the next look tells
    const streams = new Set<string>();
    for (const [id, stream] of rows) if (!told.has(Number(id))) streams.add(String(stream));
    told = new Set(rows.map(([id]) => Number(id)));
    if (streams.size > 0) tell({ kind: 'woken', streams: [...streams] });
  };

  const lookAtAll = async (): Promise<void> => {
    if (watched.size > 0) await lookAtWatched([...watched.keys()]);
    if (ownership.id !== null) await lookAtInboxes(ownership.id);
  };

  /** One at a time. A look that fails is one look less: the next comes soon. */
  const look = (): Promise<void> => {
    looking ??= lookAtAll()
      .catch(() => undefined)
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };

  const wait = () => {
    if (isStopped) return;
    timer = setTimeout(() => void look().then(wait), deps.lookMs).unref();
  };
  wait();

  return {
    watch(stream, on) {
      ends.get(stream)?.();
      ends.delete(stream);
      if (!on) return void watched.delete(stream);
      ends.set(stream, deps.listen(stream));
      const own = ownHead(stream);
      watched.set(stream, { head: own ?? 0, message: 0 });
      // Events may have come since the caller asked: he is told once too often rather than once too seldom.
      if (own === undefined) lookAtWatched([stream]).catch(() => undefined);
      else if (own > 0) setImmediate(tell, { kind: 'moved', streams: [stream] });
    },
    isWatched: (stream) => watched.has(stream),
    committed(stream, head) {
      const mark = watched.get(stream);
      if (mark !== undefined) mark.head = Math.max(mark.head, head);
    },
    sending(on) {
      sendings += on ? 1 : -1;
      sends++;
    },
    sent(messages) {
      for (const { stream, id } of messages) {
        told.add(id);
        const mark = watched.get(stream);
        if (mark !== undefined) mark.message = Math.max(mark.message, id);
      }
    },
    poked(stream, head, message) {
      if (moved(stream, head, message)) tell({ kind: 'moved', streams: [stream] });
      if (message === 0 || told.has(message) || ownHead(stream) === undefined) return;
      told.add(message);
      tell({ kind: 'woken', streams: [stream] });
    },
    look,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
