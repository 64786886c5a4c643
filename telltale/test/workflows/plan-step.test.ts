import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { foldRun } from '../../src/log/reduce-run.ts';
import type { RunEvent, RunEventBody } from '../../src/log/run-event.ts';
import { emptyRun } from '../../src/log/run-state.ts';
import type { Model } from '../../src/models/model.ts';
import { compileCheck } from '../../src/tools/check-parameters.ts';
import { createAskText } from '../../src/tools/llm/llm-targets.ts';
import type { Target, TargetCall, TargetKind } from '../../src/tools/target.ts';
import { callablesOf } from '../../src/workflows/guided/plan/callables.ts';
import { filledParameters } from '../../src/workflows/guided/plan/execute-plan.ts';
import type { VerifyClaim } from '../../src/workflows/guided/plan/plan-case.ts';
import { readPlan } from '../../src/workflows/guided/plan/read-plan.ts';
import { checkPlan, workOnPlan } from '../../src/workflows/guided/plan/work-on-plan.ts';
import { createScope, resolveDeep } from '../../src/workflows/scope.ts';
import type { Decisions, StepHooks } from '../../src/workflows/step-executor.ts';
import { createStepExecutors } from '../../src/workflows/steps/create-step-executors.ts';
import type { StepDeps } from '../../src/workflows/steps/step-deps.ts';
import { moreRuns } from '../more-runs.ts';
import { begin, doStep, type FakeJournal, failure, fakeJournal, workflowOf } from './fake-run.ts';
import { NOBODY_WORKS, reviewsOn } from './step-stand-ins.ts';

const NOTES =
  'The page was fetched from the archive, its title was kept under a new key, and nothing else changed.';

interface Made {
  readonly kind?: TargetKind;
  readonly schema?: JsonObject;
  readonly idempotent?: boolean;
  readonly timeoutMs?: number;
  readonly needs?: Target['needs'];
  readonly slots?: Target['slots'];
  readonly run?: (call: TargetCall) => Json | Promise<Json>;
}

/** What was called: the target and its parameters, with the key. */
interface Called {
  readonly name: string;
  readonly input: JsonObject;
  readonly key: string;
  readonly granted?: readonly string[] | undefined;
}

interface Given {
  readonly step?: object;
  readonly targets?: Readonly<Record<string, Made>>;
  /** What the model says, in turn: a plan as JSON, or a text. */
  readonly says?: readonly (string | readonly object[] | Error)[];
  readonly deps?: Partial<StepDeps>;
  /** Events that are on the log already. */
  readonly events?: readonly RunEvent[];
  /** The process dies once so many events are on the log. */
  readonly diesAfter?: number;
}

const TEXT: JsonObject = {
  type: 'object',
  properties: { text: { type: 'string' }, n: { type: 'integer' } },
  additionalProperties: false,
};

const TARGETS: Readonly<Record<string, Made>> = {
  fetch: {
    schema: { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] },
    idempotent: true,
    run: ({ input }) => ({ title: `about ${String(input.url)}`, size: 3 }),
  },
  keep: { schema: TEXT, run: ({ input }) => ({ kept: input.text ?? null }) },
  broken: { schema: TEXT, run: () => Promise.reject(new RuntimeError('boom', 'It broke.')) },
};

class Died extends Error {}

function given({ step = {}, targets = TARGETS, says = [], deps, events = [], diesAfter }: Given = {}) {
  const clock = createSimulatedClock();
  const asked: { readonly model: string; readonly text: string }[] = [];
  const called: Called[] = [];
  let isDead = false;
  const openModel = async (id: string): Promise<Model> => ({
    id,
    async stream({ messages }, sink) {
      if (isDead) throw new Died();
      asked.push({ model: id, text: messages[0]?.text ?? '' });
      const said = says[asked.length - 1] ?? NOTES;
      if (said instanceof Error) throw said;
      sink.text(typeof said === 'string' ? said : JSON.stringify(said));
      return { finish: 'stop', usage: { input: 7, output: 3 } };
    },
  });
  const all = Object.entries(targets).map(([name, made]) => targetOf(name, made, called, () => isDead));
  const workflow = workflowOf({
    steps: [{ name: 'make', type: 'plan', prompt: 'Keep the title of a.example.', ...step }],
  });
  const journal = mortalJournal(clock, events, diesAfter, () => {
    isDead = true;
  });
  if (events.length === 0) begin(journal);
  const scope = createScope({ state: journal.state, workflow, agentOf: () => ({ agent_name: 'tester' }) });
  const decisions: Decisions = {
    test: async (_at, test) => test === 'true',
    prompt: async (each, address, locals) =>
      String(await resolveDeep(String(each.prompt), scope, { what: each.name, locals, at: address })),
    answer: async () => '',
    verdict: async () => ({ result: 'pass' }),
  };
  const stepDeps: StepDeps = {
    workflow,
    journal,
    clock,
    scope,
    decisions,
    targets: { all, find: (kind, name) => all.find((each) => each.kind === kind && each.name === name) },
    host: {} as StepDeps['host'],
    ask: createAskText({ model: 'own', models: { fast: 'quick' } }, openModel),
    costOf: ({ input, output }) => (input + output) / 1000,
    isReleased: () => isDead,
    takeSlot: () => () => undefined,
    runAgent: async ({ agent, input, key }) => ({ agent, input, key }),
    runWorkflow: async ({ workflow: name, input, key }) => ({ name, input, key }),
    reviews: reviewsOn(journal),
    ...NOBODY_WORKS,
    ...deps,
  };
  const executors = createStepExecutors(stepDeps);
  return {
    clock,
    journal,
    asked,
    called,
    workflow,
    executors,
    stepDeps,
    begin: (attempt = 1) => doStep(executors, journal, workflow, 'make', { attempt }),
    do: async (attempt = 1) => (await doStep(executors, journal, workflow, 'make', { attempt })).result,
    fails: () => failure(doStep(executors, journal, workflow, 'make').then(({ result }) => result)),
    answer(answer: 'approved' | 'rejected', note?: string) {
      const open = journal.state.reviews.findLast((each) => each.answer === undefined);
      journal.append({
        type: 'review.resolved',
        review: open?.review ?? '',
        answer,
        choice: answer === 'approved' ? 'approve' : 'reject',
        by: 'ada',
        ...(note === undefined ? {} : { note }),
      });
    },
    typed: <Type extends RunEventBody['type']>(type: Type) =>
      journal.events.filter((event) => event.type === type) as unknown as Extract<
        RunEventBody,
        { readonly type: Type }
      >[],
  };
}

