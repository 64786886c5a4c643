import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { createSessionLog } from '../../src/agent/create-session-log.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { RuntimeOptions, StartOptions } from '../../src/agent/runtime-types.ts';
import { prepareDerived } from '../../src/agent/variables/derived-triggers.ts';
import type { Json } from '../../src/lib/json.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createLastFront } from '../../src/log/codec.ts';
import type { EventOf, SessionEvent } from '../../src/log/event.ts';
import { fold } from '../../src/log/reduce.ts';
import { createSnapshotWriter } from '../../src/log/snapshot.ts';
import { emptyState } from '../../src/log/state.ts';
import type { Model } from '../../src/models/model.ts';
import { createMemoryStore } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import type { DecisionContext } from '../../src/tools/artifacts/artifacts.ts';
import type { Invoke } from '../../src/tools/artifacts/create-invoke.ts';
import { agentWith } from '../prompt/agent.ts';
import { freePort } from '../servers/free-port.ts';
import { testDatabase } from '../servers/shared-postgres.ts';
import { PATIENT } from '../store/eventually.ts';
import { call, runTeam } from './children/run-team.ts';
import { agentFolder, runAgent, tool } from './run-agent.ts';

const setVar = (name: string, value: unknown, id = 'v') =>
  `<action id="${id}" type="internal" mode="sync">${JSON.stringify({ name: 'set_variable', parameters: { name, value } })}</action>`;

const changesIn = (events: readonly SessionEvent[]) =>
  events
    .filter((event): event is EventOf<'variable.changed'> => event.type === 'variable.changed')
    .map(({ name, to, by }) => [name, to, by]);

