import { decodeEvent } from '../../src/log/codec.ts';
import { decodeRunEvent } from '../../src/log/run-codec.ts';
import type { Store, StreamInfo } from '../../src/store/store.ts';
import type { Owned, StreamLog } from './evidence.ts';
import type { JournalReader } from './journal.ts';

/** Reads the logs while all goes on, and remembers what it read. */
export interface Observer {
  /** Looks once; nothing is learnt where the store cannot be read. */
  look(): Promise<void>;
  readonly streams: ReadonlyMap<string, StreamInfo>;
  readonly seen: ReadonlyMap<string, readonly string[]>;
  readonly completedAt: ReadonlyMap<string, number>;
  readonly owned: readonly Owned[];
  /** Why it could not look, the last time. */
  trouble(): string | undefined;
}

const END = /"type":"(?:action|step)\.completed"/;

export function createObserver(store: Store, journal: JournalReader): Observer {
  const streams = new Map<string, StreamInfo>();
  const seen = new Map<string, string[]>();
  const completedAt = new Map<string, number>();
  const owned: Owned[] = [];
  let trouble: string | undefined;

  const readOn = async (info: StreamInfo): Promise<readonly string[]> => {
    const known = seen.get(info.stream) ?? [];
    if (info.head <= known.length) return [];
    const fresh = await store.read(info.stream, { from: known.length + 1 });
    known.push(...fresh);
    seen.set(info.stream, known);
    return fresh;
  };

  const noteOwner = ({ stream, owner }: StreamInfo) => {
    if (owner === undefined) return;
    const last = owned.findLast((each) => each.stream === stream);
    const by = `${owner.pid}/${owner.startedAt}`;
    if (last?.epoch !== owner.epoch || last.owner !== by)
      owned.push({ stream, epoch: owner.epoch, owner: by });
  };

  return {
    streams,
    seen,
    completedAt,
    owned,
    trouble: () => trouble,
    async look() {
      try {
        const completed: string[] = [];
        for (const info of await store.list()) {
          for (const line of await readOn(info)) if (END.test(line)) completed.push(keyOf(info, line));
          noteOwner(info);
          streams.set(info.stream, info);
        }
        // Read behind the logs: what comes beyond these lines was begun after that.
        const { length } = journal.read();
        for (const key of completed) completedAt.set(key, length);
        trouble = undefined;
      } catch (thrown) {
        trouble = thrown instanceof Error ? thrown.message : String(thrown);
      }
    },
  };
}

function keyOf({ kind, stream }: StreamInfo, line: string): string {
  const event = kind === 'session' ? decodeEvent(line, stream) : decodeRunEvent(line, stream);
  if (event.type === 'action.completed') return `${stream}:${event.id}`;
  return event.type === 'step.completed' ? `${stream}:${event.step}` : '';
}

/** A whole log, as it is now. */
export async function readLog(
  store: Store,
  stream: string,
): Promise<{ readonly log: StreamLog; readonly lines: readonly string[] } | undefined> {
  const info = await store.info(stream);
  if (info === undefined) return undefined;
  const lines = await store.read(stream);
  const { kind, name, status, messages: left = 0 } = info;
  const log =
    kind === 'session'
      ? { kind, events: lines.map((line) => decodeEvent(line, stream)) }
      : { kind, events: lines.map((line) => decodeRunEvent(line, stream)) };
  return { lines, log: { stream, name, status, left, log } };
}
