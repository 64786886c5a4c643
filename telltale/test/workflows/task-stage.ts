import type { InvokeRecord } from '../../src/lib/calls.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { createSimulatedClock, type SimulatedClock } from '../../src/lib/simulated-clock.ts';
import { foldRun } from '../../src/log/reduce-run.ts';
import type { RunEvent, RunEventBody, RunOrigin } from '../../src/log/run-event.ts';
import { emptyRun } from '../../src/log/run-state.ts';
import type { Model } from '../../src/models/model.ts';
import type { InvokeRequest } from '../../src/tools/artifacts/create-invoke.ts';
import type { TextQuestion } from '../../src/tools/llm/llm-targets.ts';
import type { TargetCall } from '../../src/tools/target.ts';
import { createDecisions } from '../../src/workflows/decisions.ts';
import type { Claim, Task, TaskReply, TaskReport, WorkerCall } from '../../src/workflows/guided/task.ts';
import { runMachine, type WalkEnd } from '../../src/workflows/machine/run-machine.ts';
import { createScope, runContext } from '../../src/workflows/scope.ts';
import { createStepExecutors } from '../../src/workflows/steps/create-step-executors.ts';
import type { StepDeps } from '../../src/workflows/steps/step-deps.ts';
import { begin, fakeJournal, workflowOf } from './fake-run.ts';

/** Thrown by a journal that was told to die. */
const DEAD = new Error('the process died');

/** What a worker reports next, given what it was told so far: its report number is one more than those words. */
export type Work = (
  task: Task,
  words: readonly TaskReply[],
  call: WorkerCall,
) => TaskReport | Promise<TaskReport>;

export interface Play {
  /** The workflow below its name. */
  readonly document: object;
  readonly work?: Work;
  /** What the verifying model says to its n-th question, from 0. */
  readonly says?: (nth: number, question: TextQuestion, call: TargetCall) => string | Promise<string>;
  /** What a person answers to the n-th question, from 0: the choice, and a note. */
  readonly person?: (nth: number, prompt: string) => readonly [choice: string, note?: string] | undefined;
  /** What an artifact answers. */
  readonly invoke?: (question: InvokeRequest) => Partial<InvokeRecord>;
  readonly origin?: Partial<RunOrigin>;
  readonly vars?: JsonObject;
  readonly clock?: SimulatedClock;
  readonly deps?: Partial<StepDeps>;
}

/** All that outlives a process: workers, models, people, and what they were asked. */
export interface TaskWorld {
  readonly clock: SimulatedClock;
  /** The words that each task was answered with. */
  readonly words: ReadonlyMap<string, readonly TaskReply[]>;
  /** What workers were asked: `give KEY`, `answer KEY NTH WORD`. */
  readonly calls: readonly string[];
  readonly tasks: readonly Task[];
  /** The tasks that are over, as workers were told. */
  readonly over: readonly string[];
  readonly agents: readonly (string | undefined)[];
  /** To the verifying model. */
  readonly questions: readonly TextQuestion[];
  readonly invoked: readonly InvokeRequest[];
  /** How often a person has answered. */
  people(): number;
  /** One process: walks from the log until the run ends, parks, or the process dies once the log has so many events. */
  walk(events: RunEvent[], diesAt?: number, signal?: AbortSignal): Promise<WalkEnd | 'dead'>;
  /** Walks until the run has ended. */
  play(): Promise<{
    readonly end: Exclude<WalkEnd, { readonly kind: 'parked' }>;
    readonly events: readonly RunEvent[];
    readonly of: ReturnType<typeof of>;
  }>;
}

