import { leadRun } from '../../agent/guided/guidance.ts';
import { isRunEvent } from '../../agent/log/read-log.ts';
import type { Runtime, RuntimeOptions, Session, SessionResult } from '../../agent/runtime-types.ts';
import { readRun } from '../../engine/read-run.ts';
import { decodeRunEvent } from '../../log/run-codec.ts';
import type { RunEvent, RunEventType } from '../../log/run-event.ts';
import type { RunState } from '../../log/run-state.ts';
import type { Store } from '../../store/store.ts';
import type { Chat } from '../chat/chat.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import type { Io } from '../io.ts';
import { followLog } from '../session/print-log.ts';
import { isDatabase, isInMemory, storeFlag, storeLocation } from '../session/store-options.ts';
import { type EarlyStore, withRuntime } from '../session/with-runtime.ts';
import { askPerson, askRuns, oneAtATime } from './ask-person.ts';
import { awaitRuns, watchTriggered } from './await-runs.ts';
import { conclude, isLost, outputLost, type Unshown } from './conclude.ts';
import { createRunView } from './create-run-view.ts';
import { type FollowedSession, followSession, type Steering, steerByTyping } from './follow-session.ts';
import { reportSlowStop } from './report-slow-stop.ts';
import { type ModeOptions, runMode } from './run-mode.ts';
import type { RunView } from './run-view.ts';

export interface WorkOptions extends ModeOptions {
  readonly store?: string;
  readonly durability?: 'power' | 'process';
  readonly maxTurns?: string;
  readonly debug?: 'invoke';
  /** The store, if it is already being opened. */
  readonly early?: EarlyStore;
  /** Whether the store must exist, because a session is being resumed. */
  readonly mustExist?: boolean;
  /** Called when the session has ended or was interrupted. */
  readonly onResult?: (result: SessionResult) => void;
}

/** A session that was started or resumed, and how much of its log was seen before. */
export interface StartedSession {
  readonly session: Session;
  readonly seen: number;
  /** For a conversation: what the person says, and the command that continues it, without the session's id. */
  readonly chat?: { readonly lead: Chat; readonly resumeWith: string };
}

/**
 * Runs one session in this process and shows it. `run` and `resume` share it. `begin` returns undefined if the manifest
 * is invalid, which it has reported.
 */
export async function workSession(
  context: Pick<CommandContext, 'io' | 'runtimes'>,
  options: WorkOptions,
  begin: WorkSessionBegin,
): Promise<ExitCode> {
  let unshown: Unshown | undefined;
  try {
    return await workAndShow(context, options, async (runtime, view) => {
      const begun = await begin(runtime, view);
      if (typeof begun === 'object') unshown = unshownOf(begun, options, context.io);
      return begun;
    });
  } catch (thrown) {
    throw await outputLost(thrown, context.io, unshown);
  }
}

type WorkSessionBegin = (
  runtime: Runtime,
  view: RunView,
) => Promise<StartedSession | 'nothing said' | undefined>;

function unshownOf({ session, chat }: StartedSession, { store }: WorkOptions, io: Io): Unshown {
  const { id, result } = session;
  const about = (command: string) => `${io.program} ${command} ${id}${storeFlag(store)}`;
  const commands = { show: about('show'), resume: about(chat?.resumeWith ?? 'resume') };
  return { kind: 'session', result, commands: isInMemory(storeLocation(store, io)) ? undefined : commands };
}

