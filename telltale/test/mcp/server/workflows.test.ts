import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { createSimulatedClock } from '../../../src/lib/simulated-clock.ts';
import { rotateKeys } from '../../../src/mcp/server/continue-token.ts';
import { unsoundCauses } from '../../log/unsound-causes.ts';
import { temporaryProject } from '../../manifest/temporary-project.ts';
import { AGENT, NOTES, SHARED, type Stage, type StageOptions, stage, task, workflow } from './serve-stage.ts';

const REQUIRES = ', requires: { files: { type: array, items: { type: string } } }';
const THREE = `${task('plan', REQUIRES)}  - { name: build, type: task, prompt: "Build \${vars.files ?? steps.plan.output.context_updates.files}." }\n${task('ship')}`;

const project = (...documents: readonly string[]) =>
  temporaryProject({ 'agent.yml': `${AGENT}${documents.join('')}` });
const three = (options?: StageOptions) => stage(project(workflow('release', THREE)), options);

const typesOf = async ({ runtime }: Stage, run: string) =>
  (await runtime.workflows.events(run)).map(({ type }) => type);
const claimsOf = async (of: Stage, run: string) =>
  (await typesOf(of, run)).filter((type) => type === 'client.claimed').length;

describe('a client is led through a workflow', () => {
  it('it sees what there is, and nothing of what the steps say', async () => {
    const { told, client } = await three();
    expect(await told('list_workflows')).toEqual({
      workflows: [{ workflow: 'release', description: 'What release does.', agent: 'guide' }],
    });
    const seen = await told('inspect_workflow', { workflow: 'release' });
    expect(seen).toMatchObject({
      workflow: 'release',
      tasks: 3,
      asksPeople: false,
      input: { type: 'object' },
    });
    expect(JSON.stringify(seen)).not.toMatch(/Do the part|Build/);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'list_workflows',
      'inspect_workflow',
      'start_workflow',
      'continue_workflow',
      'resume_session',
      'agent_guide',
    ]);
  });

  it('a step at a time, each with a token of its own, up to the output', async () => {
    const of = await three();
    const { told } = of;
    const first = await told('start_workflow', { workflow: 'release', goal: 'a release' });
    expect(first).toMatchObject({
      isComplete: false,
      step: { prompt: 'Do the part called plan.', requires: { files: { type: 'array' } } },
    });
    const sent = { notes: NOTES, context_updates: { files: ['a.ts'] }, artifacts: [{ at: 'a.ts' }] };
    const second = await told('continue_workflow', { continueToken: first.continueToken, ...sent });
    expect(second).toMatchObject({ run: first.run, isComplete: false, step: { prompt: 'Build ["a.ts"].' } });
    const third = await told('continue_workflow', { continueToken: second.continueToken, notes: NOTES });
    const last = await told('continue_workflow', { continueToken: third.continueToken, notes: NOTES });
    expect(last).toEqual({
      run: first.run,
      isComplete: true,
      output: { notes: NOTES, context_updates: {}, artifacts: [] },
    });
    expect(new Set([first, second, third].map(({ continueToken }) => continueToken)).size).toBe(3);
    const state = await of.runtime.workflows.state(first.run);
    expect(state).toMatchObject({
      origin: { client: 'tester', identity: 'program' },
      input: { goal: 'a release' },
    });
    expect(state.steps.get('plan')?.guided?.claims).toMatchObject([
      { by: 'mcp:program (tester)', artifacts: [{ at: 'a.ts' }] },
    ]);
  });

  it("it may use WorkRail's names, but not two names with different values", async () => {
    const { told, refused } = await three();
    const { continueToken } = await told('start_workflow', { workflow: 'release' });
    const sent = { notesMarkdown: NOTES, contextUpdates: { files: ['a.ts'] } };
    expect(await refused('continue_workflow', { continueToken, ...sent, notes: `${NOTES} Or not.` })).toBe(
      'claim_refused',
    );
    expect(await told('continue_workflow', { continueToken, ...sent })).toMatchObject({
      step: { prompt: 'Build ["a.ts"].' },
    });
  });

  it('what it sends is judged first; where it is refused nothing changes and the token stays good', async () => {
    const of = await three();
    const { told, refused } = of;
    const { run, continueToken } = await told('start_workflow', { workflow: 'release' });
    const before = await typesOf(of, run);
    const files = { files: ['a.ts'] };
    for (const [sent, code] of [
      [{}, 'bad_parameters'],
      [{ notes: 'done' }, 'notes_refused'],
      [{ notes: 'done '.repeat(20) }, 'notes_refused'],
      [{ notes: 'x'.repeat(30_000) }, 'notes_refused'],
      [{ notes: NOTES }, 'claim_refused'],
      [{ notes: NOTES, context_updates: { files: 'a.ts' } }, 'claim_refused'],
      [{ notes: NOTES, context_updates: { ...files, flies: 1 } }, 'claim_refused'],
      [{ notes: `${NOTES} ${continueToken}`, context_updates: files }, 'claim_refused'],
      [{ notes: NOTES, context_updates: files, step: 'ship' }, 'bad_parameters'],
    ] as const)
      expect([sent, await refused('continue_workflow', { continueToken, ...sent })]).toEqual([sent, code]);
    for (const [tool, sent] of [
      ['start_workflow', { workflow: 'release', goal: `Go on with ${continueToken}` }],
      ['agent_guide', { input: `Go on with ${continueToken}` }],
      ['resume_session', { run: continueToken }],
    ] as const)
      expect([tool, await refused(tool, sent)]).toEqual([tool, 'bad_parameters']);
    expect(await typesOf(of, run)).toEqual(before);
    expect(
      await told('continue_workflow', { continueToken, notes: NOTES, context_updates: files }),
    ).toMatchObject({
      step: { prompt: 'Build ["a.ts"].' },
    });
  });

  it('tasks that stand beside each other, and those of workflows that are called, come one after another', async () => {
    const parallel = `  - name: both\n    type: parallel\n    branches:\n${['one', 'two'].map((name) => `      - [{ name: ${name}, type: task, prompt: "Do the part called ${name}." }]\n`).join('')}`;
    const folder = project(
      workflow('outer', `${parallel}  - { name: call, type: workflow, target: inner }\n${task('last')}`),
      workflow('inner', `${task('deep')}${task('deeper')}`),
    );
    const of = await stage(folder);
    const prompts: string[] = [];
    let answer = await of.told('start_workflow', { workflow: 'outer' });
    for (const { run } = answer; answer.isComplete !== true; ) {
      prompts.push((answer as unknown as { step: { prompt: string } }).step.prompt);
      const sent = { continueToken: answer.continueToken, notes: NOTES };
      answer = await of.told('continue_workflow', sent);
      expect(answer.run).toBe(run);
      expect(await of.told('continue_workflow', sent)).toEqual(answer);
    }
    expect(prompts).toEqual(
      ['one', 'two', 'deep', 'deeper', 'last'].map((name) => `Do the part called ${name}.`),
    );
  });

  it('a verifier that wants more is heard with the next answer, under a token of its own', async () => {
    const folder = project(
      workflow('checked', task('work', ', verify: { command: [test, -f, done.txt], max_retries: 3 }')),
    );
    const { told, refused, runtime } = await stage(folder);
    const first = await told('start_workflow', { workflow: 'checked' });
    const sent = { continueToken: first.continueToken, notes: NOTES };
    const again = await told('continue_workflow', sent);
    expect(again).toMatchObject({
      isComplete: false,
      step: { prompt: 'Do the part called work.', instruction: expect.any(String) },
    });
    expect(again.continueToken).not.toBe(first.continueToken);
    expect(await told('continue_workflow', sent)).toEqual(again);
    writeFileSync(join(folder, 'done.txt'), '');
    const better = { continueToken: again.continueToken, notes: `${NOTES} This time with the file.` };
    expect(await told('continue_workflow', better)).toMatchObject({ isComplete: true });
    expect(await refused('continue_workflow', sent)).toBe('token_replayed');
    expect((await runtime.workflows.state(first.run)).steps.get('work')?.guided?.claims).toHaveLength(2);
  });
});

