import { eventUnknown, readStream, type StreamEvent, type StreamRef } from '../../agent/log/read-log.ts';
import { nearest } from '../../lib/nearest.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { usage, wholeNumber } from '../options.ts';
import { eventJson } from '../view/json-text.ts';
import { createEventLines } from '../view/plain-lines.ts';
import { EVENT_TYPES, RUN_EVENT_TYPES } from './event-types.ts';
import { streamToResume } from './find-session.ts';
import { eventAsTyped, storeFlag } from './store-options.ts';
import { withStoredSessions } from './with-runtime.ts';

export interface LogOptions {
  readonly store?: string;
  readonly follow?: true;
  readonly from?: string;
  readonly type?: string;
  readonly json?: true;
}

/** In a pipe. Longer texts are in --json. */
const PIPE_COLUMNS = 400;

/** Prints the log of the stream that `find` returns. */
export async function printLog(
  options: LogOptions,
  context: CommandContext,
  find: (store: Store) => Promise<StreamInfo>,
): Promise<ExitCode> {
  const { io } = context;
  const { stdout, stderr } = io;
  const from = options.from === undefined ? 1 : wholeNumber('--from', options.from);
  const wanted = options.type === undefined ? undefined : readTypes(options.type);
  return withStoredSessions(context, options, async ({ store }) => {
    const info = await find(store);
    const line = createEventLines({ columns: stdout.columns ?? PIPE_COLUMNS, paint: paletteFor(stdout) });
    const flag = storeFlag(options.store);
    let last = 0;
    const print = async (event: StreamEvent) => {
      last = event.seq;
      // Lines need the names of actions and the start time, which come from events that may not be shown.
      const text = options.json === true ? eventJson(event) : `${line(eventAsTyped(event, io, flag))}\n`;
      if (event.seq >= from && (wanted?.has(event.type) ?? true)) await stdout.write(text);
      return !stdout.closed && !io.signal.aborted;
    };
    let wasLeft = false;
    const tellIfLeft = async ({ stream, status, owner }: StreamInfo) => {
      const isLeft = status === 'running' && owner === undefined;
      const isNews = isLeft && !wasLeft && options.json !== true;
      wasLeft = isLeft;
      if (!isNews) return;
      const resume = `${await streamToResume(store, info, io)}${flag}`;
      await stderr.write(`No process works on ${stream} now. To continue: ${resume}\n`);
    };
    if (options.follow === true) {
      const mayGoOn = info.status === 'running' || info.status === 'waiting';
      if (mayGoOn && from > info.head)
        await stderr.write(
          `${info.stream} has no event ${from} yet. Its last event is ${info.head}. Waiting.\n`,
        );
      await followLog(store, info, print, io, async () =>
        tellIfLeft((await store.info(info.stream)) ?? info),
      );
    } else for await (const event of readStream(store, info)) if (!(await print(event))) break;
    const isReadToEnd = !stdout.closed && !io.signal.aborted;
    if (isReadToEnd && last < from && options.from !== undefined) throw eventUnknown(info.stream, from, last);
    return EXIT.ok;
  });
}

const ALL_TYPES: readonly string[] = [...new Set<string>([...EVENT_TYPES, ...RUN_EVENT_TYPES])];

/** `step` selects all types that begin with `step.`. */
const GROUPS: readonly string[] = [
  ...new Set(ALL_TYPES.flatMap((type) => (type.includes('.') ? [type.slice(0, type.indexOf('.'))] : []))),
];

/** There are too many types to list, so the hint names the groups, and a type with a similar name. */
function typeHint(asked: string): string {
  const near = nearest(asked, [...GROUPS, ...ALL_TYPES]);
  return near === undefined
    ? `Groups of types: ${GROUPS.join(', ')}. "step" means all of them, "step.failed" only one.`
    : `Did you mean "${near}"?`;
}

function readTypes(text: string): ReadonlySet<string> {
  const wanted = new Set<string>();
  for (const asked of text.split(',').map((each) => each.trim())) {
    const found = ALL_TYPES.filter((type) => type === asked || type.startsWith(`${asked}.`));
    if (found.length === 0) throw usage(`There is no type of event '${asked}'.`, typeHint(asked));
    for (const type of found) wanted.add(type);
  }
  return wanted;
}

const ENDS: ReadonlySet<string> = new Set([
  'session.completed',
  'session.failed',
  'session.stalled',
  'session.cancelled',
]);
const RUN_ENDS: ReadonlySet<string> = new Set([
  'workflow.completed',
  'workflow.failed',
  'workflow.cancelled',
]);

/** How often the log is read without a notification. The timer also keeps the process alive. */
const LOOK_MS = 1000;

/**
 * Passes on every committed event of a stream from the first one on, whichever process writes them. Resolves when the
 * session or run has ended, when `take` returns false, or when `signal` is aborted.
 */
export async function followLog(
  store: Store,
  ref: StreamRef,
  take: (event: StreamEvent) => Promise<boolean>,
  { signal, clock }: Pick<Io, 'signal' | 'clock'>,
  /** Called after the existing events were passed on, and whenever no event has come for a while. */
  quiet?: () => Promise<void>,
): Promise<void> {
  let moved = false;
  let wake = () => {};
  const notify = () => {
    moved = true;
    wake();
  };
  const stopWatching = store.watch(ref.stream, notify);
  signal.addEventListener('abort', notify, { once: true });
  try {
    const [group, ends] = ref.kind === 'session' ? ['session.', ENDS] : ['workflow.', RUN_ENDS];
    let next = 1;
    let hasEnded = false;
    let hasCaughtUp = false;
    while (!signal.aborted) {
      moved = false;
      for await (const event of readStream(store, ref, { from: next })) {
        next = event.seq + 1;
        if (event.type.startsWith(group)) hasEnded = ends.has(event.type);
        if (!(await take(event))) return;
      }
      if (hasEnded) return;
      if (!hasCaughtUp) await quiet?.();
      hasCaughtUp = true;
      if (moved) continue;
      await new Promise<void>((resolve) => {
        const cancel = clock.after(LOOK_MS, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      });
      if (!moved) await quiet?.();
    }
  } finally {
    stopWatching();
    signal.removeEventListener('abort', notify);
  }
}