function targetOf(name: string, made: Made, called: Called[], isDead: () => boolean): Target {
  const {
    kind = 'tool',
    schema = { type: 'object' },
    idempotent = false,
    timeoutMs,
    needs,
    slots,
    run,
  } = made;
  return {
    kind,
    name,
    idempotent,
    slots,
    parameters: schema,
    start: 'on_close',
    description: `What ${name} does`,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(needs === undefined ? {} : { needs: needs }),
    check: compileCheck(schema, `${kind} "${name}"`),
    async run(call) {
      if (isDead()) throw new Died();
      called.push({ name, input: call.input, key: call.idempotencyKey, granted: call.granted });
      return run === undefined ? 'done' : run(call);
    },
  };
}

/** A journal on which nothing more is written once its process has died. */
function mortalJournal(
  clock: ReturnType<typeof createSimulatedClock>,
  before: readonly RunEvent[],
  diesAfter: number | undefined,
  onDeath: () => void,
): FakeJournal {
  const journal = fakeJournal(clock, foldRun(before, emptyRun()));
  journal.events.push(...before);
  const guard = () => {
    if (diesAfter === undefined || journal.events.length < diesAfter) return;
    onDeath();
    throw new Died();
  };
  return {
    ...journal,
    append(...event) {
      guard();
      return journal.append(...event);
    },
    async flushed() {
      guard();
    },
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

const PLAN = [
  { action: 'fetch', parameters: { url: 'a.example' }, expect: 'result.size > 0' },
  { action: 'keep', parameters: { text: '${results[0].title}' }, expect: 'result.kept == results[0].title' },
];
const OUTPUT = {
  notes: NOTES,
  results: [
    { action: 'fetch', output: { title: 'about a.example', size: 3 } },
    { action: 'keep', output: { kept: 'about a.example' } },
  ],
};

describe('a plan that comes to its end', () => {
  test('takes two requests to the model, however many actions it has', async () => {
    const run = given({ says: [PLAN] });
    expect(await run.do()).toEqual(OUTPUT);
    expect(run.asked).toHaveLength(2);
    expect(run.typed('model.used')).toMatchObject([
      { step: 'make', model: 'own', usage: { input: 7, output: 3 }, cost_usd: 0.01 },
      { step: 'make', model: 'own' },
    ]);
    expect(run.called).toMatchObject([
      { name: 'fetch', key: 'run1:make/1.0' },
      { name: 'keep', input: { text: 'about a.example' }, key: 'run1:make/1.1' },
    ]);
    expect(run.journal.events.map(({ type }) => type)).toEqual([
      'workflow.started',
      'step.started',
      'model.used',
      'plan.made',
      'plan.acting',
      'plan.acted',
      'plan.acting',
      'plan.acted',
      'model.used',
      'step.completed',
    ]);
    expect(run.typed('plan.acting')).toMatchObject([{ repeatable: true }, { repeatable: false }]);
  });

  test('takes a slot of what it calls before the action is on the log', async () => {
    const story: string[] = [];
    const fetch = { ...TARGETS.fetch, slots: { key: 'tool "fetch"', max: 1 } } as Made;
    const run = given({
      targets: { ...TARGETS, fetch },
      says: [PLAN],
      deps: {
        takeSlot(key) {
          story.push(`take ${key}, ${run.typed('plan.acting').length} begun`);
          return () => story.push(`free, ${run.typed('plan.acting').length} begun`);
        },
      },
    });
    expect(await run.do()).toEqual(OUTPUT);
    expect(story).toEqual(['take tool "fetch", 0 begun', 'free, 1 begun']);
  });

  test('is asked of the step’s model, with what can be called and nothing of the procedure', async () => {
    const run = given({
      step: {
        model: 'fast',
        tools: ['keep'],
        fragments: [
          { text: 'Mind it.', if: 'true' },
          { text: 'Not this.', if: 'false' },
        ],
      },
      targets: { ...TARGETS, look: { kind: 'internal' }, sum: { kind: 'llm' } },
      says: [[{ action: 'keep', parameters: { text: 'x' } }]],
    });
    await run.do();
    const [plan, notes] = run.asked;
    expect(plan?.model).toBe('quick');
    expect(plan?.text).toContain('Keep the title of a.example.\n\nMind it.');
    expect(plan?.text).toContain('"keep" (tool): What keep does. Parameters: {"type":"object"');
    expect(plan?.text).not.toMatch(/Not this|"fetch"|"look"|"sum"|make|run1/);
    expect(notes?.text).toContain('"keep" with {"text":"x"} gave {"kept":"x"}');
    expect(notes?.text).not.toMatch(/\bmake\b|run1/);
  });

  test('may call relics, agents and workflows as steps do, each with a key of its own', async () => {
    const run = given({
      targets: {
        notes: { kind: 'relic', run: () => [1, 2] },
        writer: { kind: 'agent', schema: { type: 'object', properties: { input: { type: 'string' } } } },
        publish: { kind: 'workflow', timeoutMs: Number.POSITIVE_INFINITY },
        flow: { kind: 'workflow' },
      },
      says: [
        [
          { action: 'notes', parameters: { key: 'k' } },
          { action: 'writer', parameters: { input: 'Write of ${results[0][1]}.' } },
          { action: 'publish', parameters: { all: '${results[0]}' } },
        ],
      ],
    });
    expect(await run.do()).toMatchObject({
      results: [
        { output: [1, 2] },
        { output: { agent: 'writer', input: 'Write of 2.', key: 'run1.make/1.1' } },
        { output: { name: 'publish', input: { all: [1, 2] }, key: 'run1.make/1.2' } },
      ],
    });
    expect(run.asked[0]?.text).not.toContain('"flow"'); // the workflow that plans
  });

  test('calls a name that two kinds share by kind and name', () => {
    const all = (['tool', 'relic'] as const).map((kind) => targetOf('keep', { kind }, [], () => false));
    const callables = callablesOf({ all }, ['keep'], { name: 'w' });
    expect([...callables].map(([name, { kind }]) => [name, kind])).toEqual([
      ['tool:keep', 'tool'],
      ['relic:keep', 'relic'],
    ]);
  });

  test('may be another agent’s, with its model, tools and relics', async () => {
    const lent = given({
      says: [[{ action: 'theirs', parameters: {} }]],
      targets: { theirs: {}, boss: { kind: 'agent' } },
    });
    const run = given({
      step: { agent: 'planner' },
      deps: {
        targetsOf: async (agent) => {
          expect(agent).toBe('planner');
          return lent.stepDeps;
        },
      },
    });
    expect(await run.do()).toMatchObject({ results: [{ action: 'theirs', output: 'done' }] });
    expect([lent.asked.length, run.asked.length]).toEqual([2, 0]);
    expect(lent.asked[0]?.text).not.toContain('"boss"');
  });

  test.each([
    ['alone', JSON.stringify(PLAN)],
    ['in a fence', `Here it is:\n\`\`\`json\n${JSON.stringify(PLAN, null, 2)}\n\`\`\`\nDone [1].`],
    ['in prose', `I use [both] tools: ${JSON.stringify(PLAN)} and {that} is all.`],
    ['in an object', JSON.stringify({ thought: 'so', plan: PLAN })],
    ['with remarks', JSON.stringify(PLAN.map((each, id) => ({ id, ...each, reason: 'because' })))],
  ])('is read %s', (_, answer) => {
    expect(readPlan(answer)).toEqual({ ok: true, value: PLAN });
  });
});

describe('a plan that cannot be executed', () => {
  const told = async (plan: readonly object[] | string) => {
    const run = given({ says: [plan, PLAN] });
    expect(await run.do()).toEqual(OUTPUT);
    expect(run.asked).toHaveLength(3);
    const [first, second] = run.typed('plan.made');
    expect(second?.problem).toBeUndefined();
    expect(run.asked[1]?.text).toContain(first?.problem ?? 'nothing was wrong');
    return first?.problem;
  };

  test('is told what is wrong with each action, and planned once more', async () => {
    const problem = await told([
      { action: 'fetchh', parameters: {} },
      { action: 'fetch', parameters: { uri: 'x' } },
      { action: 'keep', parameters: { text: 'x' }, expect: 'result.kept ==' },
      { action: 'keep', parameters: { text: 'x' }, expect: 'vars.secret == 1' },
      { action: 'keep', parameters: { text: '${results[4]}' } },
      { action: 'keep', parameters: { text: '${results[0]}', n: 'many' } },
      { action: 'keep', parameters: { n: 'no. ${results[0]}' } },
      { action: 'keep', parameters: { text: '${agent.environment.KEY}' } },
    ]);
    expect(problem?.split('\n')).toEqual([
      'Action 1 ("fetchh"): it cannot be called. Did you mean "fetch"?',
      expect.stringMatching(/^Action 2 .*"url" is missing.*did you mean "url"/),
      expect.stringMatching(/^Action 3 .*"expect" cannot be read/),
      expect.stringMatching(/^Action 4 .*"expect" reads "vars"/),
      'Action 5 ("keep"): it refers to results[4], but only results[0] to results[3] come before it.',
      expect.stringMatching(/^Action 6 .*"\/n" is "many"; it must be a whole number/),
      expect.stringMatching(/^Action 7 .*"\/n" is "no. .*it must be a whole number/),
      expect.stringMatching(/^Action 8 .*refers to nothing/),
    ]);
  });

  test.each([
    ['no list', 'I cannot do that.', 'It begins: "I cannot do that."'],
    ['nothing', '', 'The answer is empty'],
    ['an empty list', '[]', 'The plan has no actions'],
    ['a list of names', '["fetch"]', 'Action 1: it is "fetch", not an object'],
    ['no name', '[{"tool": "fetch"}]', 'it has the key "tool"'],
    ['a condition', '[{"action": "fetch", "parameters": {}, "if": "x"}]', 'it has the key "if"'],
    ['parameters that are none', '[{"action": "fetch", "parameters": [1]}]', '"parameters" is a list of 1'],
    ['a test that is none', '[{"action": "fetch", "expect": 1}]', '"expect" is 1'],
    [
      'too many actions',
      JSON.stringify(Array(51).fill({ action: 'fetch' })),
      'has 51 actions; 50 are the most',
    ],
    [
      'too much',
      JSON.stringify([{ action: 'x', parameters: { a: 'b'.repeat(100_001) } }]),
      'characters; 100000',
    ],
    [
      'depth',
      `[{"action": "x", "parameters": {"a": ${'['.repeat(9_000)}${']'.repeat(9_000)}}}]`,
      'nested deeper',
    ],
  ])('is refused with %s', async (_, answer, problem) => {
    expect(await told(answer)).toContain(problem);
  });

  test('fails the step the second time, having called nothing', async () => {
    const run = given({ says: ['No.', [{ action: 'rm', parameters: {} }]] });
    const error = await run.fails();
    expect(error).toMatchObject({
      code: 'plan_failed',
      message: expect.stringMatching(
        /^The second plan of step "make" failed.*Action 1 \("rm"\): it cannot be called/,
      ),
    });
    expect([run.asked.length, run.called.length]).toEqual([2, 0]);
    expect(run.typed('plan.made')).toMatchObject([
      { nth: 1, plan: [] },
      { nth: 2, plan: [{ action: 'rm' }] },
    ]);
  });

  test('may be one that the model broke off, but not one that it never gave', async () => {
    const cut = given({ says: ['x'.repeat(300_000), PLAN] });
    expect(await cut.do()).toEqual(OUTPUT);
    const down = given({ says: [new RuntimeError('model_unreachable', 'Nobody answers.')] });
    expect((await down.fails()).code).toBe('model_unreachable');
    const later = given({ says: ['No.', new RuntimeError('model_unreachable', 'Nobody answers.')] });
    expect(await later.fails()).toMatchObject({
      code: 'plan_failed',
      message: expect.stringContaining('A new plan could not be had: '),
      cause: { code: 'model_unreachable' },
    });
  });

  test('is refused before the first request where "tools" names what is not there', async () => {
    const run = given({ step: { tools: ['fetc'] } });
    expect(await run.fails()).toMatchObject({ code: 'target_unknown', hint: 'Did you mean "fetch"?' });
    expect((await given({ targets: {} }).fails()).code).toBe('target_unknown');
  });
});

describe('an action that fails', () => {
  const REST = [{ action: 'keep', parameters: { text: '${results[0].title}' } }];

  test('gives the model one new plan for the rest, with what was done and what failed', async () => {
    const run = given({ says: [[PLAN[0] as object, { action: 'broken', parameters: {} }], REST] });
    expect(await run.do()).toEqual(OUTPUT);
    expect(run.asked).toHaveLength(3);
    expect(run.called.map(({ key }) => key)).toEqual(['run1:make/1.0', 'run1:make/1.1', 'run1:make/2.0']);
    const text = run.asked[1]?.text ?? '';
    expect(text).toContain(
      'results[0]: "fetch" with {"url":"a.example"} gave {"title":"about a.example","size":3}',
    );
    expect(text).toContain('The first action of your new plan gives results[1].');
    expect(text).toContain('Action 2 ("broken") failed with boom: It broke.');
    expect(text).toContain('do not repeat what is done');
  });

  test('may be one whose result is not what was expected: it is done, and counts among the results', async () => {
    const run = given({
      says: [[{ action: 'fetch', parameters: { url: 'b' }, expect: 'result.size > 3' }], REST],
    });
    expect(await run.do()).toMatchObject({
      results: [{ output: { title: 'about b' } }, { output: { kept: 'about b' } }],
    });
    expect(run.typed('plan.acted')[0]).toMatchObject({
      held: false,
      output: { size: 3 },
      error: { code: 'not_expected' },
    });
    expect(run.asked[1]?.text).toContain(
      'Action 1 ("fetch") did not give what was expected. Expected: result.size > 3. It does not hold. It gave {"title":"about b","size":3}',
    );
    expect(run.asked[2]?.text).toContain('results[0] was not what was expected');
  });

  test('fails the step the second time, by name, with what was expected and what came', async () => {
    const run = given({
      says: [
        [{ action: 'broken', parameters: {} }],
        [PLAN[0] as object, { action: 'keep', parameters: { text: 'x' }, expect: 'result.kept == "y"' }],
      ],
    });
    const error = await run.fails();
    expect(error.code).toBe('plan_failed');
    expect(error.message).toBe(
      'The second plan of step "make" failed. Action 2 ("keep") did not give what was expected. Expected: result.kept == "y". It does not hold. It gave {"kept":"x"}',
    );
    expect(run.asked).toHaveLength(2);
  });

  test('may be one whose references lead nowhere, or to what the schema refuses: it is not called', async () => {
    const run = given({
      says: [
        [PLAN[0] as object, { action: 'keep', parameters: { text: '${results[0].name}' } }],
        [{ action: 'keep', parameters: { text: '${results[0].size}' } }],
      ],
    });
    expect((await run.fails()).message).toContain('"/text" is 3; it must be text');
    expect(run.asked[1]?.text).toContain('"results[0].name" does not exist');
    expect(run.called).toHaveLength(1);
  });

  test('may be one that takes too long, or whose test cannot be evaluated', async () => {
    const run = given({
      targets: {
        slow: {
          timeoutMs: 500,
          run: ({ signal }) =>
            new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        },
        keep: {},
      },
      says: [[{ action: 'slow' }], [{ action: 'keep', expect: 'result.a.b > 1' }]],
    });
    const doing = await run.begin();
    await settled();
    await run.clock.advance(500);
    expect((await failure(doing.result)).message).toContain('The test could not be evaluated');
    expect(run.typed('plan.acted')[0]).toMatchObject({ error: { code: 'timeout' } });
  });

  test('is not one where the step is stopped: nothing more is asked or written', async () => {
    const run = given({
      targets: { slow: { run: () => new Promise(() => {}) } },
      says: [[{ action: 'slow' }]],
    });
    const doing = await run.begin();
    await settled();
    const before = run.journal.events.length;
    doing.stop();
    await settled();
    expect([run.asked.length, run.journal.events.length]).toEqual([1, before]);
  });

  test('of another try of the step does not meet the key of one before', async () => {
    const run = given({ says: ['No.', 'No.', [{ action: 'keep', parameters: {} }]] });
    await run.fails();
    run.journal.append({
      type: 'step.retrying',
      step: 'make',
      attempt: 2,
      due: 0,
      error: { code: 'x', message: '', retryable: false },
    });
    await run.do(2);
    expect(run.called).toMatchObject([{ key: 'run1:make#2/1.0' }]);
    expect(run.typed('plan.made').map(({ attempt, nth }) => [attempt, nth])).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
    ]);
  });

  test('is one whose result would make the log too long', async () => {
    const big = 'x'.repeat(3 * 1024 * 1024);
    const run = given({
      targets: { big: { run: () => big }, keep: {} },
      says: [[{ action: 'big' }, { action: 'big' }], [{ action: 'keep' }]],
    });
    expect(await run.do()).toMatchObject({ results: [{ action: 'big' }, { action: 'keep' }] });
    expect(run.typed('plan.acted')[1]).toMatchObject({ error: { code: 'output_too_large' } });
    expect(Math.max(...run.asked.map(({ text }) => text.length))).toBeLessThan(20_000);
  });
});

describe('the notes', () => {
  test('are asked for once more with the reason, where they say nothing', async () => {
    const run = given({ says: [PLAN, 'Done.', JSON.stringify({ notes: NOTES })] });
    expect(await run.do()).toEqual(OUTPUT);
    expect(run.asked).toHaveLength(3);
    expect(run.asked[2]?.text).toContain(
      'Your notes do not count: The step is not completed. Its notes have 5 characters',
    );
  });

  test.each([
    ['say nothing twice', ['Done.', 'Done again.'], 4],
    ['cannot be had', [new RuntimeError('model_unreachable', 'Nobody answers.')], 3],
  ])(
    'are the runtime’s own where those of the model %s: what was done is not lost',
    async (_, said, _calls) => {
      const run = given({ says: [PLAN, ...said] });
      const output = (await run.do()) as { readonly notes: string; readonly results: Json };
      expect(output.results).toEqual(OUTPUT.results);
      expect(output.notes).toContain('The plan was executed: 2 actions.');
      expect(output.notes).toContain('2. keep: {"kept":"about a.example"}');
      expect(run.typed('audit')).toMatchObject([{ who: 'runtime', what: expect.stringContaining('"make"') }]);
      expect(run.called).toHaveLength(2);
    },
  );
});

describe('a person', () => {
  const APPROVED = { approval: 'always' };

  test('approves what is executed, and sees every action with its parameters', async () => {
    const run = given({ step: APPROVED, says: [PLAN] });
    const doing = await run.begin();
    await settled();
    expect(doing.suspended()?.for).toMatch(/^review rev_/);
    expect(run.called).toEqual([]);
    const [asked] = run.typed('review.requested');
    expect(asked).toMatchObject({
      kind: 'plan',
      step: 'make',
      options: ['approve', 'reject'],
      call: {
        target: 'the plan of step "make"',
        because: 'approval: always',
        input: { plan: 1, actions: PLAN },
      },
    });
    expect(asked?.prompt).toContain(
      '1. fetch {"url":"a.example"}\n   expects result.size > 0\n2. keep {"text":"${results[0].title}"}',
    );
    run.answer('approved');
    expect(await doing.result).toEqual(OUTPUT);
    expect(run.asked).toHaveLength(2);
  });

  test('who rejects it with a note has it planned once more, and is asked again', async () => {
    const other = [{ action: 'keep', parameters: { text: 'by hand' } }];
    const run = given({ step: APPROVED, says: [PLAN, other] });
    const doing = await run.begin();
    await settled();
    run.answer('rejected', 'Do not fetch anything.');
    await settled();
    expect(run.asked[1]?.text).toContain(
      'A person rejected the plan before it was executed: Do not fetch anything.',
    );
    expect(run.typed('review.requested')).toHaveLength(2);
    expect(run.called).toEqual([]);
    run.answer('approved');
    expect(await doing.result).toMatchObject({ results: [{ action: 'keep', output: { kept: 'by hand' } }] });
  });

  test('who rejects it without one, or for the second time, fails the step', async () => {
    const once = given({ step: APPROVED, says: [PLAN] });
    const first = await once.begin();
    await settled();
    once.answer('rejected');
    expect(await failure(first.result)).toMatchObject({
      code: 'rejected',
      message: 'The plan of step "make" was rejected by ada.',
    });
    expect(once.asked).toHaveLength(1);
    const twice = given({ step: APPROVED, says: [PLAN, PLAN] });
    const second = await twice.begin();
    await settled();
    twice.answer('rejected', 'No.');
    await settled();
    twice.answer('rejected', 'Still no.');
    expect(await failure(second.result)).toMatchObject({
      code: 'rejected',
      message: expect.stringContaining('Still no.'),
    });
    expect([twice.asked.length, twice.called.length]).toEqual([2, 0]);
  });

  test('is asked anew about a second plan, also where it is the first over again', async () => {
    const plan = [PLAN[0] as object, { action: 'broken', parameters: {} }];
    const run = given({ step: APPROVED, says: [plan, plan] });
    const doing = await run.begin();
    await settled();
    run.answer('approved');
    await settled();
    const [, again] = run.typed('review.requested');
    expect(again?.prompt).toContain('Done before: results[0] fetch gave');
    expect(run.called).toHaveLength(2);
    run.answer('approved');
    expect((await failure(doing.result)).code).toBe('plan_failed');
    expect(run.called).toHaveLength(4);
  });

  const DEPLOY: Made = {
    needs: ({ text }) => ({
      target: 'tool "deploy"',
      what: `Deploy ${String(text)}?`,
      because: 'approval: always',
      grants: [`deploy ${String(text)}`],
    }),
    run: () => 'deployed',
  };

  test('permits an action that needs it, inside of a plan too', async () => {
    const run = given({
      targets: { ...TARGETS, deploy: DEPLOY },
      says: [[PLAN[0] as object, { action: 'deploy', parameters: { text: '${results[0].title}' } }]],
    });
    const doing = await run.begin();
    await settled();
    expect(doing.suspended()?.for).toMatch(/^review rev_/);
    expect(run.typed('review.requested')).toMatchObject([
      { step: 'make/1.1', prompt: 'Deploy about a.example?', call: { input: { text: 'about a.example' } } },
    ]);
    expect(run.typed('plan.acting')).toHaveLength(1); // of the other: nothing is in doubt while a person thinks
    run.answer('approved');
    expect(await doing.result).toMatchObject({ results: [{}, { output: 'deployed' }] });
    expect(run.called.at(-1)?.granted).toEqual(['deploy about a.example']);
  });

  test('who refuses it has failed the action, and the model plans the rest', async () => {
    const run = given({
      targets: { ...TARGETS, deploy: DEPLOY },
      says: [[{ action: 'deploy', parameters: { text: 'x' } }], [{ action: 'keep', parameters: {} }]],
    });
    const doing = await run.begin();
    await settled();
    run.answer('rejected', 'Not on a Friday');
    expect(await doing.result).toMatchObject({ results: [{ action: 'keep' }] });
    expect(run.asked[1]?.text).toContain(
      'failed with not_permitted: A person refused the call of tool "deploy" (ada): Not on a Friday.',
    );
  });
});

describe('hooks', () => {
  test('stand around every action of a plan: they change, refuse and hear of failures', async () => {
    const heard: string[] = [];
    const hooks: StepHooks = {
      async before({ id, name, parameters }) {
        heard.push(`before ${id} ${name}`);
        if (parameters.text === 'bad') throw new RuntimeError('hook_refused', 'Not that.');
        return name === 'keep' ? { text: 'changed' } : parameters;
      },
      after: async ({ name }, result) => (name === 'keep' ? { seen: result } : result),
      failed: async ({ id }, { code }) => void heard.push(`failed ${id} ${code}`),
    };
    const run = given({
      deps: { hooksOf: () => hooks },
      says: [
        [
          { action: 'keep', parameters: { text: 'x' } },
          { action: 'broken', parameters: {} },
        ],
        [{ action: 'keep', parameters: { text: 'bad' } }],
      ],
    });
    expect((await run.fails()).message).toContain('failed with hook_refused: Not that.');
    expect(run.typed('plan.acted')[0]).toMatchObject({ output: { seen: { kept: 'changed' } } });
    expect(heard).toEqual([
      'before make/1.0 keep',
      'before make/1.1 broken',
      'failed make/1.1 boom',
      'before make/2.0 keep',
    ]);
    expect(run.called).toHaveLength(2);
  });
});

describe('a verifier', () => {
  const VERIFY = { verify: { instructions: 'Is the title kept?' } };

  async function judged(...verdicts: readonly Awaited<ReturnType<VerifyClaim>>[]) {
    const run = given({
      step: VERIFY,
      says: [PLAN, NOTES, [{ action: 'keep', parameters: { text: 'more' } }]],
    });
    const step = run.workflow.steps?.[0] as never;
    const claims: Parameters<VerifyClaim>[1][] = [];
    const input = { prompt: 'Keep it.' };
    const cause = run.journal.append({
      type: 'step.started',
      step: 'make',
      attempt: 1,
      input,
      repeatable: true,
    });
    const result = workOnPlan({
      step,
      prompt: input.prompt,
      callables: callablesOf(run.stepDeps.targets, undefined, run.workflow),
      verify: async (_step, claim) => {
        claims.push(claim);
        return verdicts[claims.length - 1] ?? { kind: 'pass' };
      },
      call: {
        step,
        address: 'make',
        locals: {},
        input,
        attempt: 1,
        cause,
        idempotencyKey: 'run1:make',
        signal: new AbortController().signal,
        suspend: () => () => {},
      },
      context: { ...run.stepDeps, noted: new Set(), taken: new Set() },
    });
    return { run, claims, result };
  }

  test('sees the notes and what was done, and its pass ends the step', async () => {
    const { run, claims, result } = await judged({ kind: 'pass' });
    expect(await result).toEqual(OUTPUT);
    expect(run.typed('step.claimed')).toMatchObject([{ nth: 1, notes: NOTES, turns: 2 }]);
    expect(claims).toMatchObject([
      {
        nth: 1,
        notes: NOTES,
        isLast: false,
        work: [{ id: '1.0', name: 'fetch', status: 'ok' }, { id: '1.1' }],
      },
    ]);
  });

  test('who is not content gives the model its one new plan', async () => {
    const { run, claims, result } = await judged({
      kind: 'again',
      text: 'Keep more.',
      by: 'model fast',
    });
    expect(await result).toMatchObject({ results: [{}, {}, { output: { kept: 'more' } }] });
    expect(run.asked[2]?.text).toContain('It was executed, but model fast is not content: Keep more.');
    expect(claims[1]).toMatchObject({ nth: 2, isLast: true, work: [{}, {}, { id: '2.0' }] });
  });

  test('who is not content with the second either fails the step', async () => {
    const again = { kind: 'again', text: 'Keep more.', by: 'ada' } as const;
    const { result } = await judged(again, again);
    expect(await failure(result)).toMatchObject({
      code: 'plan_failed',
      message: expect.stringContaining('Keep more.'),
    });
  });
});

describe('the verifier of its manifest', () => {
  test('is asked with the plan’s own model call, and its verdict is on the log', async () => {
    const verdict = (assessment: string) =>
      JSON.stringify({ assessment, confidence: 'high', reasoning: 'So it is.', instruction: 'Keep more.' });
    const run = given({
      step: { verify: { instructions: 'Is the title kept?', model: 'own' } },
      says: [
        PLAN,
        NOTES,
        verdict('retry'),
        [{ action: 'keep', parameters: { text: 'more' } }],
        NOTES,
        verdict('pass'),
      ],
    });
    expect(await run.do()).toMatchObject({ results: [{}, {}, { output: { kept: 'more' } }] });
    expect(run.typed('verify')).toMatchObject([
      { nth: 1, assessment: 'retry', by: 'model own' },
      { nth: 2, assessment: 'pass', by: 'model own' },
    ]);
    expect(run.asked).toHaveLength(6);
  });
});

describe('after a crash at any event', () => {
  const SAYS = [
    [PLAN[0] as object, { action: 'broken', parameters: {} }],
    [{ action: 'keep', parameters: { text: '${results[0].title}' } }],
  ];
  /** What the model says depends on what it is asked, not on how often. */
  const saying =
    (asked: string[]) =>
    async ({ message }: { readonly message: string }, call: TargetCall): Promise<string> => {
      asked.push(message);
      call.charge?.({ input: 1, output: 1 }, { id: 'own' } as Model);
      if (message.includes('Write the notes')) return NOTES;
      if (message.includes('# What happened')) return JSON.stringify(SAYS[1]);
      return JSON.stringify(SAYS[0]);
    };

  async function lives(diesAfter: number | undefined, approval: 'always' | 'never') {
    const step = { approval };
    const asked: string[] = [];
    const ask = saying(asked);
    const calls: Called[] = [];
    let events: readonly RunEvent[] = [];
    for (const death of diesAfter === undefined ? [undefined] : [diesAfter, undefined]) {
      const run = given({
        step,
        events,
        ...(death === undefined ? {} : { diesAfter: death }),
        deps: { ask },
      });
      const doing = await run.begin().catch((thrown: unknown) => {
        if (thrown instanceof Died) return undefined;
        throw thrown;
      });
      let result: Json | undefined;
      let thrown: unknown;
      doing?.result.then(
        (value) => {
          result = value;
        },
        (error: unknown) => {
          thrown = error;
        },
      );
      for (let ticks = 0; ticks < 20 && result === undefined && thrown === undefined; ticks++) {
        await settled();
        const isOpen = run.journal.state.reviews.some(({ answer }) => answer === undefined);
        if (isOpen && (death === undefined || run.journal.events.length < death)) run.answer('approved');
      }
      doing?.stop(new Died());
      calls.push(...run.called);
      events = run.journal.events;
      if (death === undefined) return { result, thrown, events, calls, asked };
    }
    throw new Error('not reached');
  }

  test.each(['never', 'always'] as const)('it goes on from the log (approval: %s)', async (approval) => {
    const whole = await lives(undefined, approval);
    expect(whole.result).toEqual(OUTPUT);
    for (let at = 2; at < whole.events.length; at++) {
      const { result, thrown, events, calls } = await lives(at, approval);
      const type = whole.events[at]?.type ?? '';
      const key = (name: string) => calls.filter((each) => each.name === name).map((each) => each.key);
      // What may not be called twice was not, whatever else came of it.
      expect(key('keep').length, `keep after ${at} (${type})`).toBeLessThanOrEqual(1);
      expect(new Set(key('broken')).size, `broken after ${at}`).toBe(key('broken').length);
      expect(new Set(key('fetch'))).toEqual(new Set(['run1:make/1.0']));
      const inDoubt = events.some(
        (event) => event.type === 'plan.acted' && event.error?.code === 'interrupted' && event.nth === 2,
      );
      if (inDoubt) expect(thrown).toMatchObject({ code: 'plan_failed' });
      else expect(result, `after ${at} (${type})`).toEqual(OUTPUT);
      expect(events.filter((event) => event.type === 'plan.made').length).toBe(2);
      const ended = events.flatMap((event) =>
        event.type === 'plan.acted' ? [`${event.nth}.${event.index}`] : [],
      );
      expect(new Set(ended).size).toBe(ended.length);
    }
  });

  test('what it left in doubt and may not be done twice counts as failed, and is planned anew', async () => {
    const first = given({ says: [[{ action: 'keep', parameters: { text: 'x' } }]], diesAfter: 5 });
    expect(await first.do().catch((thrown: unknown) => thrown)).toBeInstanceOf(Died);
    expect(first.journal.events.at(-1)?.type).toBe('plan.acting');
    expect(first.called).toHaveLength(0); // its intent could not be written
    const second = given({
      events: first.journal.events,
      says: [[{ action: 'keep', parameters: { text: 'y' } }]],
    });
    expect(await second.do()).toMatchObject({ results: [{ output: { kept: 'y' } }] });
    expect(second.asked[0]?.text).toContain('whether it took effect is not known');
    expect(second.typed('plan.acted')).toMatchObject([
      { nth: 1, error: { code: 'interrupted' } },
      { nth: 2 },
    ]);
  });
});

describe('whatever a model writes', () => {
  const hostile = fc.oneof(
    fc.json(),
    fc.string(),
    fc
      .array(
        fc.record(
          {
            action: fc.oneof(
              fc.constantFrom('fetch', 'keep', 'broken', 'look', '__proto__', 'toString'),
              fc.string(),
            ),
            parameters: fc.oneof(
              fc.dictionary(
                fc.constantFrom('url', 'text', 'n', '__proto__', 'constructor'),
                fc.oneof(
                  fc.constantFrom(
                    '${results[0]}',
                    '${results}',
                    '$${results[0]}',
                    '${agent.x}',
                    '${HOME}',
                    '${',
                  ),
                  fc.jsonValue() as fc.Arbitrary<unknown>,
                ),
              ),
              fc.jsonValue() as fc.Arbitrary<unknown>,
            ),
            expect: fc.oneof(fc.constantFrom('result.size > 0', 'results[9]', 'agent.x', '('), fc.string()),
          },
          { requiredKeys: ['action'] },
        ),
        { maxLength: 4 },
      )
      .map((plan) => JSON.stringify(plan)),
  );

  test('is a plan of things that may be called, or a problem: it never crashes, and never gets out', async () => {
    await fc.assert(
      fc.asyncProperty(hostile, async (answer) => {
        const run = given({
          step: { tools: ['fetch', 'keep'] },
          targets: { ...TARGETS, look: { kind: 'internal' } },
          says: [answer, answer],
        });
        const result = await run.do().catch((thrown: unknown) => thrown);
        if (result instanceof Error) expect(result).toMatchObject({ code: 'plan_failed' });
        for (const { name, input } of run.called) {
          expect(['fetch', 'keep']).toContain(name);
          expect(JSON.stringify(input)).not.toContain('tester');
        }
        expect(({} as { readonly url?: unknown }).url).toBeUndefined();
        expect(run.asked.length).toBeLessThanOrEqual(4);
        JSON.stringify(run.journal.events);
      }),
      { numRuns: moreRuns(150) },
    );
  });

  test('a key such as __proto__ is data like any other', async () => {
    const answer = '[{"action": "notes", "parameters": {"__proto__": {"admin": true}, "of": "${results}"}}]';
    const run = given({ targets: { notes: { kind: 'relic' } }, says: [answer] });
    await run.do();
    expect(JSON.stringify(run.called[0]?.input)).toBe('{"__proto__":{"admin":true},"of":[]}');
    expect((run.called[0]?.input as { admin?: unknown } | undefined)?.admin).toBeUndefined();
  });

  test('only results are references in it; the rest is text, and what results hold is not looked up again', async () => {
    const results = [{ a: '${agent.agent_name}', n: 7 }] as const;
    expect(
      await filledParameters(
        {
          whole: '${results[0].n}',
          part: 'n=${results[0].n}; ${HOME}; $${PATH}; `${steps.x}`; $${results[0]}',
          inner: ['${results[0].a}', { or: '${results[0].b ?? "none"}' }],
        },
        results,
        'it',
      ),
    ).toEqual({
      whole: 7,
      part: 'n=7; ${HOME}; $${PATH}; `${steps.x}`; ${results[0]}',
      inner: ['${agent.agent_name}', { or: 'none' }],
    });
  });

  test('what a reference may become is not refused before it is known', () => {
    const schema: JsonObject = {
      type: 'object',
      $defs: { deep: { type: 'object', properties: { k: { type: 'integer' } }, required: ['k'] } },
      properties: {
        n: { type: 'integer' },
        list: { type: 'array', items: { type: 'integer' }, maxItems: 3 },
        one: { enum: ['a', 'b'] },
        deep: { $ref: '#/$defs/deep' },
      },
      required: ['n'],
      additionalProperties: false,
    };
    const all = [targetOf('strict', { schema }, [], () => false)];
    const callables = callablesOf({ all }, undefined, { name: 'w' });
    const problem = (parameters: JsonObject) => checkPlan([{ action: 'strict', parameters }], callables, 1);
    const ref = '${results[0].x}';
    expect(problem({ n: ref, list: [1, ref], one: ref, deep: { k: ref } })).toBeUndefined();
    expect(problem({ n: ref, deep: { k: 1 } })).toBeUndefined();
    expect(problem({ n: ref, other: 1 })).toContain('no parameter "/other"');
    expect(problem({ list: [ref] })).toContain('"n" is missing');
    expect(problem({ n: ref, list: ['x', ref] })).toContain('"/list/0" is "x"');
    expect(problem({ n: ref, list: [1, 2, 3, ref] })).toContain('"/list" is a list of 4');
    expect(problem({ n: ref, deep: {} })).toContain('"k"');
    expect(problem({ n: `${ref}!` })).toContain('must be a whole number');
  });
});
