import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { loadWorkflow } from '../../src/agent/runs/load-workflow.ts';
import type { Store } from '../../src/store/store.ts';
import { crashEverywhere, mortal } from '../../src/testing/crash.ts';
import { createMemoryStore } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { agentFolder, tool } from './run-agent.ts';
import { type Deed, speak } from './speak.ts';

const NOTES = (what: string) =>
  `I looked at ${what} with care and wrote down all that there was to find about it.`;

const task = (name: string, more = '') => `  - { name: ${name}, type: task, prompt: "Do ${name}."${more} }\n`;

const script = (turns: readonly (readonly Deed[])[]) =>
  `turns:\n${turns.map((deeds) => `  - text: ${JSON.stringify(speak('tags', deeds))}\n`).join('')}`;

const done = (name: string): readonly Deed[] => [{ complete: NOTES(name) }];

const echo = tool('echo', 'return { said: input.text ?? null };', 'idempotent: true\n');

async function stage(steps: string, files: Readonly<Record<string, string>>) {
  const folder = agentFolder(
    'permissions: { sandbox: "off" }\nimport: { tools: [./tools/*.yml], workflows: [./flows/*.yml], agents: [./agents/*.yml] }\n',
    { 'flows/lead.yml': `kind: Workflow\nname: lead\nsteps:\n${steps}`, ...echo, ...files },
  );
  const open = () => createRuntime({ store: 'sqlite:runs.db', durability: 'process', cwd: folder });
  return { folder, open, load: () => loadWorkflow('agent.yml', { cwd: folder, workflow: 'lead' }) };
}

const worker = (name: string, turns: readonly (readonly Deed[])[]) => ({
  [`agents/${name}.yml`]: `kind: Agent\nname: ${name}\nmodel: scripted:../turns/${name}.yml\npermissions: { sandbox: "off" }\nimport: { tools: [../tools/*.yml] }\n`,
  [`turns/${name}.yml`]: script(turns),
});

const judge = {
  'turns/judge.yml': `turns:\n  - text: '{"assessment": "pass", "confidence": "high", "reasoning": "It is all there."}'\n`,
};

