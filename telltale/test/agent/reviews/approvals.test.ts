import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import { findWorkflow } from '../../../src/agent/runs/find-workflow.ts';
import type { RuntimeOptions, Session } from '../../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../../src/lib/clock.ts';
import type { ReplacedReview } from '../../../src/log/review-event.ts';
import type { ApprovalRequest } from '../../../src/log/run-event.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { changesSince } from '../../../src/tools/access/approval-need.ts';
import type { StepAttempt } from '../../../src/workflows/step-executor.ts';
import { askPerson, type PersonQuestion } from '../../../src/workflows/steps/ask-person.ts';
import type { StepDeps } from '../../../src/workflows/steps/step-deps.ts';
import { begin, fakeJournal } from '../../workflows/fake-run.ts';
import { agentFolder, tool } from '../run-agent.ts';

vi.setConfig({ testTimeout: 30_000 });

const POLL = { timeout: 10_000, interval: 10 };
const HEAD =
  'permissions: { sandbox: "off" }\nimport: { tools: ["./tools/*.yml"], workflows: ["./*.flow.yml"] }\n';
const DEPLOY = '<action id="d">{"name":"deploy","parameters":{"to":"test"}}</action>';
const DONE = '<response>Done.</response>';
const FLOW = `kind: Workflow
name: release
trigger: { type: manual }
steps:
  - { name: go, type: tool, target: deploy, parameters: { to: test } }
`;
const deploy = (says: string, more = '') =>
  tool('deploy', `return \`${says} \${input.to}\`;`, `approval: always\n${more}`);

/** An agent with a tool that people approve, and what is rewritten of it while they think. */
function scene(turns: readonly string[], { manifest = HEAD, files = deploy('old') } = {}) {
  const folder = agentFolder(manifest, { ...files, 'release.flow.yml': FLOW });
  const store = createMemoryStore({ clock: createSystemClock() });
  const model = createScriptedModel({ id: 'scripted:test', turns, clock: createSystemClock() });
  const agent = () => loadAgent('agent.yml', { cwd: folder });
  return {
    agent,
    model,
    async runtime(options: RuntimeOptions = {}) {
      const runtime = await createRuntime({
        store,
        cwd: folder,
        env: { PATH: process.env.PATH },
        ...options,
      });
      onTestFinished(() => runtime.close());
      return runtime;
    },
    rewrite(files: Readonly<Record<string, string>>) {
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    },
    workflow: async () => findWorkflow(await agent(), 'release'),
  };
}

type Scene = ReturnType<typeof scene>;

/** A session that waits for leave to deploy, which somebody then gives. */
async function approved({ runtime: open, agent, model }: Scene) {
  const runtime = await open();
  const { reviews } = await runtime.start(await agent(), { input: 'Go.', model, id: 'ses_a' }).result;
  const review = reviews?.[0]?.review ?? '';
  await runtime.answer(review, { approved: true, by: 'ann' });
  return { runtime, review };
}

const story = (events: readonly { readonly type: string }[]) =>
  events.map(({ type }) => type).filter((type) => /^(action|review|step)\./.test(type));

