import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import { type ReviewReply, readReply } from '../../../src/agent/reviews/read-review.ts';
import { findWorkflow } from '../../../src/agent/runs/find-workflow.ts';
import type { RuntimeOptions } from '../../../src/agent/runtime-types.ts';
import { type Clock, createSystemClock } from '../../../src/lib/clock.ts';
import { REVIEW_KINDS } from '../../../src/log/reviews.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { agentFolder, tool } from '../run-agent.ts';
import { request, runThatAsks } from './run-that-asks.ts';

vi.setConfig({ testTimeout: 60_000 });

const clock = createSystemClock();
const ASK = 'kind: Workflow\nname: ask\ntrigger: { type: manual }\nsteps:\n';
const FILES = {
  ...tool('deploy', 'return `deployed ${input.to}`;', 'approval: always\n'),
  'ask.flow.yml': `${ASK}  - { name: ok, type: approval, prompt: "Ship it?", options: [ship, wait], assignee: ann }\n`,
  'due.flow.yml': `${ASK.replace('ask', 'due')}  - { name: ok, type: approval, prompt: "Ship it?", options: [ship, wait], timeout: 3d, on_timeout: wait }\n`,
};
const MANIFEST = 'import: { tools: ["./tools/*.yml"], workflows: ["./*.flow.yml"] }\n';
const deployTo = (id: string) => `<action id="${id}">{"name":"deploy","parameters":{"to":"${id}"}}</action>`;