async function workAndShow(
  context: Pick<CommandContext, 'io' | 'runtimes'>,
  options: WorkOptions,
  begin: WorkSessionBegin,
): Promise<ExitCode> {
  const { io } = context;
  const mode = runMode(options, io);
  const debug = { invoke: options.debug === 'invoke' };
  const location = storeLocation(options.store, io);
  const flag = isInMemory(location) ? undefined : storeFlag(options.store);
  const drawn = await createRunView(mode, io, debug, flag);
  let steering: Steering | undefined;
  // A question to a person has the keyboard to itself.
  const asides = oneAtATime((ask, kind) =>
    steering === undefined
      ? drawn.aside(ask)
      : steering.aside((draft) => drawn.aside(() => ask(draft)), kind),
  );
  const view: RunView = {
    ...drawn,
    aside: asides.aside,
    async end(...given) {
      await asides.idle();
      await drawn.end(...given);
    },
  };
  const approve = askPerson(io, view);
  const ask = askRuns(io, view, flag);
  const settings: Pick<RuntimeOptions, 'durability' | 'approve' | 'ask'> = {
    ...(options.durability === undefined ? {} : { durability: options.durability }),
    ...(approve === undefined ? {} : { approve }),
    ...(ask === undefined ? {} : { ask }),
  };
  const store = {
    ...(options.store === undefined ? {} : { store: options.store }),
    ...(options.early === undefined ? {} : { early: options.early }),
  };
  const outcome: {
    followed?: FollowedSession;
    begun?: StartedSession | 'nothing said' | undefined;
    lead?: RunState | undefined;
    isLeft?: boolean;
  } = {};
  const stopTelling = reportSlowStop(io, mode);
  try {
    await withRuntime(context, { ...store, ...settings }, async (runtime) => {
      const triggered = watchTriggered(runtime);
      const begun = await begin(runtime, view);
      outcome.begun = begun;
      if (begun === undefined || begun === 'nothing said') return;
      const { session, seen, chat } = begun;
      const lead = chat === undefined ? {} : { chat: chat.lead };
      steering = steerByTyping(io, view, {
        mode,
        ...(chat === undefined ? {} : { status: chat.lead.status }),
      });
      const led = watchGuidingRun(runtime.store, session.id, view, seen > 0);
      const stopWatching = debug.invoke
        ? watchRuns(runtime.store, session.id, (event) => noteInvoke(event, view), io)
        : async () => {};
      try {
        outcome.followed = await followSession(session, io, { view: led.view, seen, steering, ...lead });
        options.onResult?.(outcome.followed.result);
        const { status } = outcome.followed.result;
        if (status === 'waiting') outcome.lead = await waitingGuidingRun(runtime.store, session.id);
        if (status !== 'interrupted') {
          const told = { mode, storeFlag: flag, isAsking: asides.isAsking };
          const { runs } = outcome.followed;
          outcome.isLeft = (await awaitRuns(runtime, session.id, runs, triggered, io, told)).isLeft;
        }
      } finally {
        triggered.stop();
        await led.stop();
        await stopWatching();
      }
    });
  } catch (thrown) {
    // A lost store cannot be closed either. Report the loss, not the failed close.
    if (outcome.followed === undefined || !isLost(outcome.followed.result)) throw thrown;
  } finally {
    stopTelling();
    if (outcome.followed === undefined) await view.leave();
  }
  const { followed, begun, lead } = outcome;
  if (begun === 'nothing said') return EXIT.ok;
  if (followed === undefined || begun === undefined) return EXIT.usage;
  const code = await conclude(followed, io, {
    mode,
    storeFlag: flag,
    isShared: isDatabase(location),
    lead,
    ...(begun.chat === undefined ? {} : { resumeWith: begun.chat.resumeWith }),
  });
  return code === EXIT.ok && outcome.isLeft === true ? EXIT.interrupted : code;
}

/** The run that guides a session, if that run is waiting. */
async function waitingGuidingRun(store: Store, session: string): Promise<RunState | undefined> {
  const run = leadRun(session);
  const info = await store.info(run);
  return info?.status === 'waiting' ? readRun(store, run) : undefined;
}

const noteInvoke = async (event: RunEvent, view: RunView): Promise<void> => {
  if (event.type === 'invoke') await view.showRunEvent(event);
};

/** How soon a new run is noticed. Only somebody who is debugging waits for it. */
const LOOK_MS = 100;
const MAX_LISTED = 200;