describe('a run that waits for something else than its client', () => {
  it('a person: it says so, and goes on once they have answered', async () => {
    const approval = '  - { name: may, type: approval, prompt: "May it go out?" }\n';
    const of = await stage(project(workflow('asks', `${task('draft')}${approval}${task('send')}`)));
    const { told, runtime } = of;
    expect(await told('inspect_workflow', { workflow: 'asks' })).toMatchObject({ asksPeople: true });
    const { run, continueToken } = await told('start_workflow', { workflow: 'asks' });
    const waits = await told('continue_workflow', { continueToken, notes: NOTES });
    expect(waits).toMatchObject({
      isComplete: false,
      waitingFor: { what: 'a person', reviews: [{ prompt: 'May it go out?' }] },
    });
    expect(waits.continueToken).toBeUndefined();
    expect(waits.step).toBeUndefined();
    expect(await told('resume_session', { run })).toEqual(waits);
    const [review] = await runtime.reviews();
    await runtime.answer(review?.review ?? '', { approved: true, by: 'ann' });
    expect(await told('resume_session', { run })).toMatchObject({
      step: { prompt: 'Do the part called send.' },
    });
  });

  it('a time: it says until when; what the runtime does itself is waited for up to a bound', async () => {
    const later = '  - { name: later, type: wait, for: 2h }\n';
    const soon = '  - { name: soon, type: wait, for: 400ms }\n';
    const folder = project(
      workflow('later', `${later}${task('a')}`),
      workflow('soon', `${soon}${task('b')}`),
    );
    const patient = await stage(folder);
    const waits = await patient.told('start_workflow', { workflow: 'later' });
    expect(waits).toMatchObject({ waitingFor: { what: 'timer later', until: expect.stringMatching(/Z$/) } });
    expect(await patient.told('start_workflow', { workflow: 'soon' })).toMatchObject({
      step: { prompt: 'Do the part called b.' },
    });
    const hasty = await stage(folder, { waitMs: 20 });
    const busy = await hasty.told('start_workflow', { workflow: 'soon' });
    expect(busy).toMatchObject({ waitingFor: { hint: expect.stringContaining('resume_session') } });
    let answer = busy;
    while (answer.step === undefined) answer = await hasty.told('resume_session', { run: busy.run });
    expect(answer).toMatchObject({ step: { prompt: 'Do the part called b.' } });
  });

  it('progress is told to who wants to know', async () => {
    const steps = ['alpha', 'beta'].map((name) => `  - { name: ${name}, type: wait, for: 100ms }\n`).join('');
    const { client } = await stage(project(workflow('slow', `${steps}${task('a')}`)));
    const heard: string[] = [];
    await client.callTool({ name: 'start_workflow', arguments: { workflow: 'slow' } }, undefined, {
      onprogress: ({ message }) => heard.push(message ?? ''),
    });
    expect(heard).toContain('1 step is done');
    expect(heard.join()).not.toMatch(/alpha|beta/);
  });

  it('a run that fails is an error with its reason, again and again', async () => {
    const { call, told } = await stage(
      project(
        workflow('fails', `${task('a')}  - { name: b, type: script, script: "throw new Error('no')" }\n`),
      ),
    );
    const { continueToken, run } = await told('start_workflow', { workflow: 'fails' });
    const failed = await call('continue_workflow', { continueToken, notes: NOTES });
    expect(failed).toMatchObject({
      isError: true,
      structuredContent: { run, isComplete: false, error: { message: expect.stringContaining('no') } },
    });
    expect(await call('continue_workflow', { continueToken, notes: NOTES })).toEqual(failed);
    expect(await call('resume_session', { run })).toEqual(failed);
  });
});