/** Sessions of one agent on one store, one after the other. */
async function home(
  manifest: string,
  files: Readonly<Record<string, string>> = {},
  more: RuntimeOptions = {},
) {
  const folder = agentFolder(manifest, files);
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const store = createMemoryStore();
  const runtime = await createRuntime({ store, cwd: folder, ...more });
  return {
    folder,
    agent,
    store,
    runtime,
    async run(turns: readonly string[], start: Partial<StartOptions> = {}) {
      const model = scripted(turns);
      const session = runtime.start(agent, { input: 'Go.', model, ...start });
      const result = await session.result;
      const events = await runtime.events(session.id);
      return { result, events, prompts: model.prompts, changes: changesIn(events) };
    },
  };
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

describe('derived variables in a session', () => {
  const FLAG = `context_variables:
  derived:
    - { name: built, description: Whether it builds., default: false, triggers: [{ type: tool_response, tool: build, match: { ok: true } }] }
    - { name: word, expression: 'built ? "yes" : "no"' }
import: { tools: [./tools/*.yml] }
`;

  it('follow from what happens, on the log behind what they follow from, and in the next prompt', async () => {
    const ran = await runAgent({
      manifest: FLAG,
      files: tool('build', 'return { ok: true };'),
      turns: [
        '<action id="b" mode="sync">{"name":"build"}</action>',
        '<if test="vars.built"><response>$word</response></if>',
      ],
    });
    expect(ran.result.result).toBe('yes');
    expect(changesIn(ran.events)).toEqual([
      ['built', true, 'derived:tool_response'],
      ['word', 'yes', 'derived:expression'],
    ]);
    expect(ran.of('session.started')[0]?.vars).toEqual({ built: false, word: 'no' });
    const done = ran.of('action.completed')[0]?.seq;
    expect(ran.of('variable.changed')[0]).toMatchObject({ seq: (done ?? 0) + 1, cause: { seq: done } });
    expect(ran.prompts[0]).toContain('- built: false (Whether it builds.)\n- word: "no"');
    expect(ran.prompts[1]).toContain(
      'Variables that changed, with their new values:\n- built: true\n- word: "yes"',
    );
    expect(ran.of('turn.started').map(({ prompt }) => prompt.reused_prefix)).toEqual([1, 1]);
  });

  it('of a context_variables.json beside the agent run, too', async () => {
    const json = {
      context_variables: {
        derived_variables: [
          {
            name: 'interview_complete',
            description: 'True once the agent ends.',
            default: false,
            triggers: [{ type: 'agent_text', agent: 'tester', match: { equals: 'TERMINATE' } }],
          },
        ],
      },
    };
    const ran = await runAgent({
      files: { 'context_variables.json': JSON.stringify(json) },
      turns: ['<response final="false">TERMINATE</response>', '<response>$interview_complete</response>'],
    });
    expect(ran.result.result).toBe('true');
  });

  it('a timer goes on after a restart, fires once, and never again', async () => {
    const store = createMemoryStore();
    const clock = createSimulatedClock();
    const folder = agentFolder(
      'context_variables: { derived: [{ name: late, default: false, triggers: [{ type: timer_expired, after: 10m }] }] }\n',
    );
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const first = await createRuntime({ store, cwd: folder, clock });
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const silent: Model = {
      id: 'test/silent',
      stream: ({ signal }) => {
        asked();
        return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      },
    };
    const session = first.start(agent, { input: 'Go.', model: silent });
    await isAsked;
    await session.interrupt();
    await clock.advance(11 * 60_000);
    const second = await createRuntime({ store, cwd: folder, clock });
    const talks: Model = {
      id: 'test/talks',
      async stream(_, sink) {
        await clock.advance(0);
        sink.text('<response>$late</response>');
        return { finish: 'stop' };
      },
    };
    const resumed = await second.resume(session.id, { agent, model: talks });
    expect((await resumed.result).result).toBe('true');
    const types = (await second.events(session.id)).map(({ type }) => type);
    expect(types.filter((type) => type === 'timer.set' || type === 'timer.fired')).toEqual([
      'timer.set',
      'timer.fired',
    ]);
    expect(clock.pending).toBe(0);
  });

  it('a function whose artifact is missing gives its fallback, which is on the log', async () => {
    const ran = await runAgent({
      manifest:
        'context_variables: { derived: [{ name: mood, triggers: [{ type: function, artifact: judge, method: mood, fallback: calm }] }] }\n',
      turns: ['<response final="false">Hm.</response>', '<response>Done.</response>'],
    });
    expect(ran.of('variable.changed')).toMatchObject([{ name: 'mood', to: 'calm' }]);
    expect(ran.of('invoke')[0]).toMatchObject({
      where: 'variable mood: triggers[0]',
      result: 'calm',
      fallback: { reason: 'missing' },
    });
  });

  it('a function is asked outside, one question at a time; its answer is written down and paid for, then it counts', async () => {
    const clock = createSimulatedClock();
    const writer = await createMemoryStore().create('ses_f', {
      kind: 'session',
      name: 'tester',
      status: 'running',
      title: '',
    });
    const log = createSessionLog({
      writer,
      state: emptyState(),
      snapshots: createSnapshotWriter(),
      clock,
      front: createLastFront(),
      stop: {
        now(reason) {
          throw new Error(`the log was lost: ${reason.kind}`);
        },
      },
    });
    const triggers = [{ type: 'function', artifact: 'judge', method: 'mood', fallback: 'calm' }];
    const manifest = agentWith({ context_variables: { derived: [{ name: 'mood', triggers }] } });
    const answers: ((result: Json) => void)[] = [];
    const invoke: Invoke = ({ where, invocation: { method, args }, context }) =>
      new Promise((resolve) =>
        answers.push((result) =>
          resolve({
            where,
            artifact: `judge of ${context.agent_id}`,
            method,
            args,
            result,
            cached: false,
            ms: 1,
            cost: 2,
          }),
        ),
      );
    const context = () =>
      ({ agent_id: String(log.state.metadata.n ?? 'nobody') }) as unknown as DecisionContext;
    const reactions = prepareDerived(manifest, {}).react({ log, clock, artifacts: { invoke, context } });
    log.append({
      type: 'session.started',
      agent: 'tester',
      input: '',
      manifest: { path: '', hash: '' },
      model: 'x',
      balance: 10,
    });
    await log.flushed();
    const update = (n: string) =>
      log.append({ type: 'metadata.changed', by: 'model', changes: { n: { from: null, to: n } } });
    update('one');
    update('two');
    await log.flushed();
    expect(answers).toHaveLength(1);
    answers[0]?.('glad');
    await log.flushed();
    await Promise.resolve();
    // Both updates together ask once, about what is by then.
    expect(answers).toHaveLength(2);
    answers[1]?.(false);
    await reactions.settled();
    await log.flushed();
    expect(log.state.variables.get('mood')).toMatchObject({ value: 'glad', by: 'derived:function' });
    expect(log.state.balance).toBe(6);
    update('three');
    await log.flushed();
    expect(answers).toHaveLength(3);
    reactions.close();
    const { seq } = log.state;
    answers[2]?.('late');
    await reactions.settled();
    expect(log.state.seq).toBe(seq);
    await writer.release();
  });

  it("types of one's own are checked by their schema, and run", async () => {
    const manifest = (keys: string) =>
      `context_variables: { derived: [{ name: loud, default: false, triggers: [{ type: "acme:shout", ${keys} }] }] }\n`;
    const shout = {
      description: 'Somebody shouts.',
      schema: {
        type: 'object',
        properties: { marks: { type: 'integer' } },
        required: ['marks'],
        additionalProperties: false,
      },
      parse: ({ marks }: { marks?: unknown }) => Number(marks),
      matches: (marks: number, { event }: { event: SessionEvent }) =>
        event.type === 'response' && event.text.endsWith('!'.repeat(marks)),
    };
    const turns = [
      '<response final="false">No!</response><response final="false">No!!</response>',
      '<response>$loud</response>',
    ];
    const runtime = { derivedTriggers: { 'acme:shout': shout } };
    const ran = await runAgent({ manifest: manifest('marks: 2'), turns, runtime });
    expect(ran.result.result).toBe('true');
    expect(changesIn(ran.events)).toEqual([['loud', true, 'derived:acme:shout']]);
    expect(await failure(runAgent({ manifest: manifest('marks: many'), turns, runtime }))).toMatchObject({
      code: 'bad_parameters',
    });
    expect(await failure(runAgent({ manifest: manifest('marks: 2'), turns }))).toMatchObject({
      code: 'trigger_type_unknown',
    });
  });
});

describe('who may set a variable', () => {
  const MANIFEST = `context_variables:
  runtime:
    - { name: tries, type: number, default: 0 }
    - { name: locked, type: string, writers: [workflow] }
  defined:
    - { name: limit, type: number, writers: [user] }
  derived:
    - { name: ready, default: false, triggers: [{ type: event, event: turn.failed }] }
`;

  it.each([
    [{ tries: 'many' }, 'bad_parameters'],
    [{ locked: 'x' }, 'variable_denied'],
    [{ ready: true }, 'variable_denied'],
    [{ limit: null }, 'bad_parameters'],
  ])('%j at the start is refused as %s', async (vars, code) => {
    expect(await failure(runAgent({ manifest: MANIFEST, turns: [], start: { vars } }))).toMatchObject({
      code,
    });
  });

  it("a user may give what is a user's to give, and what nobody declared", async () => {
    const ran = await runAgent({
      manifest: MANIFEST,
      start: { vars: { tries: 3, limit: 9, own: 'x' } },
      turns: [
        `${setVar('limit', 1)}<response>$tries $limit $own</response>`,
        '<response>$tries $limit $own</response>',
      ],
    });
    expect(ran.result.result).toBe('3 9 x');
    expect(ran.of('action.failed')).toMatchObject([{ error: { code: 'variable_denied' } }]);
    expect(changesIn(ran.events)).toEqual([['limit', 9, 'user']]);
  });
});

describe('defined variables', () => {
  const STYLE =
    'context_variables: { defined: [{ name: style, type: string, key: user, default: concise }] }\n';
  const SHOW = '<response>$style</response>';

  it('are kept for their user over sessions, each change on the log', async () => {
    const { run } = await home(STYLE);
    const first = await run([`${setVar('style', 'dry')}${SHOW}`]);
    expect(first.result.result).toBe('dry');
    expect(first.changes).toEqual([['style', 'dry', 'model']]);
    const next = await run([SHOW]);
    expect(next.events[0]).toMatchObject({ vars: { style: 'dry' }, user: 'local' });
    expect(fold(next.events).variables.get('style')).toMatchObject({ class: 'defined' });
    expect((await run([SHOW], { user: 'ada' })).result.result).toBe('concise');
    expect((await run([SHOW], { user: 'ada', vars: { style: 'florid' } })).changes).toEqual([
      ['style', 'florid', 'user'],
    ]);
    expect((await run([SHOW], { user: 'ada' })).result.result).toBe('florid');
    expect((await run([SHOW])).result.result).toBe('dry');
  });

  it('set elsewhere are seen in the next turn, and the last write wins', async () => {
    const { runtime, agent, run } = await home(STYLE);
    const session = runtime.start(agent, {
      input: 'Go.',
      model: {
        id: 'test/slow',
        async stream({ turn, messages }, sink) {
          if (turn === 1) {
            await run([`${setVar('style', 'theirs')}${SHOW}`]);
            sink.text('<response final="false">Hm.</response>');
          } else {
            expect(messages.at(-1)?.text).toContain('- style: "theirs"');
            sink.text(`${setVar('style', 'mine')}${SHOW}`);
          }
          return { finish: 'stop' };
        },
      },
    });
    expect((await session.result).result).toBe('mine');
    expect(changesIn(await runtime.events(session.id))).toEqual([
      ['style', 'theirs', 'seed'],
      ['style', 'mine', 'model'],
    ]);
    expect((await run([SHOW])).result.result).toBe('mine');
  });

  it('by a path belong to what stands there in the metadata', async () => {
    const { run } = await home(
      'metadata: { fields: { customer: { type: string } } }\ncontext_variables: { defined: [{ name: tone, key: metadata.customer, default: plain }] }\n',
    );
    const as = (customer: string) => `<metadata>{"customer":"${customer}"}</metadata>`;
    const ran = await run([
      `${as('a')}${setVar('tone', 'warm')}<response final="false">.</response>`,
      `${as('b')}<response final="false">.</response>`,
      '<response>$tone</response>',
    ]);
    expect(ran.result.result).toBe('plain');
    const again = await run([`${as('a')}<response final="false">.</response>`, '<response>$tone</response>']);
    expect(again.result.result).toBe('warm');
  });

  it('a resumed session keeps what it has, and gets only what it lacks', async () => {
    const { runtime, agent, folder } = await home(
      'context_variables: { runtime: [{ name: n, default: 1 }] }\n',
    );
    const session = runtime.start(agent, {
      input: 'Go.',
      vars: { n: 5 },
      model: scripted([], {}),
    });
    expect((await session.result).status).toBe('failed');
    writeFileSync(
      join(folder, 'agent.yml'),
      'kind: Agent\nname: tester\nmodel: scripted:none.yml\ncontext_variables: { runtime: [{ name: n, default: 1 }, { name: m, default: 2 }] }\n',
    );
    const changed = await loadAgent('agent.yml', { cwd: folder });
    const model: Model = {
      id: 'test/x',
      async stream(_, sink) {
        sink.text('<response>$n $m</response>');
        return { finish: 'stop' };
      },
    };
    const resumed = await runtime.resume(session.id, { agent: changed, model, acceptChanges: true });
    expect((await resumed.result).result).toBe('5 2');
  });
});

describe('defined variables in a sql relic', PATIENT, () => {
  const manifest =
    'import: { relics: [./db.yml] }\ncontext_variables: { defined: [{ name: style, type: string, key: user, default: concise, store: db }] }\n';
  const relic = (url: string) => ({
    'db.yml': `kind: Relic\nname: db\ndriver: sql\nconnection: { url: "${url}" }\n`,
  });
  const SHOW = '<response>$style</response>';
  const SELECT = 'SELECT scope, name, value FROM telltale_variables';
  const ROW = { scope: 'user:local', name: 'style', value: '"dry"' };

  it('are rows of a table there, in a SQLite file', async () => {
    const { run, runtime, folder } = await home(manifest, relic('sqlite:./data.db'));
    expect((await run([`${setVar('style', 'dry')}${SHOW}`])).result.result).toBe('dry');
    expect((await run([SHOW])).result.result).toBe('dry');
    const database = new DatabaseSync(join(folder, 'data.db'));
    expect(
      database
        .prepare(SELECT)
        .all()
        .map((row) => ({ ...row })),
    ).toEqual([ROW]);
    // Whoever else writes there is heard in the next turn.
    database.exec(`UPDATE telltale_variables SET value = '"wry"'`);
    database.close();
    expect((await run([SHOW])).result.result).toBe('wry');
    await runtime.close();
  });

  it('are rows of a table there, in PostgreSQL', async () => {
    const database = await testDatabase();
    const { run, runtime } = await home(manifest, relic(database.url));
    try {
      expect((await run([`${setVar('style', 'dry')}${SHOW}`])).result.result).toBe('dry');
      expect((await run([SHOW])).result.result).toBe('dry');
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      expect((await client.query(SELECT)).rows).toEqual([ROW]);
      await client.end();
    } finally {
      await runtime.close();
      await database.remove();
    }
  });

  it('a relic that is no database is refused before anything runs', async () => {
    const files = { 'db.yml': 'kind: Relic\nname: db\ndriver: kv\n' };
    expect(await failure(runAgent({ manifest, files, turns: [] }))).toMatchObject({ code: 'bad_manifest' });
    const unknown = manifest.replace('store: db', 'store: dbb');
    expect(await failure(runAgent({ manifest: unknown, files, turns: [] }))).toMatchObject({
      code: 'bad_manifest',
    });
  });

  it('a relic that is down is a soft error; what it was not given it gets once it is up', async () => {
    const down = `postgres://nobody@127.0.0.1:${await freePort()}/none`;
    const { run, runtime, store, folder } = await home(manifest, relic(down));
    const ran = await run([`${setVar('style', 'dry')}<response final="false">.</response>`, SHOW]);
    expect(ran.result).toMatchObject({ status: 'completed', result: 'dry' });
    const faults = ran.events.flatMap((event) => (event.type === 'fault' ? [event] : []));
    expect(new Set(faults.map(({ code }) => code))).toEqual(new Set(['variable_store']));
    expect(faults.at(-1)?.message).toContain('The relic "db" could not be used');
    const owed = await store.tables.get(`variables.owed:${ran.result.session}`, 'style@user:local');
    expect(owed).toMatchObject({ scope: 'user:local', value: 'dry' });
    writeFileSync(join(folder, 'db.yml'), relic('sqlite:./data.db')['db.yml']);
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const forked = await runtime.resume(ran.result.session, {
      agent,
      acceptChanges: true,
      chat: true,
      model: scripted(['', '', SHOW]),
    });
    await forked.say('And now?');
    forked.finish();
    await forked.result;
    const database = new DatabaseSync(join(folder, 'data.db'));
    expect(
      database
        .prepare(SELECT)
        .all()
        .map((row) => ({ ...row })),
    ).toEqual([ROW]);
    database.close();
    expect(
      await store.tables.get(`variables.owed:${ran.result.session}`, 'style@user:local'),
    ).toBeUndefined();
    await runtime.close();
  });
});

describe('variables of sub-agents', () => {
  const VARS =
    'context_variables: { runtime: [{ name: n, default: 1 }, { name: secret, default: s, expose: [tester] }] }\n';
  const child = (inherit: string, writers = 'model') => ({
    manifest: `metadata: { inherit: ${inherit} }\ncontext_variables: { runtime: [{ name: n, default: 0, writers: [${writers}] }] }\n`,
    turns: [`${setVar('n', 7)}<response>$n</response>`, '<response>$n</response>'],
  });
  const run = (member: ReturnType<typeof child>) =>
    runTeam({ sub: member }, { manifest: VARS, turns: [`${call('a1', 'sub')}<response>$a1 $n</response>`] });

  it('none: they are their own', async () => {
    const ran = await run(child('none'));
    expect(ran.childOf('a1', 'session.started')[0]?.vars).toEqual({ n: 0 });
    expect(ran.result.result).toBe('7 1');
  });

  it('read: they begin with those of the caller, which are shown as far as they are exposed, and change none', async () => {
    const ran = await run(child('read'));
    expect(ran.childOf('a1', 'session.started')[0]?.vars).toEqual({ n: 1 });
    expect(ran.childOf('a1', 'message.received').map(({ text }) => text)).toContain(
      'My variables, for you to read: {"n":1}',
    );
    expect(ran.result.result).toBe('7 1');
  });

  it('share: changes come back to the caller, once', async () => {
    const ran = await run(child('share'));
    expect(ran.result.result).toBe('7 7');
    expect(changesIn(ran.events)).toEqual([['n', 7, 'child:sub']]);
    expect(ran.of('child.variable.changed')).toHaveLength(1);
  });

  it('what a model can set gets into no variable that models may not set', async () => {
    const ran = await run(child('share', 'user'));
    expect(ran.childOf('a1', 'session.started')[0]?.vars).toEqual({ n: 0 });
  });
});
