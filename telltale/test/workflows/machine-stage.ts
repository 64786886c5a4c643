import type { RunJournal } from '../../src/engine/run-log.ts';
import { sleep } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { createSimulatedClock, type SimulatedClock } from '../../src/lib/simulated-clock.ts';
import { foldRun, reduceRun } from '../../src/log/reduce-run.ts';
import type { RunEvent, RunEventBody } from '../../src/log/run-event.ts';
import { emptyRun } from '../../src/log/run-state.ts';
import type { WorkflowManifest } from '../../src/manifest/schema/kinds.ts';
import type { Step } from '../../src/manifest/schema/steps/step.ts';
import { type MachineOptions, runMachine, type WalkEnd } from '../../src/workflows/machine/run-machine.ts';
import type { Scope } from '../../src/workflows/scope.ts';
import type {
  Decisions,
  PreparedStep,
  StepAttempt,
  StepExecutors,
  Test,
} from '../../src/workflows/step-executor.ts';

/** Thrown by a journal that was told to die. */
export const DEAD = new RuntimeError('dead', 'The process died.');

const MAX_EVENTS = 400_000;

export interface MemoryJournal extends RunJournal {
  readonly events: RunEvent[];
  /** Events by which it dies: the one after them is lost, and everything from there on. */
  dieAfter: number;
  /** How many events a crash cannot take back. */
  committed: number;
}

/** A log in memory, folded as it grows; `flushed` resolves at once. */
function memoryJournal(clock: { now(): number }, before: readonly RunEvent[] = []): MemoryJournal {
  const events = [...before];
  const state = foldRun(events, emptyRun());
  const journal: MemoryJournal = {
    events,
    state,
    dieAfter: Number.POSITIVE_INFINITY,
    committed: before.length,
    append(body: RunEventBody, cause = state.started) {
      if (events.length >= journal.dieAfter) throw DEAD;
      if (events.length >= MAX_EVENTS) throw new Error('the log never ends');
      const event: RunEvent = { seq: events.length + 1, at: clock.now(), run: 'run', cause, ...body };
      events.push(event);
      reduceRun(state, event);
      return { stream: 'run', seq: event.seq, depth: cause.depth + 1 };
    },
    async flushed() {
      const upTo = events.length;
      await Promise.resolve();
      if (events.length >= journal.dieAfter) throw DEAD;
      journal.committed = Math.max(journal.committed, upTo);
    },
    committedSeq: () => journal.committed,
    subscribe: () => () => undefined,
    seal: () => undefined,
  };
  if (events.length === 0)
    journal.append({
      type: 'workflow.started',
      workflow: 'w',
      manifest: { path: 'w.yaml', hash: 'h', agent: 'a' },
      input: {},
      origin: { chain: [], agents: [] },
      vars: {},
    });
  return journal;
}

/** A step that parks, and goes on after `delayMs` where that is given. */
export const parking =
  (waitsFor: string, delayMs?: number): Script =>
  async (call, clock) => {
    const goOn = call.suspend(waitsFor, delayMs === undefined ? undefined : clock.now() + delayMs);
    if (delayMs === undefined) return untilAborted(call);
    await sleep(clock, delayMs, call.signal);
    goOn();
    return waitsFor;
  };

export type Script = (call: StepAttempt, clock: SimulatedClock) => Json | Promise<Json>;

export interface Scripts {
  /** What a step does, by name; one that is not there gives its own name. */
  readonly steps?: Readonly<Record<string, Script>>;
  /** What a step is given now; its address if absent. */
  readonly input?: JsonObject;
  readonly repeatable?: (name: string) => boolean;
  /** Who needs a slot of this name before it begins. */
  readonly enter?: (name: string) => PreparedStep['enter'];
  /** The time that what undoes a step has by itself. */
  readonly undoMs?: number;
  readonly compensate?: (address: string, output: Json, locals: JsonObject) => void | Promise<void>;
  readonly tests?: Readonly<Record<string, boolean | ((at: string) => boolean)>>;
  readonly decide?: (test: string, at: string) => boolean;
}

export interface Stage {
  readonly clock: SimulatedClock;
  readonly workflow: WorkflowManifest;
  readonly journal: MemoryJournal;
  /** What was performed, in order: `ADDRESS` or `ADDRESS try N`. */
  readonly performed: string[];
  readonly undone: string[];
  run(options?: Partial<MachineOptions>): Promise<WalkEnd>;
  /** The log without its first event, short: `started a`, `completed a`. */
  short(): readonly string[];
}