describe('a call that is made again', () => {
  it('gives the very same answer; other content does not count, and the answer says so', async () => {
    const of = await three();
    const { call, told, refused } = of;
    const { run, continueToken } = await told('start_workflow', { workflow: 'release' });
    const sent = { continueToken, notes: NOTES, context_updates: { files: ['a.ts'] } };
    const first = await call('continue_workflow', sent);
    expect(await call('continue_workflow', sent)).toEqual(first);
    const other = await told('continue_workflow', { ...sent, notes: `${NOTES} Or so it seemed to me.` });
    const { notice, ...same } = other;
    expect(notice).toContain('accepted already');
    expect(same).toEqual(first.structuredContent);
    expect(await claimsOf(of, run)).toBe(1);
    await told('continue_workflow', { continueToken: other.continueToken, notes: NOTES });
    expect(await refused('continue_workflow', sent)).toBe('token_replayed');
  });

  it('at the same time as the first, from one server or two: one of them counts', async () => {
    const folder = project(workflow('release', THREE));
    const one = await stage(folder, { store: SHARED });
    const two = await stage(folder, { store: SHARED });
    const { run, continueToken } = await one.told('start_workflow', { workflow: 'release' });
    const send = (to: Stage, file: string) =>
      to.told('continue_workflow', { continueToken, notes: NOTES, context_updates: { files: [file] } });
    const answers = await Promise.all([send(one, 'a'), send(one, 'b'), send(two, 'c'), send(two, 'd')]);
    expect(await claimsOf(one, run)).toBe(1);
    expect(answers.filter(({ notice }) => notice === undefined)).toHaveLength(1);
    expect(new Set(answers.map((answer) => answer.continueToken)).size).toBe(1);
    const asked = (await typesOf(one, run)).filter((type) => type === 'client.asked');
    expect(asked).toHaveLength(2);
  });

  it('after a restart of the server goes on where the log ends', async () => {
    const folder = project(workflow('release', THREE));
    const before = await stage(folder, { store: SHARED });
    const { run, continueToken } = await before.told('start_workflow', { workflow: 'release' });
    const sent = { continueToken, notes: NOTES, context_updates: { files: ['a.ts'] } };
    const first = await before.told('continue_workflow', sent);
    await before.told('start_workflow', { workflow: 'release' });
    await before.close();
    const after = await stage(folder, { store: SHARED });
    expect(await after.told('continue_workflow', sent)).toEqual(first);
    expect(await after.told('resume_session', { run })).toEqual(first);
    expect((await after.told('resume_session')).runs).toMatchObject([
      { client: 'tester' },
      { run, workflow: 'release', status: 'waiting' },
    ]);
    const stranger = await stage(folder, { name: 'stranger', store: SHARED });
    expect(await stranger.told('resume_session')).toEqual({ runs: [] });
    expect(
      await after.told('continue_workflow', { continueToken: first.continueToken, notes: NOTES }),
    ).toMatchObject({
      step: { prompt: 'Do the part called ship.' },
    });
    expect(await after.refused('resume_session', { run: 'run_none' })).toBe('run_unknown');
  });

  it('finds the run in hand for a minute, and takes it up again after that', async () => {
    const clock = createSimulatedClock();
    const { told, runtime } = await three({ clock });
    const { run, continueToken } = await told('start_workflow', { workflow: 'release' });
    const owner = async () => (await runtime.store.info(run))?.owner;
    expect(await owner()).toBeDefined();
    await clock.advance(60_000);
    await expect.poll(owner).toBeUndefined();
    const before = await typesOf({ runtime } as Stage, run);
    const second = await told('continue_workflow', {
      continueToken,
      notes: NOTES,
      context_updates: { files: [] },
    });
    expect(second).toMatchObject({ step: { prompt: 'Build [].' } });
    const since = (await typesOf({ runtime } as Stage, run)).slice(before.length);
    expect(since).toContain('workflow.resumed');
    expect(await owner()).toBeDefined();
    await told('continue_workflow', { continueToken: second.continueToken, notes: NOTES });
    const last = (await typesOf({ runtime } as Stage, run)).slice(before.length + since.length);
    expect(last).toEqual([
      'client.claimed',
      'step.claimed',
      'step.completed',
      'step.started',
      'client.asked',
      'workflow.waiting',
    ]);
    expect(unsoundCauses(new Map([[run, await runtime.workflows.events(run)]]))).toEqual([]);
  });

  it('is refused where the manifest has changed, unless changes are accepted', async () => {
    const folder = project(workflow('release', THREE));
    const before = await stage(folder, { store: SHARED });
    const { run, continueToken } = await before.told('start_workflow', { workflow: 'release' });
    await before.close();
    appendFileSync(join(folder, 'agent.yml'), workflow('more', task('x')));
    const sent = { continueToken, notes: NOTES, context_updates: { files: [] } };
    const after = await stage(folder, { store: SHARED });
    expect(await after.refused('continue_workflow', sent)).toBe('manifest_changed');
    expect(await claimsOf(after, run)).toBe(0);
    await after.close();
    const lenient = await stage(folder, { acceptChanges: true, store: SHARED });
    expect(await lenient.told('continue_workflow', sent)).toMatchObject({ step: { prompt: 'Build [].' } });
  });
});

