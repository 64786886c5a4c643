import { RUN_SUMMARY_TYPES } from '../../events/run-summary.ts';
import { SUMMARY_TYPES } from '../../events/session-summary.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Json } from '../../kernel/json.ts';
import { type LiveWire, MAX_LIVE_BYTES } from '../../store/shared-store.ts';
import { isRunEvent, type StreamEvent, streamOf } from '../log/stream-event.ts';
import type { Runtime } from '../runtime-types.ts';
import { HEADLINES } from './live-names.ts';

/** Events of a stream, some of which lists are made of. */
export interface Headline {
  readonly kind: 'session' | 'run';
  readonly stream: string;
  readonly from: number;
  readonly to: number;
}

/** Tells other processes which streams that are worked on here have news for lists, while one of them listens. */
export interface HeadlinePublication {
  ask(): void;
  close(): void;
}

/** For lists that is soon enough. */
const WINDOW_MS = 100;
/** Streams of one window; those beyond are found by the look that followers take now and then. */
const MAX_STREAMS = 5_000;
/** Brackets of the list. */
const FRAME_BYTES = 2;

export function publishHeadlines({
  runtime,
  live,
  clock,
}: {
  readonly runtime: Pick<Runtime, 'watch'>;
  readonly live: LiveWire;
  readonly clock: Clock;
}): HeadlinePublication {
  let news = new Map<string, { -readonly [Key in keyof Headline]: Headline[Key] }>();
  let unwatch: (() => void) | undefined;
  let disarm: (() => void) | undefined;

  const close = () => {
    unwatch?.();
    unwatch = undefined;
    disarm?.();
    disarm = undefined;
    news.clear();
  };
  const flush = () => {
    disarm = undefined;
    if (!live.isHeard(HEADLINES)) return close();
    const told = news;
    news = new Map();
    for (const text of headlineTexts(told.values())) live.send(HEADLINES, text);
  };
  const note = (event: StreamEvent) => {
    const types: ReadonlySet<string> = isRunEvent(event) ? RUN_SUMMARY_TYPES : SUMMARY_TYPES;
    if (!types.has(event.type)) return;
    const stream = streamOf(event);
    const known = news.get(stream);
    if (known !== undefined) known.to = event.seq;
    else if (news.size < MAX_STREAMS)
      news.set(stream, {
        kind: isRunEvent(event) ? 'run' : 'session',
        stream,
        from: event.seq,
        to: event.seq,
      });
    disarm ??= clock.after(WINDOW_MS, flush);
  };
  return {
    ask() {
      unwatch ??= runtime.watch(note);
    },
    close,
  };
}

/** As many messages as it takes. */
function headlineTexts(headlines: Iterable<Headline>): readonly string[] {
  const texts: string[] = [];
  let body = '';
  let bytes = FRAME_BYTES;
  for (const { kind, stream, from, to } of headlines) {
    const text = JSON.stringify([kind, stream, from, to]);
    const size = Buffer.byteLength(text) + 1;
    if (bytes + size > MAX_LIVE_BYTES) {
      texts.push(`[${body}]`);
      body = '';
      bytes = FRAME_BYTES;
    }
    body += body === '' ? text : `,${text}`;
    bytes += size;
  }
  if (body !== '') texts.push(`[${body}]`);
  return texts;
}

/** What another process told; nothing of what cannot be read. */
export function readHeadlines(text: string): readonly Headline[] {
  let parsed: Json;
  try {
    parsed = JSON.parse(text) as Json;
  } catch {
    return []; // not ours: what others send on a channel is data
  }
  if (!Array.isArray(parsed)) return [];
  return parsed.flatMap((each): readonly Headline[] => {
    if (!Array.isArray(each)) return [];
    const [kind, stream, from, to] = each;
    if ((kind !== 'session' && kind !== 'run') || typeof stream !== 'string') return [];
    return typeof from === 'number' && typeof to === 'number' ? [{ kind, stream, from, to }] : [];
  });
}