describe('the tasks of a run', () => {
  it('are worked on by its agent in one session, and by others in theirs', async () => {
    const { open, load } = await stage(
      `${task('a', ', agent: ann')}${task('b', ', agent: bob')}  - { name: mid, type: script, script: "1 + 1" }\n${task('c', ', agent: ann')}`,
      { ...worker('ann', [done('a'), done('c')]), ...worker('bob', [done('b')]) },
    );
    const runtime = await open();
    const run = runtime.workflows.start(await load(), { id: 'run_a', input: { goal: 'Get it done.' } });
    expect(await run.result).toMatchObject({ status: 'completed', output: { notes: NOTES('c') } });
    const ann = await runtime.state('run_a~ann');
    expect(ann).toMatchObject({ status: 'completed', input: 'Get it done.', totals: { turns: 2 } });
    expect((await runtime.state('run_a~bob')).totals.turns).toBe(1);
    const state = await runtime.workflows.state('run_a');
    expect([...state.ledUsage.keys()].toSorted()).toEqual(['run_a~ann', 'run_a~bob']);
    const bob = (await runtime.state('run_a~bob')).totals;
    expect(state.usage.input).toBe(ann.totals.input + bob.input);
    await runtime.close();
  });

  it('go on in the same session after a person was asked, days later and in another process', async () => {
    const { open, load } = await stage(
      `${task('a', ', agent: ann')}  - { name: ask, type: approval, prompt: "Go on?" }\n${task('b', ', agent: ann')}`,
      worker('ann', [done('a'), done('b')]),
    );
    const first = await open();
    const run = first.workflows.start(await load(), { id: 'run_b' });
    expect(await run.result).toMatchObject({ status: 'waiting' });
    expect((await first.state('run_b~ann')).status).toBe('waiting');
    const [review] = await first.reviews();
    await first.close();
    const second = await open();
    await second.answer(review?.review ?? '', { approved: true, by: 'kim' });
    const again = await second.workflows.resume('run_b');
    expect(await again.result).toMatchObject({ status: 'completed' });
    const ann = await second.state('run_b~ann');
    expect(ann).toMatchObject({ status: 'completed', totals: { turns: 2 } });
    await second.close();
  });

  it('fail with the session that works on them; another try has a session of its own', async () => {
    const { open, load } = await stage(task('a', ', agent: ann, retry: { max: 1, backoff: 1ms }'), {
      ...worker('ann', [[{ call: 'fails', run: { on_error: 'fail', mode: 'sync' } }]]),
      ...tool('fails', "throw new Error('no luck');"),
    });
    const runtime = await open();
    const run = runtime.workflows.start(await load(), { id: 'run_c' });
    const { status, error } = await run.result;
    expect(status).toBe('failed');
    expect(error?.message).toContain('no luck');
    expect((await runtime.store.info('run_c~ann'))?.status).toBe('failed');
    expect((await runtime.store.info('run_c~ann~2'))?.status).toBe('failed');
    await runtime.close();
  });

  it('that stand side by side and have the same agent are worked on one after the other', async () => {
    const { open, load } = await stage(
      `  - name: both\n    type: parallel\n    branches:\n${['a', 'b', 'c'].map((name) => `      - { name: ${name}, type: task, agent: ann, prompt: "Do ${name}." }\n`).join('')}`,
      worker('ann', [done('the one'), done('the other'), done('the third')]),
    );
    const runtime = await open();
    expect(await runtime.workflows.start(await load(), { id: 'run_p' }).result).toMatchObject({
      status: 'completed',
    });
    const given = (await runtime.events('run_p~ann')).flatMap((event) =>
      event.type === 'task.given' || event.type === 'task.claimed' ? [event.type] : [],
    );
    expect(given).toEqual([
      'task.given',
      'task.claimed',
      'task.given',
      'task.claimed',
      'task.given',
      'task.claimed',
    ]);
    await runtime.close();
  });

  it('that stand side by side go on by themselves once a person has settled the one in hand', async () => {
    const { open, load } = await stage(
      `  - name: both\n    type: parallel\n    branches:\n${['a', 'b'].map((name) => `      - { name: ${name}, type: task, agent: ann, prompt: "Do ${name}.", verify: { command: [node, -e, "process.exit(1)"], max_retries: 0 } }\n`).join('')}`,
      worker('ann', [done('the one'), done('the other')]),
    );
    const runtime = await open();
    expect(await runtime.workflows.start(await load(), { id: 'run_q' }).result).toMatchObject({
      status: 'waiting',
    });
    for (const status of ['waiting', 'completed']) {
      const [review, ...more] = await runtime.reviews();
      expect(more).toEqual([]);
      await runtime.answer(review?.review ?? '', { choice: 'pass', by: 'kim' });
      expect(await (await runtime.workflows.resume('run_q')).result).toMatchObject({ status });
    }
    await runtime.close();
  });

  it('end their session when the run is cancelled', async () => {
    const { open, load } = await stage(
      task('a', ', agent: ann'),
      worker('ann', [[{ call: 'echo' }], [{ call: 'echo', input: { text: 'b' } }], done('a')]),
    );
    const runtime = await open();
    const run = runtime.workflows.start(await load(), { id: 'run_d' });
    for await (const { type } of run.events)
      if (type === 'step.started') {
        await run.cancel('enough');
        break;
      }
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    expect((await runtime.store.info('run_d~ann'))?.status).not.toBe('running');
    await runtime.close();
  });
});

