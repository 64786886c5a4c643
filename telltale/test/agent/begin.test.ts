import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { RuntimeOptions, StartOptions } from '../../src/agent/runtime-types.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { Model } from '../../src/models/model.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { PATIENT } from '../store/eventually.ts';
import { openInlineStore } from '../store/open-inline-store.ts';
import { type PostgresHome, useHome } from '../store/postgres-home.ts';
import { startSessionProcess } from '../store/start-store-process.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { agentFolder } from './run-agent.ts';

const DONE = '<response>Done.</response>';
const CALL = '<action id="a" type="agent">{"name":"helper","parameters":{"input":"Go."}}</action>';
const HEAD = { kind: 'session', name: 'tester', status: 'running', title: '' } as const;
const TAKEN = { code: 'stream_exists' };

const family = () =>
  agentFolder('import: { agents: [./helper.yml] }\n', {
    'helper.yml': 'kind: Agent\nname: helper\ndescription: Helps.\ninstructions: Help.\n',
  });

/** A runtime on the store, and an agent for it. */
async function stage(store: Store, options: Omit<RuntimeOptions, 'store'> = {}, folder = agentFolder('')) {
  const runtime = await createRuntime({ ...options, store, cwd: folder });
  const agent = await loadAgent('agent.yml', { cwd: folder });
  const start = (given: Partial<StartOptions> = {}) =>
    runtime.start(agent, { input: 'Go.', model: scripted([DONE]), ...given });
  return { runtime, start };
}

const memory = () => createMemoryStore({ clock: createSystemClock() });