describe('a token that is not good', () => {
  it('is refused by the server with its own code, and changes nothing', async () => {
    const folder = project(workflow('release', THREE));
    const of = await stage(folder);
    const { run, continueToken } = await of.told('start_workflow', { workflow: 'release' });
    const other = await of.told('start_workflow', { workflow: 'release' });
    const elsewhere = await (await stage(folder)).told('start_workflow', { workflow: 'release' });
    const before = await typesOf(of, run);
    const parts = continueToken.split('.');
    const swapped = [parts[0], parts[1], other.continueToken.split('.')[2], parts[3]].join('.');
    const flipped = Array.from({ length: 60 }, (_, n) => {
      const at = 13 + n * 2;
      return `${continueToken.slice(0, at)}${continueToken[at] === 'A' ? 'B' : 'A'}${continueToken.slice(at + 1)}`;
    });
    for (const [token, code] of [
      ...flipped.map((each) => [each, 'token_forged'] as const),
      [swapped, 'token_forged'],
      [continueToken.slice(0, -1), 'token_malformed'],
      ['', 'token_malformed'],
      [elsewhere.continueToken, 'token_foreign'],
    ] as const)
      expect(await of.refused('continue_workflow', { continueToken: token, notes: NOTES })).toBe(code);
    expect(await of.refused('continue_workflow', { continueToken: 7, notes: NOTES })).toBe('bad_parameters');
    expect(await typesOf(of, run)).toEqual(before);
  });

  it('because it is too old: resume_session gives a new one', async () => {
    let ahead = 0;
    const clock = { ...createSystemClock(), now: () => Date.now() + ahead };
    const { told, refused } = await three({ clock, tokenTtlMs: 60_000 });
    const { run, continueToken } = await told('start_workflow', { workflow: 'release' });
    const sent = { notes: NOTES, context_updates: { files: [] } };
    ahead = 61_000;
    expect(await refused('continue_workflow', { continueToken, ...sent })).toBe('token_expired');
    const again = await told('resume_session', { run });
    expect(again.continueToken).not.toBe(continueToken);
    expect(await told('continue_workflow', { continueToken: again.continueToken, ...sent })).toMatchObject({
      step: { prompt: 'Build [].' },
    });
  });

  it('because its key was rotated away twice; after one rotation it still counts', async () => {
    let ahead = 0;
    const clock = createSystemClock();
    const { told, refused, runtime } = await three({
      clock: { ...clock, monotonic: () => clock.monotonic() + ahead },
    });
    const [one, two] = [
      await told('start_workflow', { workflow: 'release' }),
      await told('start_workflow', { workflow: 'release' }),
    ];
    const sent = { notes: NOTES, context_updates: { files: [] } };
    await rotateKeys(runtime.store.tables);
    ahead += 1_000;
    await told('continue_workflow', { continueToken: one.continueToken, ...sent });
    await rotateKeys(runtime.store.tables);
    ahead += 1_000;
    expect(await refused('continue_workflow', { continueToken: two.continueToken, ...sent })).toBe(
      'token_foreign',
    );
    const { continueToken } = await told('resume_session', { run: two.run });
    await told('continue_workflow', { continueToken, ...sent });
  });

  it('because its step was withdrawn', async () => {
    const { told, refused, runtime } = await three();
    const { run, continueToken } = await told('start_workflow', { workflow: 'release' });
    await runtime.workflows.cancel(run, 'not needed', 'ann');
    await expect.poll(async () => (await runtime.workflows.state(run)).status).toBe('cancelled');
    const sent = { notes: NOTES, context_updates: { files: [] } };
    expect(await refused('continue_workflow', { continueToken, ...sent })).toBe('token_stale');
    expect(await refused('resume_session', { run })).toBe('cancelled');
  });
});