describe('a session that its own workflow leads', () => {
  it('goes on in the same runtime once a person has answered, wherever its run is by then', async () => {
    const folder = agentFolder(
      'import: { tools: [./tools/*.yml], workflows: [./flows/*.yml] }\nworkflow: lead\n',
      { 'flows/lead.yml': `kind: Workflow\nname: lead\nsteps:\n${task('a')}`, ...echo },
    );
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const same: readonly Deed[] = [{ call: 'echo', run: { mode: 'sync' } }];
    const turns = [same, same, same, same, same, same, done('a')].map((deeds) => speak('tags', deeds));
    const ends: string[] = [];
    for (const steered of [false, true])
      for (let ticks = 0; ticks < 8; ticks++) {
        const runtime = await createRuntime({ store: 'memory', cwd: folder });
        const model = scripted(turns);
        const session = runtime.start(agent, { input: 'Go.', model });
        await session.result;
        if (steered) {
          await runtime.steer(session.id, 'Hello.');
          await (await runtime.resume(session.id, { agent, model })).result;
        }
        const [review] = await runtime.reviews();
        await runtime.answer(review?.review ?? '', { choice: 'retry', by: 'kim' });
        for (let tick = 0; tick < ticks; tick++) await new Promise((then) => setImmediate(then));
        const again = await runtime.resume(session.id, { agent, model });
        ends.push((await again.result).status);
        await runtime.close();
      }
    expect(new Set(ends)).toEqual(new Set(['completed']));
  });

  it('goes on in the same runtime once a person has answered', async () => {
    const folder = agentFolder('import: { workflows: [./flows/*.yml] }\nworkflow: lead\n', {
      'flows/lead.yml': `kind: Workflow\nname: lead\nsteps:\n${task('a')}  - { name: ask, type: approval, prompt: "Go on?" }\n${task('b')}`,
    });
    const runtime = await createRuntime({ store: 'memory', cwd: folder });
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const model = scripted([done('a'), done('b')].map((deeds) => speak('tags', deeds)));
    const session = runtime.start(agent, { input: 'Go.', model });
    expect(await session.result).toMatchObject({ status: 'waiting', turns: 1 });
    const [review] = await runtime.reviews();
    await runtime.answer(review?.review ?? '', { approved: true, by: 'kim' });
    await runtime.workflows.idle();
    const again = await runtime.resume(session.id, { agent, model });
    expect(await again.result).toMatchObject({ status: 'completed', turns: 2 });
    await runtime.close();
  });
});

describe('a session that is forked in the midst of a step', () => {
  it('begins its workflow anew, and leaves the step in hand behind', async () => {
    const folder = agentFolder('import: { workflows: [./flows/*.yml] }\nworkflow: lead\n', {
      'flows/lead.yml': `kind: Workflow\nname: lead\nsteps:\n${task('a')}${task('b')}`,
    });
    const runtime = await createRuntime({ store: 'memory', cwd: folder });
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const turns = [done('a'), done('b'), done('a, once more'), done('b, once more')];
    const model = scripted(turns.map((deeds) => speak('tags', deeds)));
    const session = runtime.start(agent, { input: 'Go.', model });
    await session.result;
    const events = await runtime.events(session.id);
    const second = events.filter(({ type }) => type === 'task.given').at(-1)?.seq ?? 0;
    const fork = await runtime.fork(session.id, second);
    const result = await (await runtime.resume(fork, { agent, model })).result;
    expect(result.status).toBe('completed');
    const claimed = (await runtime.events(fork)).flatMap((event) =>
      event.type === 'task.claimed' ? [event.task] : [],
    );
    expect(claimed).toEqual([`${session.id}~lead:a#1`, `${fork}~lead:a#1`, `${fork}~lead:b#1`]);
    await runtime.close();
  });
});

/** A session of its own workflow on a store that can die, with a tool that waits for `go`. */
async function leading(steps: string, turns: readonly (readonly Deed[])[]) {
  const folder = agentFolder(
    'import: { tools: [./tools/*.yml], workflows: [./flows/*.yml] }\nworkflow: lead\n',
    {
      'flows/lead.yml': `kind: Workflow\nname: lead\nsteps:\n${steps}`,
      ...tool(
        'wait',
        "const { existsSync } = await import('node:fs');\nwhile (!existsSync(new URL('../go', import.meta.url))) await new Promise((done) => setTimeout(done, 5));\nreturn {};",
      ),
      ...echo,
    },
  );
  const store = createMemoryStore();
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const model = scripted(turns.map((deeds) => speak('tags', deeds)));
  const open = (on: Store) => createRuntime({ store: on, cwd: folder });
  return { store, agent, model, open, go: () => writeFileSync(join(folder, 'go'), '') };
}

const WAIT: readonly Deed[] = [{ call: 'wait', run: { mode: 'sync' } }];