async function scene(turns: readonly string[], store: Store = createMemoryStore({ clock })) {
  const folder = agentFolder(MANIFEST, FILES);
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const model = createScriptedModel({ id: 'scripted:test', turns, clock });
  const open = async (options: RuntimeOptions = {}) => {
    const runtime = await createRuntime({ store, cwd: folder, ...options });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  return { agent, model, open, folder, store, workflow: (name: string) => findWorkflow(agent, name) };
}

/** One session and one run that wait, and a runtime that works on neither. */
async function waiting() {
  const stage = await scene([deployTo('d'), '<response>Done.</response>']);
  const runtime = await stage.open();
  const { agent, model } = stage;
  await runtime.start(agent, { input: 'Go.', model, id: 'ses_1' }).result;
  await runtime.workflows.start(stage.workflow('ask'), { id: 'run_1' }).result;
  // By kind: asked in the same millisecond, they are listed in no order of their own.
  const reviews = await runtime.reviews();
  const idOf = (wanted: string) => reviews.find(({ kind }) => kind === wanted)?.review ?? '';
  return { ...stage, runtime, permission: idOf('permission'), approval: idOf('approval') };
}

describe('the inbox', () => {
  it('holds every kind of question, and finds them by kind, by whom they are for and by whose they are', async () => {
    const { runtime, store, permission, approval } = await waiting();
    await runThatAsks(store, 'run_9', [
      request('confirm', 'rev_x1', ['approve', 'reject']),
      { ...request('plan', 'rev_x2', ['approve', 'reject']), assignee: 'bob', due: 2e12 },
      request('escalation', 'rev_x3', ['pass', 'retry', 'fail']),
    ]);
    const all = await runtime.reviews();
    expect(new Set(all.map(({ kind }) => kind))).toEqual(new Set(REVIEW_KINDS));
    const ids = async (filter: Parameters<typeof runtime.reviews>[0]) =>
      (await runtime.reviews(filter)).map(({ review }) => review);
    expect(await ids({ kind: 'permission' })).toEqual([permission]);
    expect(await ids({ kind: 'escalation' })).toEqual(['rev_x3']);
    expect(await ids({ assignee: 'ann' })).toEqual([approval]);
    expect(await ids({ session: 'run_9' })).toEqual(['rev_x1', 'rev_x2', 'rev_x3']);
    expect(await ids({ session: 'ses_9' })).toEqual(['rev_x1', 'rev_x2', 'rev_x3']);
    expect(await ids({ session: 'ses_1', kind: 'plan' })).toEqual([]);
    expect(await ids({ limit: 1 })).toHaveLength(1);
    expect(all.find(({ review }) => review === permission)).toMatchObject({
      of: 'session',
      session: 'ses_1',
      agent: 'tester',
      action: 'd',
      parameters: '{"to":"d"}',
    });
    expect(all.find(({ review }) => review === 'rev_x2')).toMatchObject({
      of: 'run',
      workflow: 'flow',
      action: 'build',
      assignee: 'bob',
      due: 2e12,
      parent: 'ses_9',
    });
  });

  it('tells all of an escalation and of a plan', async () => {
    const { open, store } = await scene([]);
    const runtime = await open();
    await runThatAsks(store, 'run_9', [
      request('escalation', 'rev_x3', ['pass', 'retry', 'fail']),
      request('plan', 'rev_x2', ['approve', 'reject']),
    ]);
    expect(await runtime.review('rev_x3')).toMatchObject({
      kind: 'escalation',
      status: 'open',
      options: ['pass', 'retry', 'fail'],
      work: {
        claims: [{ nth: 1, by: 'ses_9', notes: 'Built it and ran the tests.\nTwo are red.' }],
        verdicts: [
          { assessment: 'retry', reasoning: 'Red tests are no success.', instruction: 'Mend them.' },
        ],
      },
    });
    expect((await runtime.review('rev_x2')).plan).toEqual([
      { action: 'deploy', parameters: { to: 'prod' }, expect: 'result.ok' },
    ]);
  });

  it('reads rows that were written before there were kinds', async () => {
    const { open, store } = await scene([]);
    const row = { session: 's', agent: 'a', action: 'd', what: 'w', because: 'b', at: 1 };
    await store.tables.set('reviews', 'rev_1', { ...row, target: 'tool "x"' });
    await store.tables.set('reviews', 'rev_2', {
      ...row,
      target: 'tool "x"',
      options: ['approve', 'reject'],
    });
    await store.tables.set('reviews', 'rev_3', { ...row, target: 'workflow "x"', options: ['ship'] });
    const listed = (await (await open()).reviews()).map(({ kind, of }) => `${kind} ${of}`);
    expect(listed).toEqual(['permission session', 'permission run', 'approval run']);
  });

  it('keeps an answered one, with who answered what, when and why', async () => {
    const { runtime, permission, approval } = await waiting();
    const before = clock.now();
    await runtime.answer(permission, { approved: false, by: 'ann', note: 'not on Fridays' });
    await runtime.answer(approval, { choice: 'wait', by: 'bob' });
    expect(await runtime.review(permission)).toMatchObject({
      status: 'rejected',
      input: { to: 'd' },
      target: 'tool "deploy"',
      decision: { answer: 'rejected', by: 'ann', note: 'not on Fridays' },
    });
    const { status, decision } = await runtime.review(approval);
    expect(status).toBe('approved');
    expect(decision).toMatchObject({ choice: 'wait', by: 'bob' });
    expect(decision?.at).toBeGreaterThanOrEqual(before);
    await expect(runtime.review('rev_none')).rejects.toMatchObject({ code: 'review_unknown' });
  });
});

describe('a reply', () => {
  const yes = { review: 'r', kind: 'permission' } as const;
  const own = { review: 'r', kind: 'approval', options: ['ship', 'wait', 'reject'] } as const;
  const confirm = { review: 'r', kind: 'confirm', options: ['approve', 'reject'] } as const;
  const dispute = { review: 'r', kind: 'escalation', options: ['pass', 'retry', 'fail'] } as const;
  const stuck = { review: 'r', kind: 'escalation', options: ['retry', 'fail'] } as const;

  it.each<[string, Parameters<typeof readReply>[0], ReviewReply, object]>([
    ['yes', yes, { approved: true }, { answer: 'approved' }],
    ['no, with a note', yes, { approved: false, note: 'n' }, { answer: 'rejected', note: 'n' }],
    ['a choice where there is only yes and no', yes, { choice: 'reject' }, { answer: 'rejected' }],
    ['yes in so many words', confirm, { text: ' approve ' }, { answer: 'approved', choice: 'approve' }],
    [
      'a choice and words',
      own,
      { choice: 'wait', text: 'till noon' },
      { answer: 'approved', choice: 'wait', note: 'till noon' },
    ],
    ['an option in so many words', own, { text: 'ship' }, { answer: 'approved', choice: 'ship' }],
    ['an option that says no', own, { choice: 'reject' }, { answer: 'rejected', choice: 'reject' }],
    [
      'no, with an option of its own',
      own,
      { approved: false, choice: 'wait' },
      { answer: 'rejected', choice: 'wait' },
    ],
    [
      'an instruction',
      dispute,
      { text: 'Mend it.' },
      { answer: 'rejected', choice: 'retry', note: 'Mend it.' },
    ],
    ['that it may pass', dispute, { approved: true }, { answer: 'approved', choice: 'pass' }],
    ['that it is to fail', dispute, { choice: 'fail' }, { answer: 'rejected', choice: 'fail' }],
    [
      'an instruction where it is stuck',
      stuck,
      { text: 'Look there.' },
      { answer: 'rejected', choice: 'retry', note: 'Look there.' },
    ],
  ])('%s', (_what, review, reply, read) => {
    expect(readReply(review, reply)).toEqual(read);
  });

  it.each<[string, Parameters<typeof readReply>[0], ReviewReply, string]>([
    ['an option that is not there', own, { choice: 'shipp' }, 'Did you mean "ship"?'],
    ['an option of another kind', yes, { choice: 'ship' }, 'approve, reject'],
    ['yes and no at once', yes, { approved: true, choice: 'reject' }, 'Use one of the two.'],
    ['yes to try again', dispute, { approved: true, choice: 'retry' }, 'Use one of the two.'],
    ['yes where nothing can pass', stuck, { approved: true }, '--choice retry'],
    ['words that say nothing', own, { text: 'hm' }, '--choice ship'],
    ['nothing', own, {}, 'ship, wait, reject'],
    ['empty words', dispute, { text: ' ' }, 'pass, retry, fail'],
    ['a novel', dispute, { text: 'x'.repeat(20_001) }, 'Say it shorter'],
  ])('is refused: %s', (_what, review, reply, hint) => {
    expect(() => readReply(review, reply)).toThrow(
      expect.objectContaining({ code: 'bad_option', hint: expect.stringContaining(hint) }),
    );
  });
});

describe('an answer', () => {
  it('given twice is refused with who decided before, and when', async () => {
    const { runtime, permission, approval } = await waiting();
    for (const [review, what] of [
      [permission, 'approved'],
      [approval, 'approved ("ship")'],
    ] as const) {
      await runtime.answer(review, { approved: true, by: 'ann' });
      const { decision } = await runtime.review(review);
      await expect(runtime.answer(review, { approved: false, by: 'bob' })).rejects.toMatchObject({
        code: 'review_answered',
        message: `The review ${review} was ${what} by ann at ${new Date(decision?.at ?? 0).toISOString()}.`,
      });
    }
  });

  it('to what was cancelled is refused, and changes nothing', async () => {
    const { runtime, agent, model, permission, approval } = await waiting();
    const session = await runtime.resume('ses_1', { agent, model, onWaiting: 'hold' });
    await session.cancel('enough');
    await runtime.workflows.cancel('run_1', 'enough', 'bob');
    await vi.waitFor(async () => expect(await runtime.reviews()).toEqual([]), { timeout: 10_000 });
    await vi.waitFor(async () => expect((await runtime.store.info('run_1'))?.status).toBe('cancelled'));
    for (const [review, stream] of [
      [permission, 'ses_1'],
      [approval, 'run_1'],
    ] as const) {
      const { head } = (await runtime.store.info(stream)) ?? {};
      await expect(runtime.answer(review, { approved: true })).rejects.toMatchObject({
        code: 'review_withdrawn',
        hint: expect.stringContaining(`telltale show ${stream}`),
      });
      expect((await runtime.store.info(stream))?.head).toBe(head);
    }
  });

  it('to what is about to be cancelled is refused', async () => {
    const { runtime, store, permission } = await waiting();
    await store.send('ses_1', { kind: 'cancel', from: 'bob', body: 'enough' });
    await expect(runtime.answer(permission, { approved: true })).rejects.toMatchObject({
      code: 'review_withdrawn',
      message: expect.stringContaining('is being cancelled by bob'),
    });
    expect((await runtime.review(permission)).status).toBe('open');
  });

  it('to what has ended is refused, though its row was left behind', async () => {
    const { runtime, store, approval } = await waiting();
    const row = (await store.tables.get('reviews', approval)) ?? null;
    await runtime.workflows.cancel('run_1');
    await vi.waitFor(async () => expect((await store.info('run_1'))?.status).toBe('cancelled'));
    await store.tables.set('reviews', approval, row);
    await expect(runtime.answer(approval, { approved: true })).rejects.toMatchObject({
      code: 'review_withdrawn',
      message: expect.stringContaining('run_1 has ended as cancelled'),
    });
  });

  it('that lies in the inbox already counts before one that comes now', async () => {
    const { runtime, store, permission } = await waiting();
    const body = { review: permission, answer: 'rejected' };
    await store.send('ses_1', { kind: 'review', from: 'ann', body });
    await expect(runtime.answer(permission, { approved: true, by: 'bob' })).rejects.toMatchObject({
      code: 'review_answered',
      message: expect.stringContaining('rejected by ann'),
    });
    expect(await runtime.review(permission)).toMatchObject({ status: 'rejected', decision: { by: 'ann' } });
    expect((await store.info('ses_1'))?.messages).toBeUndefined();
  });
});

/** Waits for a file, then answers the reviews in order, as `by`, and prints what became of each. */
const ANSWERER = `
import { existsSync } from 'node:fs';
const { openSessions } = await import(${JSON.stringify(new URL('../../../src/agent/open-sessions.ts', import.meta.url).href)});
const [store, by, go, ready, ...reviews] = process.argv.slice(1);
const sessions = await openSessions({ store });
(await import('node:fs')).writeFileSync(ready, '');
while (!existsSync(go)) await new Promise((then) => setTimeout(then, 1));
const became = [];
for (const review of reviews)
  became.push(await sessions.answer(review, { approved: true, by }).then(({ outcome }) => outcome, (error) => error.code + ': ' + error.message));
await sessions.close();
console.log(JSON.stringify(became));
`;

function answerer(cwd: string, store: string, by: string, reviews: readonly string[]) {
  const [go, ready] = [join(cwd, 'go'), join(cwd, `ready-${by}`)];
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', ANSWERER, '--', store, by, go, ready, ...reviews],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  const became = new Promise<readonly string[]>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () =>
      out === '' ? reject(new Error(`${by} said nothing`)) : resolve(JSON.parse(out)),
    );
  });
  return { became, isReady: () => existsSync(ready) };
}