describe("what was approved of a session's action", () => {
  it.each([
    ['code', deploy('new'), 'the manifest or the code of tool "deploy" has changed', 'new test'],
    [
      'manifest',
      deploy('old', 'idempotent: true\n'),
      'the manifest or the code of tool "deploy" has changed',
      'old test',
    ],
  ])(
    'is void where the %s of its tool has changed, and is asked for anew',
    async (_what, files, why, output) => {
      const stage = scene([DEPLOY, DONE]);
      const { runtime, review } = await approved(stage);
      stage.rewrite(files);
      const resume = { agent: await stage.agent(), model: stage.model, acceptChanges: true };
      const again = await (await runtime.resume('ses_a', resume)).result;
      expect(again.status).toBe('waiting');
      const [open] = await runtime.reviews();
      expect(open?.review).not.toBe(review);
      expect(await runtime.review(open?.review ?? '')).toMatchObject({
        status: 'open',
        input: { to: 'test' },
        replaces: { review, changed: [why] } satisfies ReplacedReview,
      });
      expect(await runtime.review(review)).toMatchObject({ status: 'approved', voided: { changed: [why] } });
      expect(story(await runtime.events('ses_a'))).not.toContain('action.started');
      await runtime.answer(open?.review ?? '', { approved: true });
      await (await runtime.resume('ses_a', resume)).result;
      const done = (await runtime.events('ses_a')).find((event) => event.type === 'action.completed');
      expect(done).toMatchObject({ output });
    },
  );

  it('is void where a hook changes the parameters after it was given', async () => {
    const stage = scene([DEPLOY, DONE]);
    const { runtime, review } = await approved(stage);
    const hook = JSON.stringify('cat > /dev/null; printf \'{"parameters":{"to":"prod"}}\'');
    stage.rewrite({
      'agent.yml': `kind: Agent\nname: tester\nmodel: scripted:none.yml\n${HEAD}hooks:\n  before_action: [{ command: [sh, -c, ${hook}], fallback: true }]\n`,
    });
    const resume = { agent: await stage.agent(), model: stage.model, acceptChanges: true };
    expect((await (await runtime.resume('ses_a', resume)).result).status).toBe('waiting');
    const [open] = await runtime.reviews();
    expect(await runtime.review(open?.review ?? '')).toMatchObject({
      input: { to: 'prod' },
      replaces: { review, changed: ['"to" is "prod", and was "test"'] },
    });
    await runtime.answer(open?.review ?? '', { approved: true });
    await (await runtime.resume('ses_a', resume)).result;
    const done = (await runtime.events('ses_a')).find((event) => event.type === 'action.completed');
    expect(done).toMatchObject({ output: 'old prod' });
  });

  it('of code that is loaded already is for that code, whatever becomes of its file', async () => {
    const stage = scene([DEPLOY, DEPLOY.replace('id="d"', 'id="e"'), DONE]);
    let asked = 0;
    const runtime = await stage.runtime({
      approve: async () => {
        if (++asked === 2) stage.rewrite(deploy('new'));
        return true;
      },
    });
    const session = runtime.start(await stage.agent(), { input: 'Go.', model: stage.model, id: 'ses_a' });
    expect((await session.result).status).toBe('completed');
    const done = (await runtime.events('ses_a')).filter((event) => event.type === 'action.completed');
    expect(done).toMatchObject([{ output: 'old test' }, { output: 'old test' }]);
    expect(asked).toBe(2);
  });

  it('counts where nothing has changed, however often it is resumed', async () => {
    const stage = scene([DEPLOY, DONE]);
    const { runtime } = await approved(stage);
    stage.rewrite(deploy('old'));
    const { result } = await runtime.resume('ses_a', { agent: await stage.agent(), model: stage.model });
    expect((await result).status).toBe('completed');
    expect(story(await runtime.events('ses_a'))).toEqual([
      'action.declared',
      'review.requested',
      'review.resolved',
      'action.started',
      'action.completed',
    ]);
  });

  it('is looked at again at the very start: a change while it waits for a place is noticed, and outlives its process', async () => {
    const wait = `const fs = await import('node:fs');
while (!fs.existsSync(new URL('../go', import.meta.url))) await new Promise((then) => setTimeout(then, 5));
return 'waited';`;
    const stage = scene([`${DEPLOY}<action id="w">{"name":"wait"}</action>`, DONE], {
      manifest: `${HEAD}limits: { parallel_actions: 1 }\n`,
      files: { ...deploy('old'), ...tool('wait', wait) },
    });
    const asked: (readonly string[] | undefined)[] = [];
    let takePlace = () => {};
    const placeTaken = new Promise<void>((resolve) => {
      takePlace = resolve;
    });
    const runtime = await stage.runtime({
      approve: async ({ changed, signal }) => {
        asked.push(changed);
        await placeTaken;
        if (asked.length === 1) return { approved: true, by: 'ann' };
        void session.interrupt();
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(false)));
      },
    });
    const session: Session = runtime.start(await stage.agent(), {
      input: 'Go.',
      model: stage.model,
      id: 'ses_a',
    });
    session.subscribe((event) => {
      if (event.type === 'action.started' && event.id === 'w') takePlace();
      if (event.type !== 'review.resolved' || asked.length > 1) return;
      stage.rewrite(deploy('new'));
      stage.rewrite({ go: '' });
    });
    expect((await session.result).status).toBe('interrupted');
    const why = ['the manifest or the code of tool "deploy" has changed'];
    expect(asked).toEqual([undefined, why]);
    const other = await stage.runtime({ approve: async () => true });
    const resumed = await other.resume('ses_a', { agent: await stage.agent(), model: stage.model });
    expect((await resumed.result).status).toBe('completed');
    const events = await runtime.events('ses_a');
    const own = events.filter((event) => !('id' in event) || event.id === 'd');
    expect(story(own).slice(story(own).indexOf('action.started'))).toEqual([
      'action.started',
      'review.voided',
      'action.retrying',
      'review.requested',
      'review.resolved',
      'action.started',
      'action.completed',
    ]);
    expect(events.find((event) => event.type === 'action.completed' && event.id === 'd')).toMatchObject({
      output: 'new test',
    });
  });
});