describe('a task that was taken back', () => {
  it('keeps nobody where the run only waits from there on', async () => {
    const { store, agent, model, open, go } = await leading(
      `${task('a', ', timeout: 20ms, on_error: continue')}  - { name: ask, type: approval, prompt: "Go on?" }\n${task('b')}`,
      [WAIT, done('b')],
    );
    const runtime = await open(store);
    const session = runtime.start(agent, { input: 'Go.', model });
    while ((await runtime.reviews()).length === 0) await new Promise((then) => setTimeout(then, 5));
    await runtime.workflows.idle();
    go();
    expect(await session.result).toMatchObject({ status: 'waiting', turns: 1 });
    const [review] = await runtime.reviews();
    await runtime.answer(review?.review ?? '', { approved: true, by: 'kim' });
    const again = await runtime.resume(session.id, { agent, model });
    expect(await again.result).toMatchObject({ status: 'completed', turns: 2, result: NOTES('b') });
    await runtime.close();
  });

  it('is not gone on with after a restart: the next attempt is', async () => {
    const { store, agent, model, open, go } = await leading(
      `${task('a', ', timeout: 100ms, retry: { max: 40, backoff: 1ms }')}`,
      [WAIT, done('the first'), done('the second')],
    );
    const dying = mortal(store);
    const first = await open(dying);
    const session = first.start(agent, { input: 'Go.', model });
    const attempts = async () =>
      (await first.workflows.events(`${session.id}~lead`).catch(() => [])).filter(
        ({ type }) => type === 'step.started',
      ).length;
    while ((await attempts()) < 2) await new Promise((then) => setTimeout(then, 5));
    dying.die();
    void session.interrupt();
    go();
    await session.result.catch(() => undefined);
    await first.close();
    const second = await open(store);
    const again = await second.resume(session.id, { agent, model });
    expect(await again.result).toMatchObject({ status: 'completed' });
    const claimed = (await second.events(session.id)).flatMap((event) =>
      event.type === 'task.claimed' ? [event.task] : [],
    );
    expect(claimed).toHaveLength(1);
    expect(claimed[0]).not.toMatch(/#1$/);
    await second.close();
  });
});

describe('a second opinion', () => {
  it('by a command costs no model call; what it prints is what the agent is told', async () => {
    const { open, load, folder } = await stage(
      task('a', ', agent: ann, verify: { command: [node, check.mjs] }'),
      {
        ...worker('ann', [
          done('a'),
          [{ call: 'echo', input: { text: 'better' } }, { complete: NOTES('it once more') }],
        ]),
        'check.mjs': `import { appendFileSync, readFileSync } from 'node:fs';
const said = JSON.parse(readFileSync(0, 'utf8'));
appendFileSync(new URL('./asked.txt', import.meta.url), JSON.stringify(said) + '\\n');
if (!JSON.stringify(said).includes('once more')) { console.log('Look once more.'); process.exit(3); }
`,
      },
    );
    const runtime = await open();
    const run = runtime.workflows.start(await load(), { id: 'run_v' });
    expect(await run.result).toMatchObject({ status: 'completed', output: { notes: NOTES('it once more') } });
    const events = await runtime.workflows.events('run_v');
    expect(events.flatMap((event) => (event.type === 'verify' ? [event.assessment] : []))).toEqual([
      'retry',
      'pass',
    ]);
    const ann = await runtime.events('run_v~ann');
    const told = ann.find((event) => event.type === 'task.answered');
    expect(told).toMatchObject({ nth: 1, text: expect.stringContaining('Look once more.') });
    expect((await runtime.state('run_v~ann')).totals.turns).toBe(2);
    expect(readFileSync(join(folder, 'asked.txt'), 'utf8').trim().split('\n')).toHaveLength(2);
    await runtime.close();
  });

  it('by a model costs one call, only where it is asked for, and its cost is on the log', async () => {
    const { open, load } = await stage(
      `${task('a', ', agent: ann, verify: { model: "scripted:turns/judge.yml", instructions: Be strict. }')}${task('b', ', agent: ann')}`,
      {
        ...worker('ann', [done('a'), done('b')]),
        ...judge,
      },
    );
    const runtime = await open();
    expect(await runtime.workflows.start(await load(), { id: 'run_m' }).result).toMatchObject({
      status: 'completed',
    });
    const events = await runtime.workflows.events('run_m');
    const judged = events.filter((event) => event.type === 'verify');
    expect(judged).toMatchObject([
      { step: 'a', assessment: 'pass', confidence: 'high', usage: { input: expect.any(Number) } },
    ]);
    const asked = events.flatMap((event) =>
      event.type === 'model.used' && event.worker === undefined ? [event.step] : [],
    );
    expect(asked).toEqual(['a']);
    await runtime.close();
  });

  it('that disagrees for the last time leaves it to a person, also after a restart', async () => {
    const { open, load } = await stage(
      task('a', ', agent: ann, verify: { command: [node, -e, "process.exit(1)"], max_retries: 1 }'),
      worker('ann', [done('a'), done('a second time'), done('a third time'), done('a fourth time')]),
    );
    const first = await open();
    expect(await first.workflows.start(await load(), { id: 'run_e' }).result).toMatchObject({
      status: 'waiting',
    });
    expect(await first.state('run_e~ann')).toMatchObject({ status: 'waiting', totals: { turns: 2 } });
    await first.close();
    const second = await open();
    const [review] = await second.reviews();
    expect(review?.options).toEqual(['pass', 'retry', 'fail']);
    await second.answer(review?.review ?? '', {
      choice: 'retry',
      by: 'kim',
      note: 'Once more, please.',
    });
    const again = await second.workflows.resume('run_e');
    expect(await again.result).toMatchObject({ status: 'waiting' });
    const told = (await second.events('run_e~ann')).flatMap((event) =>
      event.type === 'task.answered' ? [event.text ?? ''] : [],
    );
    expect(told.some((text) => text.includes('Once more, please.'))).toBe(true);
    const [next] = await second.reviews();
    await second.answer(next?.review ?? '', { choice: 'pass', by: 'kim' });
    expect(await (await second.workflows.resume('run_e')).result).toMatchObject({
      status: 'completed',
      output: { notes: NOTES('a fourth time') },
    });
    await second.close();
  });

  it('is asked of a person where the agent is stuck, and their word goes to it', async () => {
    const same: readonly Deed[] = [{ call: 'echo', input: { text: 'same' } }];
    const { open, load } = await stage(
      task('a', ', agent: ann'),
      worker('ann', [same, same, same, same, same, same, done('what they said')]),
    );
    const runtime = await open();
    expect(await runtime.workflows.start(await load(), { id: 'run_s' }).result).toMatchObject({
      status: 'waiting',
    });
    const [review] = await runtime.reviews();
    expect(review?.options).toEqual(['retry', 'fail']);
    await runtime.answer(review?.review ?? '', {
      choice: 'retry',
      by: 'kim',
      note: 'Stop that.',
    });
    expect(await (await runtime.workflows.resume('run_s')).result).toMatchObject({ status: 'completed' });
    const events = await runtime.events('run_s~ann');
    expect(events.filter(({ type }) => type === 'task.stuck')).toHaveLength(2);
    expect((await runtime.state('run_s~ann')).totals.turns).toBe(7);
    await runtime.close();
  });
});

describe('an agent that is led, killed anywhere', () => {
  it('comes to its end with each step claimed once, and one model call a step more at the most', async () => {
    const folder = agentFolder(
      'import: { tools: [./tools/*.yml], workflows: [./flows/*.yml] }\nworkflow: lead\n',
      {
        'flows/lead.yml': `kind: Workflow\nname: lead\nsteps:\n${task('a')}${task('b', ', evidence: [echo]')}${task('c')}`,
        ...echo,
      },
    );
    const turns = [
      done('a'),
      [
        { call: 'echo', run: { id: 'e1' } },
        { complete: NOTES('b'), evidence: ['e1'] },
      ],
      done('c'),
    ] as const;
    let places = 0;
    await crashEverywhere(
      {
        input: 'Go.',
        setUp: async () => ({ agent: await loadAgent('agent.yml', { cwd: folder }) }),
        start: { model: scripted(turns.map((deeds) => speak('tags', deeds))) },
        resume: { model: scripted(turns.map((deeds) => speak('tags', deeds))) },
        runtime: { cwd: folder },
      },
      ({ events, result }) => {
        places++;
        expect(result).toMatchObject({ status: 'completed', result: NOTES('c') });
        const claims = events.flatMap((event) => (event.type === 'task.claimed' ? [event.task] : []));
        expect(claims).toHaveLength(3);
        expect(new Set(claims).size).toBe(3);
        expect(events.filter(({ type }) => type === 'task.given')).toHaveLength(3);
      },
      { every: true },
    );
    expect(places).toBeGreaterThan(60);
  }, 60_000);
});

describe('an agent whose turns are judged, killed anywhere', () => {
  it('has no turn judged twice, and none that knew nothing of its task', async () => {
    const folder = agentFolder(
      'import: { tools: [./tools/*.yml], workflows: [./flows/*.yml] }\nworkflow: lead\n',
      {
        'flows/lead.yml': `kind: Workflow\nname: lead\nsteps:\n${task('a')}${task('b', ', verify: { model: "scripted:turns/judge.yml", instructions: Be strict., when: turn }')}`,
        ...judge,
        ...echo,
      },
    );
    const turns = [done('a'), [{ call: 'echo', run: { mode: 'sync' } }], done('b')] as const;
    const model = () => scripted(turns.map((deeds) => speak('tags', deeds)));
    await crashEverywhere(
      {
        input: 'Go.',
        setUp: async () => ({ agent: await loadAgent('agent.yml', { cwd: folder }) }),
        start: { model: model() },
        resume: { model: model() },
        runtime: { cwd: folder },
      },
      ({ events, result }) => {
        expect(result).toMatchObject({ status: 'completed', result: NOTES('b') });
        const judged = events.flatMap((event) => (event.type === 'task.turn' ? [event] : []));
        const given = events.findLast((event) => event.type === 'task.given')?.turn ?? 0;
        expect(new Set(judged.map(({ turn }) => turn)).size).toBe(judged.length);
        for (const { turn } of judged) expect(turn).toBeGreaterThan(given);
      },
      { every: true },
    );
  }, 60_000);
});

describe('a run with agents of its own, killed anywhere', () => {
  it('comes to its end, with no claim judged twice and no step given to two sessions', async () => {
    const { folder, load } = await stage(
      `${task('a', ', agent: ann')}${task('b', ', agent: bob, verify: { model: "scripted:turns/judge.yml", instructions: Be strict. }')}${task('c', ', agent: ann')}`,
      { ...worker('ann', [done('a'), done('c')]), ...worker('bob', [done('b')]), ...judge },
    );
    const workflow = await load();
    const walk = async (store: Store, crashPoint?: (point: string) => void) => {
      const runtime = await createRuntime({ store, cwd: folder, ...(crashPoint && { crashPoint }) });
      const isThere = ((await store.info('run_k'))?.head ?? 0) > 0;
      const run = isThere
        ? await runtime.workflows.resume('run_k', { workflow })
        : runtime.workflows.start(workflow, { id: 'run_k' });
      return { runtime, run };
    };
    const points: string[] = [];
    const whole = await walk(createMemoryStore(), (point) => void points.push(point));
    expect(await whole.run.result).toMatchObject({ status: 'completed' });
    await whole.runtime.close();
    expect(points.length).toBeGreaterThan(50);
    const wrong: string[] = [];
    const killAt = async (at: number) => {
      const store = createMemoryStore();
      const own = mortal(store);
      let passed = 0;
      let begun: Awaited<ReturnType<typeof walk>> | undefined;
      let isDead = false;
      const dying = await walk(own, () => {
        if (passed++ !== at) return;
        isDead = true;
        own.die();
        void begun?.run.interrupt();
      });
      begun = dying;
      if (isDead) void dying.run.interrupt(); // it died at its very start
      await dying.run.result.catch(() => undefined);
      await dying.runtime.close();
      if ((await store.info('run_k'))?.status === 'completed') return;
      const { runtime, run } = await walk(store);
      const { status } = await run.result;
      const events = await runtime.workflows.events('run_k');
      const count = (type: string) => events.filter((event) => event.type === type).length;
      const given = (await Promise.all(['run_k~ann', 'run_k~bob'].map((id) => runtime.events(id)))).flat();
      const claims = given.filter(({ type }) => type === 'task.claimed').length;
      if (status !== 'completed' || count('step.claimed') !== 3 || count('verify') !== 1 || claims !== 3)
        wrong.push(`${at} ${points[at]}: ${status} ${count('step.claimed')} ${count('verify')} ${claims}`);
      await runtime.close();
    };
    const left = [...points.keys()];
    const killOn = async () => {
      for (let at = left.shift(); at !== undefined; at = left.shift()) await killAt(at);
    };
    await Promise.all([killOn(), killOn(), killOn(), killOn()]);
    expect(wrong).toEqual([]);
  }, 60_000);
});