const workflowOf = (parts: Partial<WorkflowManifest>): WorkflowManifest =>
  ({
    kind: 'Workflow',
    name: 'w',
    context_variables: {},
    components: [],
    hooks: {},
    news: 'none',
    ...parts,
  }) as WorkflowManifest;

/** A leaf step, or one of any other kind, as validation would leave it. */
export const step = (name: string, more: Readonly<Record<string, unknown>> = {}): Step =>
  ({ name, type: 'tool', target: 't', parameters: {}, ...more }) as unknown as Step;

export function createStage(
  workflow: readonly Step[] | Partial<WorkflowManifest>,
  scripts: Scripts = {},
  before: { readonly events?: readonly RunEvent[]; readonly clock?: SimulatedClock } = {},
): Stage {
  const clock = before.clock ?? createSimulatedClock();
  const journal = memoryJournal(clock, before.events);
  const performed: string[] = [];
  const undone: string[] = [];
  const executors: StepExecutors = {
    ready: ({ step: { name }, address }) =>
      name === 'unready'
        ? Promise.reject(new RuntimeError('no_such_path', `Nothing is at ${address}.`))
        : Promise.resolve({
            input: scripts.input ?? { at: address },
            repeatable: scripts.repeatable?.(name) ?? true,
            ...entered(scripts.enter?.(name)),
            async run(call) {
              performed.push(call.attempt === 1 ? call.address : `${call.address} try ${call.attempt}`);
              const script = scripts.steps?.[name];
              return script === undefined ? name : await script(call, clock);
            },
          }),
    async compensate({ address, locals }, output, _signal, begin) {
      await begin(scripts.repeatable?.('undo') ?? true, scripts.undoMs);
      undone.push(address);
      await scripts.compensate?.(address, output, locals);
    },
  };
  const decisions: Decisions = {
    async test(at: string, test: Test) {
      const written = scripts.tests?.[String(test)];
      const held =
        typeof written === 'function'
          ? written(at)
          : (written ?? scripts.decide?.(String(test), at) ?? test === 'true');
      journal.append({ type: 'if.decided', at_step: at, test: String(test), held });
      return held;
    },
    prompt: () => Promise.reject(new Error('no prompt is asked for here')),
    answer: () => Promise.reject(new Error('no state is asked for here')),
    verdict: () => Promise.reject(new Error('no verdict is asked for here')),
  };
  const scope: Scope = {
    forTemplate: (_source, locals) =>
      Promise.resolve({
        ...locals,
        steps: Object.fromEntries([...journal.state.outputs].map(([name, output]) => [name, { output }])),
        vars: Object.fromEntries(journal.state.variables),
      }),
    forTest: () => Promise.resolve({}),
  };
  const manifest = workflowOf(
    Array.isArray(workflow) ? { steps: workflow as Step[] } : (workflow as Partial<WorkflowManifest>),
  );
  return {
    clock,
    workflow: manifest,
    journal,
    performed,
    undone,
    run: (options = {}) =>
      runMachine({
        workflow: manifest,
        journal,
        executors,
        decisions,
        scope,
        clock,
        random: () => 0,
        signal: new AbortController().signal,
        ...options,
      }),
    short: () => journal.events.slice(1).map(shortly),
  };
}

const entered = (enter: PreparedStep['enter']): Pick<PreparedStep, 'enter'> =>
  enter === undefined ? {} : { enter };

function shortly(event: RunEvent): string {
  const what = event.type.replace(/^step\./, '');
  if (event.type === 'if.decided') return `decided ${event.at_step} ${event.held}`;
  if (event.type === 'state.entered') return `entered ${event.state}@${event.visit} by ${event.by}`;
  if (event.type === 'step.failed') return `failed ${event.step} ${event.error.code}`;
  if (event.type === 'step.skipped') return `skipped ${event.step} ${event.reason}`;
  return 'step' in event ? `${what} ${event.step}` : what;
}

export const boom = (code = 'boom'): never => {
  throw new RuntimeError(code, `${code}!`);
};

/** Settles once the signal is aborted. */
export const untilAborted = ({ signal }: StepAttempt): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