describe('a session that begins', () => {
  let home: PostgresHome;
  useHome((given) => {
    home = given;
  });

  it('is there with its owner and its first events in one commit, and its model is asked behind that', async () => {
    const folder = await temporaryFolder();
    let commits = 0;
    const path = folder.path('store.db');
    const store = openInlineStore({
      path,
      onPost: (message) => void (message.kind === 'group' && message.writes.length > 0 && commits++),
    });
    const { runtime, start } = await stage(store, {}, family());
    const file = new DatabaseSync(path, { readOnly: true });
    const heads = file.prepare('SELECT head, owner IS NOT NULL AS owned FROM heads ORDER BY id');
    const asked: unknown[] = [];
    const counting = (model: Model): Model => ({
      ...model,
      stream(request, sink) {
        asked.push({ commits, heads: heads.all().map((row) => [row.head, row.owned]) });
        return model.stream(request, sink);
      },
    });
    await start({ id: 'ses_1', model: counting(scripted([CALL, DONE])) }).result;
    file.close();
    const [own, called] = asked as { commits: number; heads: [head: number, owned: number][] }[];
    expect(own).toEqual({ commits: 1, heads: [[1, 1]] });
    // One with the action that calls it, and what was said before; one that is its own.
    expect(called).toMatchObject({
      commits: 3,
      heads: [
        [expect.any(Number), 1],
        [1, 1],
      ],
    });
    expect(await store.info('ses_1.a')).toMatchObject({ status: 'completed', parent: 'ses_1' });
    await runtime.close();
    await store.close();
    await folder.remove();
  });

  it('and says all at once is two commits, the second of which also lets go of it', async () => {
    const folder = await temporaryFolder();
    const groups: unknown[] = [];
    const store = openInlineStore({
      path: folder.path('store.db'),
      onPost: (message) =>
        message.kind === 'group' &&
        groups.push(message.writes.map((write) => ('op' in write ? write.op : 'append'))),
    });
    const { runtime, start } = await stage(store);
    const session = start();
    expect(await session.result).toMatchObject({ status: 'completed' });
    expect(groups.filter((group) => (group as string[]).length > 0)).toEqual([
      ['create'],
      ['append', 'release'],
    ]);
    expect(await store.info(session.id)).not.toHaveProperty('owner');
    await runtime.close();
    await store.close();
    await folder.remove();
  });

  it('is one transaction of a database', PATIENT, async () => {
    const { shared: _, ...store } = await home.open();
    const { runtime, start } = await stage(store);
    await start({ id: 'ses_1' }).result;
    const rows = await home.sql(
      'SELECT l.xmin = s.xmin AS together, l.count FROM {S}.streams s JOIN {S}.log l ON l.stream = s.id WHERE l.first = 1',
    );
    expect(rows).toEqual([{ together: true, count: 1 }]);
    await runtime.close();
  });

  /** What is left of two sessions whose processes die right before and right behind the first commit. */
  const killed = async (location: string, open: () => Promise<Store>) => {
    const points = { ses_1: 'append:session.started', ses_2: 'committed:session.started' };
    const deaths = Object.entries(points).map(
      ([id, point]) => startSessionProcess(location, agentFolder(''), id, point).ended,
    );
    expect(await Promise.all(deaths)).toEqual([null, null]);
    const store = await open();
    const left = await store.list();
    await store.close();
    return left;
  };
  const LEFT = [{ stream: 'ses_2', head: 1, status: 'running' }];

  it('and is killed leaves all of its beginning in a file, or nothing', PATIENT, async () => {
    const folder = await temporaryFolder();
    const path = folder.path('store.db');
    const open = () => openSqliteStore({ path, clock: createSystemClock() });
    expect(await killed(path, open)).toMatchObject(LEFT);
    await folder.remove();
  });

  it('and is killed leaves all of its beginning in a database, or nothing', PATIENT, async () => {
    expect(await killed(home.url, () => home.open())).toMatchObject(LEFT);
  });

  it('under the id of another is refused, asks no model, and leaves the other as it is', async () => {
    const { runtime, start } = await stage(memory());
    let go: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    const slow = scripted([DONE]);
    const asked = scripted([DONE]);
    const first = start({
      id: 'ses_1',
      model: { ...slow, stream: (request, sink) => held.then(() => slow.stream(request, sink)) },
    });
    await expect.poll(() => runtime.session('ses_1')).toBe(first);
    const second = start({ id: 'ses_1', model: asked });
    const heard: unknown[] = [];
    second.subscribe((event) => heard.push(event));
    await expect(second.result).rejects.toMatchObject(TAKEN);
    await expect(second.events[Symbol.asyncIterator]().next()).rejects.toMatchObject(TAKEN);
    expect(runtime.session('ses_1')).toBe(first);
    go();
    expect(await first.result).toMatchObject({ status: 'completed' });
    expect([heard, asked.prompts]).toEqual([[], []]);
    const types = (await runtime.events('ses_1')).map(({ type }) => type);
    expect(types.filter((type) => type === 'session.started')).toHaveLength(1);
    await runtime.close();
  });

  it('under the id of an empty stream takes that one, and all who listened hear it', async () => {
    const store = memory();
    await (await store.create('ses_1', HEAD)).release();
    const heard: Record<'before' | 'between', (number | undefined)[]> = { before: [], between: [] };
    const seqOf = (event: object) => ('seq' in event ? (event as SessionEvent).seq : undefined);
    let isFirst = true;
    const crashPoint = (point: string) => {
      if (point !== 'append:session.started' || !isFirst) return;
      isFirst = false;
      session.subscribe((event) => heard.between.push(seqOf(event)));
    };
    const { runtime, start } = await stage(store, { crashPoint });
    const session = start({ id: 'ses_1' });
    session.subscribe((event) => heard.before.push(seqOf(event)));
    const read: (number | undefined)[] = [];
    for await (const event of session.events) read.push(seqOf(event));
    expect(await session.result).toMatchObject({ status: 'completed' });
    const all = (await runtime.events('ses_1')).map(({ seq }) => seq);
    const durable = (seqs: readonly (number | undefined)[]) => seqs.filter((seq) => seq !== undefined);
    expect([heard.before, heard.between, read].map(durable)).toEqual([all, all, all]);
    await runtime.close();
  });

  it('hears what is sent to it right behind its first commit, before its model is asked', async () => {
    const model = scripted([DONE]);
    const store = memory();
    const { runtime, start } = await stage(store, {
      crashPoint(point) {
        if (point === 'committed:session.started')
          void store.send('ses_1', { kind: 'steer', from: 'user', body: 'Turn left.' });
      },
    });
    await start({ id: 'ses_1', model }).result;
    expect(model.prompts[0]).toContain('Turn left.');
    await runtime.close();
  });

  it('with more than a log can take is refused, and leaves no stream behind', async () => {
    const { runtime, start } = await stage(memory());
    const session = start({ id: 'ses_1', input: 'x'.repeat(64 * 1024 * 1024) });
    await expect(session.result).rejects.toMatchObject({ code: 'append_too_large' });
    expect(await runtime.store.info('ses_1')).toBeUndefined();
    await runtime.close();
  });
});