/**
 * Passes on every event of the runs that a session starts, and of the runs that those start. The returned function
 * stops it after all committed events have been passed on.
 */
function watchRuns(
  store: Store,
  session: string,
  take: (event: RunEvent) => Promise<void>,
  { clock }: Pick<Io, 'clock'>,
): () => Promise<void> {
  const over = new AbortController();
  const known = new Map<string, Promise<void>>();
  const given = new Map<string, number>();
  const give = async (event: RunEvent) => {
    if (event.seq <= (given.get(event.run) ?? 0)) return;
    given.set(event.run, event.seq);
    await take(event);
  };
  const follow = (run: string, signal: AbortSignal) =>
    followLog(
      store,
      { stream: run, kind: 'run' },
      async (event) => {
        if (isRunEvent(event)) await give(event);
        return true;
      },
      { signal, clock },
    );
  const look = async () => {
    for (const { stream, parent } of await store.list({ kind: 'run', limit: MAX_LISTED }))
      if (parent !== undefined && (parent === session || known.has(parent)) && !known.has(stream))
        known.set(stream, follow(stream, over.signal));
  };
  let cancel = () => {};
  let looking = Promise.resolve();
  const again = () => {
    looking = look().then(() => {
      if (!over.signal.aborted) cancel = clock.after(LOOK_MS, again);
    });
    looking.catch(() => undefined); // Whoever stops it gets the error.
  };
  again();
  return async () => {
    cancel();
    over.abort();
    await looking;
    await look();
    await Promise.all(known.values());
    for (const run of known.keys())
      for (const line of await store.read(run, { from: (given.get(run) ?? 0) + 1 }))
        await give(decodeRunEvent(line, run));
  };
}

/** How many events are read at once. */
const PAGE = 200;

/** Events about the run's own steps. What the agent does for the run is on the session's log. */
const OWN_STEP_EVENTS: ReadonlySet<RunEventType> = new Set([
  'state.entered',
  'step.started',
  'step.completed',
  'step.retrying',
  'step.failed',
  'step.interrupted',
  'step.compensated',
]);

export interface WatchedGuidingRun {
  /** The view. It gets the run's events before the session's events that follow from them. */
  readonly view: RunView;
  /** Stops it after all committed events have been shown. */
  stop(): Promise<void>;
}

/**
 * Shows a view the steps that the guiding run executes itself, from the first event that the view shows of the session.
 * It reads the run's log only when it has changed, so it costs nothing without a guiding run.
 */
function watchGuidingRun(
  store: Store,
  session: string,
  view: RunView,
  isResumed: boolean,
): WatchedGuidingRun {
  const run = leadRun(session);
  const inside = new Set<string>();
  let since: number | undefined;
  let next = 1;
  let moved = isResumed;
  let tail: Promise<void> = Promise.resolve();

  const tell = async (event: RunEvent) => {
    if (event.type === 'step.started' && event.input === undefined) inside.add(event.step);
    if (!OWN_STEP_EVENTS.has(event.type) || since === undefined || event.at < since) return;
    // A step that contains others repeats what those said.
    if ('step' in event && event.step !== undefined && inside.has(event.step)) return;
    await view.showGuidingRun(event);
  };
  const read = async () => {
    while (moved && since !== undefined) {
      moved = false;
      const lines = await store.read(run, { from: next, limit: PAGE });
      next += lines.length;
      for (const line of lines) await tell(decodeRunEvent(line, run));
      if (lines.length === PAGE) moved = true;
    }
  };
  const drain = () => {
    // What cannot be read is not shown. If the store is lost, the session reports it.
    tail = tail.then(read).catch(() => undefined);
    return tail;
  };
  const forget = store.watch(run, () => {
    moved = true;
    void drain();
  });
  return {
    view: {
      ...view,
      async show(event) {
        if ('at' in event) since ??= event.at;
        if (moved) await drain();
        await view.show(event);
      },
    },
    async stop() {
      forget();
      await drain();
    },
  };
}