describe('what cannot be started', () => {
  it('is refused before anything is written', async () => {
    const folder = project(
      workflow('proof', task('a', ', evidence: [typed]')),
      workflow('around', '  - { name: call, type: workflow, target: proof }\n'),
      workflow(
        'typed',
        task('a'),
        'input: { type: object, properties: { n: { type: integer } }, required: [n] }\n',
      ),
      workflow('plain', task('a')),
      workflow('timed', task('a'), 'trigger: { type: schedule, every: 1h }\n'),
    );
    const { refused, told, runtime, call } = await stage(folder);
    expect(await refused('start_workflow', { workflow: 'proof' })).toBe('no_evidence');
    expect(await refused('start_workflow', { workflow: 'around' })).toBe('no_evidence');
    expect((await told('inspect_workflow', { workflow: 'proof' })).refusal).toContain('typed');
    expect(await refused('start_workflow', { workflow: 'typed', input: { n: 'x' } })).toBe('bad_input');
    expect(await refused('start_workflow', { workflow: 'timed' })).toBe('no_workflow');
    expect(JSON.stringify(await call('start_workflow', { workflow: 'typd' }))).toContain('Did you mean');
    expect(await refused('start_workflow', { workflow: 7 })).toBe('bad_parameters');
    const named = await stage(folder, { name: 'n'.repeat(1_000_000) });
    const { run } = await named.told('start_workflow', { workflow: 'plain' });
    expect((await named.runtime.workflows.state(run)).origin.client).toBe('n'.repeat(200));
    const endless = JSON.parse(`${'['.repeat(3_000)}${']'.repeat(3_000)}`);
    expect(await refused('start_workflow', { workflow: 'plain', input: { endless } })).toBe('bad_parameters');
    expect(await runtime.store.list()).toEqual([]);
  });
});
