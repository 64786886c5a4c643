import { afterAll } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { RunEventBody } from '../../src/log/run-event.ts';
import type { Model } from '../../src/models/model.ts';
import { createSandbox } from '../../src/tools/sandbox/create-sandbox.ts';
import { createScope, resolveDeep, type SessionAct, type SessionLink } from '../../src/workflows/scope.ts';
import type { Decisions } from '../../src/workflows/step-executor.ts';
import { createStepExecutors } from '../../src/workflows/steps/create-step-executors.ts';
import type { StepDeps } from '../../src/workflows/steps/step-deps.ts';
import { agentTargets } from '../tools/agent-targets.ts';
import { begin, doStep, failure, fakeJournal, type StepInProgress, workflowOf } from './fake-run.ts';
import { NOBODY_WORKS, reviewsOn } from './step-stand-ins.ts';

export interface Given extends StepInProgress {
  /** The workflow below its name; with `steps`, or only these. */
  readonly steps?: readonly object[];
  readonly document?: object;
  /** The agent's manifest, as YAML. */
  readonly agent?: string;
  readonly files?: Readonly<Record<string, string>>;
  /** What the model says, in turn. */
  readonly says?: readonly string[];
  readonly session?: boolean | 'ended';
  readonly deps?: Partial<StepDeps>;
}

async function given(
  sandbox: ReturnType<typeof createSandbox>,
  { steps = [], document, agent = '', files, says = [], session, deps, ...begun }: Given,
) {
  const clock = createSimulatedClock();
  const asked: { readonly model: string; readonly text: string }[] = [];
  const openModel = async (id: string): Promise<Model> => ({
    id,
    async stream({ messages }, sink) {
      asked.push({ model: id, text: messages[0]?.text ?? '' });
      sink.text(says[asked.length - 1] ?? 'nothing');
      return { finish: 'stop', usage: { input: 7, output: 3, cached: 2 } };
    },
  });
  const { table, folder } = await agentTargets({
    agent,
    files: files ?? {},
    options: {
      openModel,
      sandbox,
      clock: createSystemClock(),
      agents: [agentTarget('writer')],
    },
  });
  const workflow = workflowOf(document ?? { steps });
  const journal = fakeJournal(clock);
  begin(journal, begun);
  const acts: [string, SessionAct][] = [];
  const link: SessionLink = {
    session: 's1',
    agent: async () => ({ session_id: 's1', agent_name: 'tester', metadata: { a: 1 }, variables: { v: 1 } }),
    async ask(key, act) {
      acts.push([key, act]);
      return session !== 'ended';
    },
  };
  const scope = createScope({
    state: journal.state,
    workflow,
    ...(session === undefined ? { agentOf: () => ({ agent_name: 'tester' }) } : { session: link }),
  });
  const decisions: Decisions = {
    test: async () => true,
    prompt: async (step, address, locals) =>
      String(
        await resolveDeep(
          typeof step.prompt === 'string' ? step.prompt : `by ${step.prompt_artifact_id}`,
          scope,
          {
            what: step.name,
            locals,
            at: address,
          },
        ),
      ),
    answer: async (at, { invoke }, states) => `${invoke} ${at} ${states.join()}`,
    verdict: () => Promise.reject(new Error('nobody judges here')),
  };
  let letGo = false;
  const all: StepDeps = {
    workflow,
    journal,
    clock,
    scope,
    decisions,
    targets: table,
    host: table.deps,
    ask: table.ask,
    costOf: ({ input, output }) => (input + output) / 1000,
    session: session === undefined ? undefined : link,
    isReleased: () => letGo,
    takeSlot: () => () => undefined,
    runAgent: async ({ agent: name, input, vars, key }) => ({ name, input, key, vars: vars ?? null }),
    runWorkflow: async ({ workflow: name, input, key }) => ({ name, input, key }),
    reviews: reviewsOn(journal),
    ...NOBODY_WORKS,
    ...deps,
  };
  let executors = createStepExecutors(all);
  return {
    clock,
    journal,
    folder,
    asked,
    acts,
    executors,
    begin: (address: string, more?: Parameters<typeof doStep>[4]) =>
      doStep(executors, journal, workflow, address, more),
    do: async (address: string, more?: Parameters<typeof doStep>[4]) =>
      (await doStep(executors, journal, workflow, address, more)).result,
    fails: (address: string) =>
      failure(doStep(executors, journal, workflow, address).then(({ result }) => result)),
    ready: async (name: string) =>
      executors.ready({
        step: workflow.steps?.find((each) => each.name === name) as never,
        address: name,
        locals: {},
      }),
    stepNamed: (name: string) => workflow.steps?.find((each) => each.name === name) as never,
    compensate: (name: string, output: Json) =>
      executors.compensate(
        { step: workflow.steps?.find((each) => each.name === name) as never, address: name, locals: {} },
        output,
        new AbortController().signal,
        () => Promise.resolve(),
      ),
    /** The process lets go of the run, and another takes it up. */
    restart() {
      letGo = true;
      return () => {
        letGo = false;
        executors = createStepExecutors(all);
      };
    },
    answer(choice: string, answer: 'approved' | 'rejected' = 'approved', note?: string) {
      const review = journal.state.reviews.findLast((each) => each.answer === undefined)?.review ?? '';
      journal.append({
        type: 'review.resolved',
        review,
        answer,
        choice,
        by: 'ada',
        ...(note === undefined ? {} : { note }),
      });
    },
    signal: (event: string, data: JsonObject = {}) =>
      journal.append({ type: 'signal.received', event, data, from: 'test' }),
    typed: <Type extends RunEventBody['type']>(type: Type) =>
      journal.events.filter((event) => event.type === type) as unknown as Extract<
        RunEventBody,
        { readonly type: Type }
      >[],
  };
}

const agentTarget = (name: string) => ({
  kind: 'agent' as const,
  name,
  description: '',
  parameters: {},
  idempotent: true,
  start: 'on_close' as const,
  timeoutMs: 5_000,
  check: ({ input }: JsonObject) =>
    input === '' ? new RuntimeError('bad_parameters', '"/input" is "".') : undefined,
  run: () => Promise.reject(new Error('not here')),
});

export const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Runs of steps with a sandbox of this test file's own. */
export function stepStage() {
  const sandbox = createSandbox({ clock: createSystemClock() });
  afterAll(() => sandbox.close());
  return (asked: Given) => given(sandbox, asked);
}
