import { readRun } from '../../engine/read-run.ts';
import type { RunState } from '../../events/run-state.ts';
import type { WorkflowRun } from '../../session/runs/run-types.ts';
import type { Runtime, RuntimeOptions } from '../../session/runtime-types.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { askPerson } from '../run/ask-person.ts';
import { askRuns } from '../run/ask-run.ts';
import { awaitRuns, watchTriggered } from '../run/await-runs.ts';
import { oneAtATime } from '../run/one-at-a-time.ts';
import { outputLost, type Unshown } from '../run/output-lost.ts';
import { type ModeOptions, runMode } from '../run/run-mode.ts';
import { tellSlowStop } from '../run/tell-slow-stop.ts';
import type { EarlyStore } from '../session/open-early.ts';
import { isInMemory, storeFlag, storeLocation } from '../session/store-location.ts';
import { withRuntime } from '../session/with-runtime.ts';
import { concludeRun } from './conclude-run.ts';
import { type FollowedRun, followWorkflow } from './follow-workflow.ts';
import { createWorkflowView, type WorkflowView } from './workflow-view.ts';

export interface WorkRunOptions extends ModeOptions {
  readonly store?: string;
  readonly durability?: 'power' | 'process';
  readonly debug?: 'invoke';
  /** Stays while the run only waits. */
  readonly wait?: true;
  /** The store, where it is being opened already. */
  readonly early?: EarlyStore;
}

/** A run that was begun or taken up, and how much of its log had been seen before. */
export interface BegunRun {
  readonly run: WorkflowRun;
  readonly seen: number;
}

/** Works on one run in this process and shows it: what `workflow run` and `workflow resume` have in common. */
export async function workRun(
  context: Pick<CommandContext, 'io' | 'runtimes'>,
  options: WorkRunOptions,
  begin: (runtime: Runtime) => Promise<BegunRun>,
): Promise<ExitCode> {
  let unshown: Unshown | undefined;
  try {
    return await workAndShow(context, options, async (runtime) => {
      const begun = await begin(runtime);
      unshown = unshownOf(begun, options, context.io);
      return begun;
    });
  } catch (thrown) {
    throw await outputLost(thrown, context.io, unshown);
  }
}

function unshownOf({ run }: BegunRun, { store }: WorkRunOptions, io: Io): Unshown {
  const about = (command: string) => `${io.program} workflow ${command} ${run.id}${storeFlag(store)}`;
  const commands = { show: about('show'), resume: about('resume') };
  const isGone = isInMemory(storeLocation(store, io));
  return { kind: 'run', result: run.result, commands: isGone ? undefined : commands };
}

async function workAndShow(
  context: Pick<CommandContext, 'io' | 'runtimes'>,
  options: WorkRunOptions,
  begin: (runtime: Runtime) => Promise<BegunRun>,
): Promise<ExitCode> {
  const { io } = context;
  const mode = runMode(options, io);
  const isGone = isInMemory(storeLocation(options.store, io));
  const flag = isGone ? undefined : storeFlag(options.store);
  const drawn = createWorkflowView(mode, io, { invoke: options.debug === 'invoke' }, flag);
  const asides = oneAtATime(drawn.aside);
  const view: WorkflowView = {
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
  const told = { mode, storeFlag: flag };
  const outcome: { followed?: FollowedRun; state?: RunState; isLeft?: boolean } = {};
  const stopTelling = tellSlowStop(io, mode);
  try {
    await withRuntime(context, { ...store, ...settings }, async (runtime) => {
      const triggered = watchTriggered(runtime);
      const { run, seen } = await begin(runtime);
      outcome.followed = await followWorkflow(run, io, { view, seen });
      const { status } = outcome.followed.result;
      if (status === 'waiting') outcome.state = await readRun(runtime.store, run.id);
      if (status !== 'interrupted')
        outcome.isLeft = (
          await awaitRuns(runtime, run.id, [], triggered, io, { ...told, isAsking: asides.isAsking })
        ).isLeft;
      triggered.stop();
    });
  } catch (thrown) {
    // A store that was lost cannot be closed either: what it was lost by is what there is to tell.
    const result = outcome.followed?.result;
    if (result?.status !== 'interrupted' || result.error === undefined) throw thrown;
  } finally {
    stopTelling();
    if (outcome.followed === undefined) await view.leave();
  }
  if (outcome.followed === undefined) return EXIT.failed;
  const code = await concludeRun(outcome.followed, io, { ...told, state: outcome.state });
  return code === EXIT.ok && outcome.isLeft === true ? EXIT.interrupted : code;
}
