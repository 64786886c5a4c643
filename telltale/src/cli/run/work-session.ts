import { readRun } from '../../engine/read-run.ts';
import type { RunEvent } from '../../events/run-event.ts';
import type { RunState } from '../../events/run-state.ts';
import { leadRun } from '../../session/guide/lead-run.ts';
import type { Runtime, RuntimeOptions, Session, SessionResult } from '../../session/runtime-types.ts';
import type { Store } from '../../store/store.ts';
import type { Chat } from '../chat/create-chat.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import type { EarlyStore } from '../session/open-early.ts';
import { isDatabase, isInMemory, storeFlag, storeLocation } from '../session/store-location.ts';
import { withRuntime } from '../session/with-runtime.ts';
import { askPerson } from './ask-person.ts';
import { askRuns } from './ask-run.ts';
import { awaitRuns, watchTriggered } from './await-runs.ts';
import { conclude } from './conclude.ts';
import { createRunView } from './create-run-view.ts';
import { type Followed, followSession } from './follow-session.ts';
import { isLost } from './is-lost.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { outputLost, type Unshown } from './output-lost.ts';
import { type ModeOptions, runMode } from './run-mode.ts';
import type { RunView } from './run-view.ts';
import { type Steering, steerByTyping } from './steer-by-typing.ts';
import { tellSlowStop } from './tell-slow-stop.ts';
import { watchLead } from './watch-lead.ts';
import { watchRuns } from './watch-runs.ts';

export interface WorkOptions extends ModeOptions {
  readonly store?: string;
  readonly durability?: 'power' | 'process';
  readonly maxTurns?: string;
  readonly debug?: 'invoke';
  /** The store, where it is being opened already. */
  readonly early?: EarlyStore;
  /** Whether the store has to be there: a session is gone on with. */
  readonly mustExist?: boolean;
  /** Called when the session has ended or was interrupted. */
  readonly onResult?: (result: SessionResult) => void;
}

/** A session that was begun, and how much of its log had been seen before. */
export interface Begun {
  readonly session: Session;
  readonly seen: number;
  /** For a conversation: what the person says, and the command that goes on with it, up to the session's id. */
  readonly chat?: { readonly lead: Chat; readonly resumeWith: string };
}

/**
 * Runs one session in this process and shows it: what `run` and `resume` have in common. `begin` gives none where the
 * manifest is wrong and that has been said.
 */
export async function workSession(
  context: Pick<CommandContext, 'io' | 'runtimes'>,
  options: WorkOptions,
  begin: Begin,
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

type Begin = (runtime: Runtime, view: RunView) => Promise<Begun | 'nothing said' | undefined>;

function unshownOf({ session, chat }: Begun, { store }: WorkOptions, io: Io): Unshown {
  const { id, result } = session;
  const about = (command: string) => `${io.program} ${command} ${id}${storeFlag(store)}`;
  const commands = { show: about('show'), resume: about(chat?.resumeWith ?? 'resume') };
  return { kind: 'session', result, commands: isInMemory(storeLocation(store, io)) ? undefined : commands };
}

async function workAndShow(
  context: Pick<CommandContext, 'io' | 'runtimes'>,
  options: WorkOptions,
  begin: Begin,
): Promise<ExitCode> {
  const { io } = context;
  const mode = runMode(options, io);
  const debug = { invoke: options.debug === 'invoke' };
  const location = storeLocation(options.store, io);
  const flag = isInMemory(location) ? undefined : storeFlag(options.store);
  const drawn = await createRunView(mode, io, debug, flag);
  let steering: Steering | undefined;
  // Whoever asks a person has the keyboard to himself meanwhile.
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
  const ask = askRuns(io, view);
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
    followed?: Followed;
    begun?: Begun | 'nothing said' | undefined;
    lead?: RunState | undefined;
    isLeft?: boolean;
  } = {};
  const stopTelling = tellSlowStop(io, mode);
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
      const led = watchLead(runtime.store, session.id, view, seen > 0);
      const stopWatching = debug.invoke
        ? watchRuns(runtime.store, session.id, (event) => noteInvoke(event, view), io)
        : async () => {};
      try {
        outcome.followed = await followSession(session, io, { view: led.view, seen, steering, ...lead });
        options.onResult?.(outcome.followed.result);
        const { status } = outcome.followed.result;
        if (status === 'waiting') outcome.lead = await waitingLead(runtime.store, session.id);
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
    // A store that was lost cannot be closed either: what it was lost by is what there is to tell.
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

/** The run that leads a session, where that waits. */
async function waitingLead(store: Store, session: string): Promise<RunState | undefined> {
  const run = leadRun(session);
  const info = await store.info(run);
  return info?.status === 'waiting' ? readRun(store, run) : undefined;
}

const noteInvoke = async (event: RunEvent, view: RunView): Promise<void> => {
  if (event.type === 'invoke') await view.note(event);
};