it('of two processes that answer at the same instant one decides, and the other hears who', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'telltale-race-'));
  const location = `sqlite:${join(cwd, 'race.db')}`;
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const stage = await scene([ids.map(deployTo).join('')]);
  const first = await stage.open({ store: location });
  await first.start(stage.agent, { input: 'Go.', model: stage.model, id: 'ses_1' }).result;
  for (const id of ids.slice(0, 4))
    await first.workflows.start(stage.workflow('ask'), { id: `run_${id}` }).result;
  const reviews = (await first.reviews()).map(({ review }) => review);
  await first.close();
  expect(reviews).toHaveLength(10);
  const both = [answerer(cwd, location, 'ann', reviews), answerer(cwd, location, 'bob', reviews)] as const;
  await vi.waitFor(() => expect(both.every(({ isReady }) => isReady())).toBe(true), {
    timeout: 30_000,
    interval: 10,
  });
  writeFileSync(join(cwd, 'go'), '');
  const [ann, bob] = [await both[0].became, await both[1].became];
  const after = await stage.open({ store: location });
  for (const [index, review] of reviews.entries()) {
    const said = { ann: ann[index] ?? '', bob: bob[index] ?? '' };
    const { decision, session, of } = await after.review(review);
    const [winner, loser] = decision?.by === 'ann' ? (['ann', 'bob'] as const) : (['bob', 'ann'] as const);
    expect(said[winner], review).toBe('resolved');
    expect(said[loser], review).toMatch(new RegExp(`^review_answered: .* by ${winner} at `));
    const events = await (of === 'run' ? after.workflows.events(session) : after.events(session));
    const resolved = events.filter((event) => event.type === 'review.resolved' && event.review === review);
    expect(resolved).toHaveLength(1);
  }
  expect(await after.reviews()).toEqual([]);
});