describe("what was approved of a run's step", () => {
  it('is void where the code of its tool has changed, and is asked for anew', async () => {
    const stage = scene([]);
    const runtime = await stage.runtime();
    const workflow = await stage.workflow();
    const run = runtime.workflows.start(workflow, { id: 'run_a' });
    expect((await run.result).status).toBe('waiting');
    const [first] = await runtime.reviews({ kind: 'permission' });
    stage.rewrite(deploy('new'));
    const other = await stage.runtime();
    await other.answer(first?.review ?? '', { approved: true, by: 'ann' });
    const isThere = async () => expect(await other.reviews()).toHaveLength(1);
    await vi.waitFor(isThere, POLL); // a run goes on where it is answered
    const [second] = await other.reviews();
    expect(second).toMatchObject({ kind: 'permission', workflow: 'release', action: 'go' });
    expect((await other.review(second?.review ?? '')).replaces).toEqual({
      review: first?.review,
      changed: ['the manifest or the code of tool "deploy" has changed'],
    });
    await other.answer(second?.review ?? '', { approved: true, by: 'bob' });
    const isOver = async () =>
      expect(await other.workflows.state('run_a')).toMatchObject({ status: 'completed', output: 'new test' });
    await vi.waitFor(isOver, POLL);
    const types = story(await other.workflows.events('run_a'));
    expect(types.filter((type) => type === 'review.voided')).toHaveLength(1);
    expect(types.filter((type) => type === 'review.requested')).toHaveLength(2);
  });
});

describe('a question of a step', () => {
  /** What a step asks, in a run whose journal is the memory. */
  function asking() {
    const clock = createSystemClock();
    const journal = fakeJournal(clock);
    begin(journal);
    const cause = journal.append({ type: 'step.started', step: 's', attempt: 1, repeatable: true });
    const deps = {
      journal,
      clock,
      isReleased: () => false,
      reviews: {
        open: (request: ApprovalRequest) => void journal.append({ type: 'review.requested', ...request }),
        close: (review: string, end: object) =>
          void journal.append({ type: 'review.resolved', review, ...end } as never),
      },
    } as unknown as StepDeps;
    const call = {
      address: 's',
      step: { name: 's' },
      cause,
      attempt: 1,
      signal: new AbortController().signal,
      suspend: () => () => {},
    } as unknown as StepAttempt;
    const answer = (choice: string) => {
      const open = journal.state.reviews.find((each) => each.answer === undefined);
      journal.append({
        type: 'review.resolved',
        review: open?.review ?? '',
        answer: 'approved',
        choice,
        by: 'ann',
      });
    };
    return { journal, answer, ask: (question: PersonQuestion) => askPerson(question, call, deps) };
  }
  const plan = (to: string): PersonQuestion => ({
    kind: 'plan',
    prompt: `1. deploy ${to}`,
    options: ['approve', 'reject'],
    call: { target: 'the plan', because: 'approval: always', input: { actions: [to] }, grants: [] },
  });

  it('that was answered is not put again, whatever was asked behind it', async () => {
    const { journal, ask, answer } = asking();
    const confirm: PersonQuestion = { kind: 'confirm', prompt: 'Begin?', options: ['approve', 'reject'] };
    const trouble: PersonQuestion = {
      kind: 'escalation',
      prompt: 'Well?',
      options: ['pass', 'retry'],
      nth: 1,
    };
    const first = ask(confirm);
    answer('approve');
    await first;
    const second = ask(trouble);
    answer('retry');
    expect((await second).choice).toBe('retry');
    expect((await ask(confirm)).choice).toBe('approve');
    const third = ask({ ...trouble, nth: 2 });
    answer('pass');
    expect((await third).choice).toBe('pass');
    expect(journal.state.reviews).toHaveLength(3);
  });

  it('about a plan counts for that plan only', async () => {
    const { journal, ask, answer } = asking();
    const first = ask(plan('test'));
    answer('approve');
    await first;
    const second = ask(plan('prod'));
    expect(journal.state.reviews).toHaveLength(2);
    answer('approve');
    expect((await second).answer).toBe('approved');
  });

  it('that is open is withdrawn where another takes its place', async () => {
    const { journal, ask, answer } = asking();
    const first = ask(plan('test'));
    const second = ask(plan('prod'));
    expect((await first).answer).toBe('withdrawn');
    answer('approve');
    expect((await second).answer).toBe('approved');
    expect(journal.state.reviews.map((each) => each.answer)).toEqual(['withdrawn', 'approved']);
  });
});

it('what has changed of a call is told in words', () => {
  const asked = { target: 'tool "a"', input: { x: 1, y: 'b', z: [1] }, grants: ['g'], definition: 'h' };
  expect(changesSince(asked, { ...asked, input: { ...asked.input } })).toEqual([]);
  expect(changesSince({ ...asked, definition: undefined as never }, asked)).toEqual([]);
  expect(
    changesSince(asked, {
      target: 'tool "b"',
      input: { x: 1, y: 'c', w: null },
      grants: [],
      definition: 'i',
    }),
  ).toEqual([
    'it calls tool "b", not tool "a"',
    '"y" is "c", and was "b"',
    '"z" is not given, and was [1]',
    '"w" is null, and was not given',
    'the manifest or the code of tool "b" has changed',
  ]);
  expect(changesSince(asked, { ...asked, grants: ['other'] })).toEqual([
    'it needs permission for other, but was approved for g',
  ]);
});