export function taskWorld(play: Play): TaskWorld {
  const clock = play.clock ?? createSimulatedClock();
  const words = new Map<string, TaskReply[]>();
  const calls: string[] = [];
  const tasks: Task[] = [];
  const over: string[] = [];
  const agents: (string | undefined)[] = [];
  const questions: TextQuestion[] = [];
  const invoked: InvokeRequest[] = [];
  let people = 0;

  const next = async (task: Task, call: WorkerCall): Promise<TaskReport> => {
    call.signal.throwIfAborted();
    return (play.work ?? claimsAtOnce)(task, words.get(task.key) ?? [], call);
  };
  const workers: StepDeps['workers'] = {
    give(task, call) {
      calls.push(`give ${task.key}`);
      tasks.push(task);
      agents.push(call.agent);
      return next(task, call);
    },
    answer(task, nth, word, call) {
      calls.push(`answer ${task.key} ${nth} ${word.kind}`);
      const told = words.get(task.key) ?? [];
      words.set(task.key, told);
      if (nth === told.length + 1) told.push(word);
      else if (nth > told.length) throw new Error(`the report ${nth} was never made`);
      return next(task, call);
    },
    done: ({ key }) => void over.push(key),
  };
  const model: Model = { id: 'test/cheap', stream: () => Promise.reject(new Error('not here')) };
  const ask: StepDeps['ask'] = async (question, call) => {
    questions.push(question);
    const text = await (play.says ?? (() => PASS))(questions.length - 1, question, call);
    call.charge?.({ input: 100, output: 10 }, model);
    return text;
  };
  const workflow = workflowOf(play.document);

  const walk: TaskWorld['walk'] = async (
    events,
    diesAt = Number.POSITIVE_INFINITY,
    signal = new AbortController().signal,
  ) => {
    const live = fakeJournal(clock, foldRun(events, emptyRun()));
    const journal = {
      ...live,
      append(...[body, cause, beside]: Parameters<typeof live.append>) {
        if (events.length >= diesAt) throw DEAD;
        const place = live.append(body, cause, beside);
        events.push(live.events.at(-1) as RunEvent);
        return place;
      },
    };
    if (events.length === 0)
      begin(journal, {
        vars: play.vars ?? {},
        ...(play.origin === undefined ? {} : { origin: play.origin }),
      });
    const { state } = journal;
    for (const { review, prompt, answer } of state.reviews) {
      if (answer !== undefined) continue;
      const said = (play.person ?? (() => ['pass']))(people, prompt);
      if (said === undefined) continue;
      people++;
      const [choice, note] = said;
      const answered = choice === 'reject' || choice === 'fail' ? 'rejected' : 'approved';
      live.append({
        type: 'review.resolved',
        review,
        answer: answered,
        choice,
        by: 'ada',
        ...(note === undefined ? {} : { note }),
      });
      events.push(live.events.at(-1) as RunEvent);
    }
    const scope = createScope({ state, workflow, agentOf: () => ({ agent_name: 'tester' }) });
    const decisions = createDecisions({
      journal,
      scope,
      hasEnded: () => new AbortController().signal,
      components: workflow.components,
      artifacts: { read: async () => undefined },
      context: (step) => runContext(state, step),
      invoke: async (question) => {
        invoked.push(question);
        const { where, invocation } = question;
        const { invoke: artifact, method, args, fallback } = invocation;
        const record = { where, artifact, method, args, version: 1, cached: false, ms: 1, cost: 0 };
        return { ...record, result: fallback, ...play.invoke?.(question) };
      },
    });
    let letGo = false;
    const executors = createStepExecutors({
      workflow,
      journal,
      clock,
      scope,
      decisions,
      workers,
      ask,
      targets: { find: () => undefined, all: [] },
      host: undefined as never,
      takeSlot: () => () => undefined,
      costOf: ({ input, output }) => (input + output) / 1000,
      isReleased: () => letGo,
      runAgent: () => Promise.reject(new Error('no agent is run here')),
      runWorkflow: () => Promise.reject(new Error('no workflow is run here')),
      targetsOf: () => Promise.reject(new Error('no hands are lent here')),
      reviews: {
        open: (request, cause) => void journal.append({ type: 'review.requested', ...request }, cause),
        close(review, end) {
          if (state.reviews.some((each) => each.review === review && each.answer === undefined))
            journal.append({ type: 'review.resolved', review, ...end });
        },
      },
      ...play.deps,
    });
    try {
      return await runMachine({
        workflow,
        journal,
        executors,
        decisions,
        scope,
        clock,
        signal,
        random: () => 0,
        onSuspended() {
          letGo = true;
          return 'release';
        },
      });
    } catch (thrown) {
      if (thrown === DEAD) return 'dead';
      throw thrown;
    }
  };

  return {
    clock,
    words,
    calls,
    tasks,
    over,
    agents,
    questions,
    invoked,
    people: () => people,
    walk,
    async play() {
      const events: RunEvent[] = [];
      for (let round = 0; round < MAX_WALKS; round++) {
        const end = await walk(events);
        if (end !== 'dead' && end.kind !== 'parked') return { end, events, of: of(events) };
      }
      throw new Error('the run never ends');
    },
  };
}

const MAX_WALKS = 50;

export const of =
  (events: readonly RunEvent[]) =>
  <Type extends RunEvent['type']>(type: Type) =>
    events.filter((event) => event.type === type) as unknown as Extract<
      RunEventBody,
      { readonly type: Type }
    >[];

/** The log, short, without what differs from run to run. */
export const short = (events: readonly RunEvent[]): readonly string[] =>
  events.map((event) => {
    switch (event.type) {
      case 'verify':
        return `verify ${event.step} ${event.nth} ${event.assessment}`;
      case 'step.claimed':
      case 'step.stuck':
        return `${event.type} ${event.step} ${event.nth}`;
      case 'review.requested':
        return `asked ${event.step} ${event.kind} ${event.nth ?? ''}`.trimEnd();
      case 'review.resolved':
        return `answered ${event.choice}`;
      case 'variable.changed':
        return `variable ${event.name}=${JSON.stringify(event.to)} by ${event.by}`;
      default:
        return 'step' in event ? `${event.type} ${event.step}` : event.type;
    }
  });

export const NOTES = 'Read the three files, mended the parser and saw the whole suite pass afterwards.';

export const claim = (nth: number, more: Partial<Claim> = {}): TaskReport => ({
  kind: 'claimed',
  nth,
  by: 'ses_1',
  turns: nth,
  notes: NOTES,
  context_updates: {},
  artifacts: [],
  evidence: [],
  work: [],
  ...more,
});

const claimsAtOnce: Work = (_task, words) => claim(words.length + 1);

export const verdict = (assessment: string, more: Readonly<Record<string, Json>> = {}): string =>
  JSON.stringify({ assessment, confidence: 'high', reasoning: `It is a ${assessment}.`, ...more });

export const PASS = verdict('pass');