describe('days later', () => {
  const DAY = 86_400_000;
  /** The system's clock, some days on. */
  const later = (days: number): Clock => ({ ...clock, now: () => clock.now() + days * DAY });
  /** Starts what waits in a process of its own, which is killed as soon as it has asked. */
  const STARTER = (cwd: string, store: string) => `
const load = (path) => import(new URL(path, ${JSON.stringify(new URL('../../../src/agent/', import.meta.url).href)}));
const { createRuntime } = await load('create-runtime.ts');
const { loadAgent } = await load('load-agent.ts');
const { findWorkflow } = await load('runs/find-workflow.ts');
const runtime = await createRuntime({ store: ${JSON.stringify(store)}, cwd: ${JSON.stringify(cwd)}, onWaiting: 'hold' });
const agent = await loadAgent('agent.yml', { cwd: ${JSON.stringify(cwd)} });
runtime.start(agent, { input: 'Go.', id: 'ses_1' });
for (const name of ['ask', 'due']) runtime.workflows.start(findWorkflow(agent, name), { id: 'run_' + name, onWaiting: 'hold' });
while ((await runtime.reviews()).length < 3) await new Promise((then) => setTimeout(then, 5));
process.kill(process.pid, 'SIGKILL');
`;

  it('a question that was put before a kill is answered by another process, and its asker goes on', async () => {
    const cwd = agentFolder(`${MANIFEST.trim()}\nlimits: { wall: 1h }\n`, {
      ...FILES,
      'none.yml': `turns:\n  - '${deployTo('d')}'\n  - <response>Done.</response>\n`,
    });
    const store = `sqlite:${join(cwd, 'days.db')}`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', STARTER(cwd, store)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const signal = await new Promise((resolve) => child.on('close', (_code, by) => resolve(by)));
    expect(signal).toBe('SIGKILL');
    const runtime = await createRuntime({ store, cwd, clock: later(5) });
    onTestFinished(() => runtime.close());
    const open = await runtime.reviews();
    expect(open.map(({ session }) => session).sort()).toEqual(['run_ask', 'run_due', 'ses_1']);
    const of = (session: string) => open.find((each) => each.session === session)?.review ?? '';
    await runtime.answer(of('ses_1'), { approved: true, by: 'ann' });
    await runtime.answer(of('run_ask'), { choice: 'ship', by: 'ann' });
    const session = await (await runtime.resume('ses_1')).result;
    expect(session).toMatchObject({ status: 'completed', result: 'Done.' });
    // A run goes on where it is answered.
    await vi.waitFor(
      async () =>
        expect(await runtime.workflows.state('run_ask')).toMatchObject({
          status: 'completed',
          output: { choice: 'ship', by: 'ann' },
        }),
      { timeout: 10_000, interval: 10 },
    );
    const asked = await runtime.review(of('ses_1'));
    expect((asked.decision?.at ?? 0) - asked.at).toBeGreaterThanOrEqual(5 * DAY);
    const declared = (await runtime.events('ses_1')).filter(({ type }) => type === 'action.declared');
    expect(declared).toHaveLength(1);
    // What was to be answered within three days is not waited for any more.
    const late = await (await runtime.workflows.resume('run_due')).result;
    expect(late).toMatchObject({ status: 'completed', output: { choice: 'wait', by: 'timeout' } });
    await expect(runtime.answer(of('run_due'), { choice: 'ship' })).rejects.toMatchObject({
      code: 'review_answered',
      message: expect.stringContaining('by timeout'),
    });
  });
});
