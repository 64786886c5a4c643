import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionSummary } from '../../../src/client/api.ts';
import type { TelltaleClient } from '../../../src/client/client.ts';
import { openReviews } from '../../../src/log/reviews.ts';
import { modelChoices } from '../../../src/server/routes/agents.ts';
import { eventually } from '../../store/eventually.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
let client: TelltaleClient;
beforeAll(async () => {
  stage = await openStage();
  client = stage.client;
});
afterAll(() => stage.close());

const start = (agent: string, more: object = {}): Promise<SessionSummary> =>
  client.startSession({ agent, input: 'Do it.', ...more });

const reached = (id: string, ...statuses: readonly string[]): Promise<SessionSummary> =>
  eventually(async () => {
    const session = await client.session(id);
    expect(statuses).toContain(session.status);
    return session;
  });

describe('a session whose store is taken away', () => {
  it('is told of to whoever runs the server', async () => {
    const own = await openStage();
    const file = own.runtime.store.location.replace(/^sqlite:/, '');
    try {
      await own.client.startSession({ agent: 'slow', input: 'Do it.' });
      renameSync(file, `${file}.away`);
      await eventually(async () =>
        expect(own.errors).toContainEqual(expect.objectContaining({ code: 'store_gone' })),
      );
    } finally {
      renameSync(`${file}.away`, file);
      await own.close();
    }
  });
});

describe('agents', () => {
  it('are listed with what is wrong with them, and shown with manifest and files', async () => {
    const { items } = await client.agents();
    expect(items.map(({ name, usable }) => [name, usable])).toEqual([
      ['worker', true],
      ['slow', true],
      ['asker', true],
      ['talker', true],
      ['led', true],
      ['broken', false],
    ]);
    expect(items[0]).toMatchObject({ description: 'Works.', model: 'scripted:./works.yml', workflows: [] });
    expect(items[5]?.problems).toMatchObject([{ code: 'unknown_key', line: 3, severity: 'error' }]);
    const asker = await client.agent('asker');
    expect(asker.files.map(({ path }) => path.split('/').at(-1))).toEqual(
      expect.arrayContaining(['asker.yml', 'deploy.yml', 'nap.flow.yml']),
    );
    expect(asker.manifest).toMatchObject({ name: 'asker' });
    expect(items[0]?.examples).toEqual(['Write it down.']);
    expect((await client.agent('worker')).models).toEqual([{ model: 'quick', from: 'agent' }]);
    const env = { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: '' };
    const provided = modelChoices(undefined, env).map(({ model }) => model);
    expect(provided).toContain('anthropic/claude-sonnet-4-5');
    expect(provided.filter((model) => !model.startsWith('anthropic/'))).toEqual([]);
    await expect(client.agent('wroker')).rejects.toMatchObject({
      code: 'agent_unknown',
      hint: expect.stringContaining('"worker"'),
    });
  });

  it('are read again when they are asked to be', async () => {
    const file = join(stage.folder, 'broken.yml');
    const before = readFileSync(file, 'utf8');
    writeFileSync(file, before.replace('modle', 'model').replace(': x', ': scripted:./works.yml'));
    const { items } = await client.reloadAgents();
    expect(items[5]).toMatchObject({ name: 'broken', usable: true, problems: [] });
    writeFileSync(file, before);
    expect((await client.reloadAgents()).items[5]).toMatchObject({ usable: true, problems: [{ line: 3 }] });
  });

  it('have workflows with graphs, and no secret of a hook', async () => {
    const { items } = await client.workflows();
    const names = items.map(({ agent, name }) => `${agent}/${name}`);
    expect(names.sort()).toEqual(['asker/ask', 'asker/nap', 'led/lead']);
    const nap = items.find(({ name }) => name === 'nap');
    expect(nap).toMatchObject({ description: 'Sleeps.', input: { required: ['hours'] } });
    expect(nap?.graph.nodes.map(({ name }) => name)).toContain('sleep');
    expect(JSON.stringify(items)).not.toContain('very-secret');
  });
});

describe('a query', () => {
  it('with a key that its list does not take is refused, with the nearest that it does', async () => {
    const answer = await stage.ask('/sessions?agnet=worker');
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: {
        code: 'bad_request',
        message: expect.stringContaining('"agnet"'),
        hint: expect.stringContaining('"agent"'),
      },
    });
  });

  it('is not looked at where a route takes none', async () => {
    expect((await stage.ask('/agents?_=1')).status).toBe(200);
  });
});

describe('a session', () => {
  it('starts with another model that its manifest names or a provider has, and with no file of the server', async () => {
    const { id } = await start('worker', { model: 'quick' });
    expect(await reached(id, 'completed')).toMatchObject({ model: 'scripted:./chats.yml', result: 'One.' });
    for (const model of ['scripted:./asks.yml', 'quickly'])
      await expect(start('worker', { model })).rejects.toMatchObject({ code: 'bad_option' });
    await expect(start('worker', { model: 'openai/gpt-5' })).rejects.toThrow(/OPENAI_API_KEY/);
  });

  it('starts, works and is shown by what it did', async () => {
    const answer = await stage.ask('/sessions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'worker', input: 'Do it.', user: 'ann', max_turns: 3 }),
    });
    const made = (await answer.json()) as SessionSummary;
    expect([answer.status, answer.headers.get('location')]).toEqual([201, `/sessions/${made.id}`]);
    const session = await reached(made.id, 'completed');
    expect(session).toMatchObject({
      agent: 'worker',
      title: 'Do it.',
      result: 'Done.',
      metadata: { status: 'CODING' },
      bands: { status: [{ value: 'IDLE' }, { value: 'CODING' }] },
    });
    const { items, next } = await client.sessionEvents(made.id);
    expect(next).toBeUndefined();
    expect(items).toEqual(await stage.runtime.events(made.id));
    expect(items.at(-1)?.type).toBe('session.completed');
    const { items: part, next: behind } = await client.sessionEvents(made.id, { after: 1, limit: 2 });
    expect([part.map(({ seq }) => seq), behind]).toEqual([[2, 3], '3']);
    expect(await client.sessionState(made.id)).toMatchObject({ status: 'completed', seq: session.seq });
    expect(await client.sessionState(made.id, 1)).toMatchObject({ status: 'running', seq: 1 });
    for (const seq of [0, session.seq + 1])
      await expect(client.sessionState(made.id, seq)).rejects.toMatchObject({ code: 'event_unknown' });
    const why = await client.why(made.id, session.seq);
    expect(why.events[0]).toEqual(items.at(-1));
    await expect(client.why(made.id, 9_999)).rejects.toMatchObject({ code: 'event_unknown' });
    await expect(client.why('ses_none', 1)).rejects.toMatchObject({ code: 'session_unknown' });
  });

  it('shows what its model was asked in a turn, to whoever may read it', async () => {
    const { id } = await start('talker', { chat: true });
    await reached(id, 'waiting');
    await client.say(id, 'And now?');
    await eventually(async () => expect((await client.session(id)).turn).toBe(2));
    await reached(id, 'waiting');
    const reader = await stage.as('looks', 'read');
    const prompt = await reader.sessionPrompt(id);
    expect(prompt).toMatchObject({
      session: id,
      agent: 'talker',
      turn: 2,
      last: 2,
      dialect: 'tags',
      match: 'same',
      options: {},
      messages: [
        { role: 'user', turn: 1, new: false },
        { role: 'assistant', turn: 2, new: true },
        { role: 'user', turn: 2, new: true },
      ],
    });
    expect(prompt.messages[2]?.content).toMatchObject([
      { type: 'text', text: expect.stringContaining('And now?') },
    ]);
    expect(await client.sessionPrompt(id, 2)).toEqual(prompt);
    expect((await client.sessionPrompt(id, 1)).messages).toMatchObject([{ role: 'user', new: true }]);
    await expect(client.sessionPrompt(id, 3)).rejects.toMatchObject({ code: 'turn_unknown' });
    await expect(client.sessionPrompt('ses_none')).rejects.toMatchObject({ code: 'session_unknown' });
    expect((await stage.ask(`/sessions/${id}/prompts/3`)).status).toBe(404);
    expect((await stage.ask(`/sessions/${id}/prompts/0`)).status).toBe(400);
    expect((await stage.ask(`/sessions/${id}/prompts/x`)).status).toBe(400);
  });

  it('is followed from the first event to the last', async () => {
    const { id } = await start('worker');
    const told: string[] = [];
    await new Promise<void>((resolve) =>
      client.followSession(id, (each) => {
        told.push(each.kind === 'event' ? each.event.type : each.kind);
        if (each.kind === 'end') resolve();
      }),
    );
    const types = (await stage.runtime.events(id)).map(({ type }) => type);
    expect(told.filter((each) => !/delta|snapshot|progress/.test(each))).toEqual(['open', ...types, 'end']);
    const rest: unknown[] = [];
    await new Promise<void>((resolve) =>
      client.followSession(
        id,
        (each) => {
          rest.push(each.kind === 'event' ? each.event : each);
          if (each.kind === 'end') resolve();
        },
        { after: types.length - 1, live: false },
      ),
    );
    expect(rest).toMatchObject([
      { kind: 'open', after: types.length - 1 },
      { type: 'session.completed' },
      { kind: 'end' },
    ]);
  });

  it('is steered and cancelled by somebody, whose name is on its log', async () => {
    const { id } = await start('slow');
    const ann = await stage.as('ann', 'run');
    await ann.steer(id, 'Be quick.');
    await ann.cancelSession(id, 'too slow');
    await reached(id, 'cancelled');
    const events = await stage.runtime.events(id);
    const at = events.findIndex(({ type }) => type === 'message.received');
    expect(events.slice(at, at + 2)).toMatchObject([
      { type: 'message.received', from: 'steer', text: 'Be quick.' },
      { type: 'audit', who: 'token:ann', what: 'steer', cause: { seq: events[at]?.seq } },
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'session.cancelled', by: 'token:ann', reason: 'too slow' });
    await ann.cancelSession(id);
    await expect(ann.say(id, 'Hello?')).rejects.toMatchObject({ code: 'not_a_chat' });
  });

  it('that was cancelled twice goes on when it is resumed', async () => {
    const { id } = await start('slow');
    await Promise.all([client.cancelSession(id), client.cancelSession(id)]);
    await reached(id, 'cancelled');
    // As one that came too late for its end.
    await stage.runtime.store.send(id, { kind: 'cancel', from: 'user', body: 'once more' });
    await (await stage.as('bob', 'run')).resumeSession(id);
    const resumed = (await stage.runtime.events(id)).filter(({ type }) => type === 'session.resumed');
    expect(resumed).toMatchObject([{ by: 'token:bob' }]);
    await eventually(async () =>
      expect((await stage.runtime.events(id)).map(({ type }) => type).slice(-2)).toContain('turn.started'),
    );
    expect(await client.session(id)).toMatchObject({ status: 'running' });
    await client.cancelSession(id);
    await reached(id, 'cancelled');
  });

  it('that has ended cannot be cancelled, nor one that has completed be steered', async () => {
    const { id } = await start('worker');
    await reached(id, 'completed');
    await expect(client.cancelSession(id)).rejects.toMatchObject({ code: 'session_ended' });
    await expect(client.steer(id, 'More.')).rejects.toMatchObject({ code: 'session_completed' });
    await expect(client.resumeSession(id)).rejects.toMatchObject({ code: 'session_completed' });
  });

  it('goes on when it is resumed after its end', async () => {
    const { id } = await start('slow');
    await client.cancelSession(id);
    await reached(id, 'cancelled');
    const again = await client.resumeSession(id, { max_turns: 7, accept_changes: true });
    expect(again.status).toBe('running');
    expect(await client.sessionState(id)).toMatchObject({ maxTurns: 7 });
    await expect(client.resumeSession(id)).rejects.toMatchObject({ code: 'stream_owned' });
    await client.cancelSession(id);
    await reached(id, 'cancelled');
  });

  it('goes on as another from any event of it but its end', async () => {
    const { id, seq } = await start('worker');
    expect(seq).toBeGreaterThan(0);
    const { seq: last } = await reached(id, 'completed');
    const forked = await client.fork(id, 2);
    expect(forked).toMatchObject({ agent: 'worker', forked: { session: id, seq: 2 } });
    await reached(forked.id, 'completed');
    const changed = await client.fork(id, { seq: 1, message: 'Do less.', model: 'quick', vars: { n: 3 } });
    expect(changed).toMatchObject({ title: 'Do less.', model: 'scripted:./chats.yml' });
    expect((await reached(changed.id, 'completed')).result).toBe('One.');
    expect(await client.sessionState(changed.id)).toMatchObject({ variables: { n: { value: 3 } } });
    const scripted = { seq: 1, model: 'scripted:./asks.yml' };
    await expect(client.fork(id, scripted)).rejects.toMatchObject({ code: 'bad_option' });
    await expect(client.fork(id, last)).rejects.toMatchObject({ code: 'session_completed' });
    await expect(client.fork(id, last + 1)).rejects.toMatchObject({ code: 'event_unknown' });
  });

  it('is talked to, also after nobody has worked on it for a while', async () => {
    const { id } = await start('talker', { chat: true });
    const heard = (text: string) =>
      eventually(async () => {
        const session = await client.session(id);
        const said = (await stage.runtime.events(id)).flatMap((each) =>
          each.type === 'response' ? [each.text] : [],
        );
        expect([session.status, said.at(-1)]).toEqual(['waiting', text]);
        return session;
      });
    expect(await heard('One.')).toMatchObject({ chat: true });
    await client.say(id, 'And?');
    await heard('Two.');
    await stage.runtime.session(id)?.interrupt();
    await client.say(id, 'And then?');
    await heard('Three.');
    await client.cancelSession(id);
    await reached(id, 'cancelled');
  });

  it('is told nothing where it cannot go on: what is said again is not said twice', async () => {
    const file = join(stage.folder, 'talker.yml');
    const before = readFileSync(file, 'utf8');
    const { id } = await start('talker', { chat: true });
    await reached(id, 'waiting');
    await stage.runtime.session(id)?.interrupt();
    writeFileSync(file, `${before}instructions: Be kind.\n`);
    await client.reloadAgents();
    await expect(client.say(id, 'And?')).rejects.toMatchObject({ code: 'manifest_changed' });
    await expect(client.steer(id, 'Be brief.')).rejects.toMatchObject({ code: 'manifest_changed' });
    writeFileSync(file, before);
    await client.reloadAgents();
    await client.say(id, 'And?');
    await eventually(async () => {
      const told = (await stage.runtime.events(id)).flatMap((each) =>
        each.type === 'message.received' || each.type === 'response' ? [each.text] : [],
      );
      expect(told).toEqual(['One.', 'And?', 'Two.']);
    });
    await client.cancelSession(id);
  });

  it('that waits and that nobody works on is cancelled at once, with its reviews', async () => {
    const { id } = await start('asker');
    const { reviews } = await reached(id, 'waiting');
    await eventually(() => expect(stage.runtime.session(id)).toBeUndefined());
    await client.cancelSession(id, 'never mind');
    expect(await client.session(id)).toMatchObject({ status: 'cancelled', reviews: [] });
    expect(await client.review(reviews[0]!)).toMatchObject({ answer: 'withdrawn', by: 'user:stage' });
  });
});

describe('what is started under an Idempotency-Key', () => {
  it.each([
    ['/sessions', { agent: 'worker', input: 'Once.' }],
    ['/runs', { agent: 'asker', workflow: 'ask' }],
  ])('%s is found, not started again, where the server died before it could say so', async (path, body) => {
    const { tables } = stage.runtime.store;
    const table = 'server.idempotency';
    const { exchange } = tables;
    const isAnswer: typeof exchange = async (expected, writes) =>
      writes.some((each) => each.table === table && JSON.stringify(each.value)?.includes('"answer"'))
        ? false
        : exchange(expected, writes);
    const headers = { 'content-type': 'application/json', 'idempotency-key': `once ${path}` };
    const post = async () =>
      (await (await stage.ask(path, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as {
        readonly id: string;
      };
    Object.assign(tables, { exchange: isAnswer });
    const { id } = await post();
    Object.assign(tables, { exchange });
    // A claim runs out a minute after its process died.
    for (const key of await tables.keys(table)) await tables.delete(table, key);
    expect(id).toMatch(/^(ses|run)_/);
    expect((await post()).id).toBe(id);
    expect((await post()).id).toBe(id);
  });

  it('is not kept where its answer is a secret', async () => {
    const create = () =>
      stage.ask('/tokens', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'a token' },
        body: JSON.stringify({ name: 'shown-once', role: 'read' }),
      });
    const { token } = (await (await create()).json()) as { readonly token: string };
    const again = await create();
    expect([again.status, await again.json()]).toMatchObject([
      409,
      { error: { code: 'idempotency_not_kept', message: expect.stringContaining('a secret') } },
    ]);
    const { tables } = stage.runtime.store;
    const kept = await Promise.all(
      (await tables.keys('server.idempotency')).map((key) => tables.get('server.idempotency', key)),
    );
    expect(kept.length).toBeGreaterThan(0);
    expect(JSON.stringify(kept)).not.toContain(token);
  });
});

describe('open reviews', () => {
  it('come oldest first, part by part, each once, also where more of them come meanwhile', async () => {
    const ask = async () => {
      const { id } = await client.startRun({ agent: 'asker', workflow: 'ask' });
      return eventually(async () => {
        const { items } = await client.reviews({ session: id });
        expect(items).toHaveLength(1);
        return items[0]!.review;
      });
    };
    const asked = [await ask(), await ask()];
    const whole = (await client.reviews({ limit: 200 })).items;
    expect(whole.map(({ at }) => at)).toEqual(whole.map(({ at }) => at).toSorted((a, b) => a - b));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.reviews({ limit: 1, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.items.length).toBeLessThanOrEqual(1);
      seen.push(...page.items.map(({ review }) => review));
      if (seen.length === 1) asked.push(await ask());
      cursor = page.next;
    } while (cursor !== undefined);
    expect(seen).toEqual([...whole.map(({ review }) => review), asked[2]]);
    for (const review of asked) await client.answerReview(review, { choice: 'hold', note: 'Not now.' });
    expect(await client.review(asked[0] ?? '')).toMatchObject({ choice: 'hold', note: 'Not now.' });
  });
});

describe('a session that a run leads', () => {
  it('waits for what the run waits for, and goes on with the answer', async () => {
    const { id } = await start('led');
    const { review } = await eventually(async () => {
      const { items } = await client.reviews({ session: id });
      expect(items).toMatchObject([{ of: 'run', agent: 'led', parent: id }]);
      expect((await stage.runtime.store.info(id))?.owner).toBeUndefined();
      return items[0]!;
    });
    await client.answerReview(review, { choice: 'go' });
    await reached(id, 'completed');
  });

  it('ends with its run when either is cancelled, also where nobody works on them', async () => {
    for (const cancel of [
      (id: string) => client.cancelSession(id, 'no'),
      (_id: string, run: string) => client.cancelRun(run, 'no'),
    ]) {
      const { id } = await start('led');
      const run = await eventually(async () => {
        const { items } = await client.runs({ session: id });
        expect(items).toMatchObject([{ status: 'waiting' }]);
        expect((await stage.runtime.store.info(id))?.owner).toBeUndefined();
        return items[0]!;
      });
      await cancel(id, run.id);
      await reached(id, 'cancelled');
      await eventually(async () => expect((await client.run(run.id)).status).toBe('cancelled'));
      expect((await client.reviews({ session: id })).items).toEqual([]);
    }
  });
});

describe('lists', () => {
  it('are given in parts that do not move when something is put in front', async () => {
    const made: string[] = [];
    for (let n = 0; n < 5; n++) made.unshift((await start('worker')).id);
    const first = await client.sessions({ limit: 2 });
    expect(first.items.map(({ id }) => id)).toEqual(made.slice(0, 2));
    await start('worker');
    const second = await client.sessions({ limit: 2, cursor: first.next! });
    expect(second.items.map(({ id }) => id)).toEqual(made.slice(2, 4));
    const all: string[] = [];
    for (let cursor: string | undefined, parts = 0; parts < 100; parts++) {
      const page = await client.sessions({ limit: 3, ...(cursor === undefined ? {} : { cursor }) });
      all.push(...page.items.map(({ id }) => id));
      cursor = page.next;
      if (cursor === undefined) break;
    }
    const known = await stage.runtime.store.list({ kind: 'session' });
    expect(all).toEqual(known.map(({ stream }) => stream));
  });

  it('go on behind a session that has been taken out, with those of the same millisecond', async () => {
    const { store } = stage.runtime;
    const head = { kind: 'session', name: 'gone', status: 'completed', title: 'Gone' } as const;
    for (const id of ['ses_gone1', 'ses_gone2', 'ses_gone3']) {
      const writer = await store.create(id, head);
      await store.upkeep.settle(id, writer.epoch, {
        status: 'completed',
        createdAt: 1_000,
        updatedAt: 1_000,
        messages: [],
      });
    }
    const first = await client.sessions({ agent: 'gone', limit: 2 });
    expect(first.items.map(({ id }) => id)).toEqual(['ses_gone3', 'ses_gone2']);
    const taken = await store.acquire('ses_gone2');
    await store.upkeep.remove('ses_gone2', taken.epoch);
    const second = await client.sessions({ agent: 'gone', cursor: first.next! });
    expect(second.items.map(({ id }) => id)).toEqual(['ses_gone1']);
  });

  it('of sessions are narrowed by agent and by status', async () => {
    const { id } = await start('slow');
    const slow = await client.sessions({ agent: 'slow', status: ['running', 'waiting'] });
    expect(slow.items.map((each) => each.id)).toEqual([id]);
    await client.cancelSession(id);
    await reached(id, 'cancelled');
    expect((await client.sessions({ agent: 'slow', status: ['running'] })).items).toEqual([]);
    expect((await client.sessions({ agent: 'nobody' })).items).toEqual([]);
  });

  it('read what came since, and nothing again', async () => {
    const { store } = stage.runtime;
    await eventually(async () => expect((await client.sessions({ status: ['running'] })).items).toEqual([]));
    await client.sessions();
    const reads: string[] = [];
    const read = store.read;
    Object.assign(store, {
      read: (...args: Parameters<typeof read>) => {
        reads.push(args[0]);
        return read(...args);
      },
    });
    try {
      const { items } = await client.sessions();
      expect(items.length).toBeGreaterThan(5);
      expect(reads).toEqual([]);
    } finally {
      Object.assign(store, { read });
    }
  });

  it('refuse cursors and limits that are none', async () => {
    for (const cursor of [
      'x',
      '!!',
      Buffer.from('[]').toString('base64url'),
      Buffer.from('{"a":1}').toString('base64url'),
      Buffer.from('[1.5]').toString('base64url'),
    ])
      for (const list of ['/sessions', '/runs', '/reviews', '/artifacts', '/notifications', '/audit']) {
        const answer = await stage.ask(`${list}?cursor=${encodeURIComponent(cursor)}`);
        expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: 'bad_cursor' } }]);
      }
    for (const limit of ['0', '201', '-1', 'x', '1.5', '']) {
      const answer = await stage.ask(`/sessions?limit=${limit}`);
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: 'bad_request' } }]);
    }
    await expect(client.sessions({ status: ['asleep'] })).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining('"status'),
    });
  });
});

describe('a review', () => {
  it('of a session that nobody works on is answered, and the session goes on', async () => {
    const { id } = await start('asker');
    const { reviews } = await reached(id, 'waiting');
    await eventually(() => expect(stage.runtime.session(id)).toBeUndefined());
    const { items } = await client.reviews({ session: id });
    expect(items).toMatchObject([
      { review: reviews[0], of: 'session', session: id, agent: 'asker', kind: 'permission' },
    ]);
    const open = await client.review(reviews[0]!);
    expect(open).toMatchObject({
      input: { to: 'test' },
      always: 'every call of tool "deploy", whatever its parameters',
    });
    expect(open).not.toHaveProperty('answer');
    const bob = await stage.as('bob', 'run');
    const answered = await bob.answerReview(reviews[0]!, { answer: 'approved', always: true, note: 'Go.' });
    expect(answered).toMatchObject({
      answer: 'approved',
      forSession: true,
      by: 'token:bob',
      note: 'Go.',
      answeredAt: expect.any(Number),
    });
    expect((await reached(id, 'completed')).result).toBe('Deployed: to test');
    await expect(bob.answerReview(reviews[0]!, { answer: 'rejected' })).rejects.toMatchObject({
      code: 'review_answered',
    });
    expect(openReviews(await stage.runtime.state(id))).toEqual([]);
  });

  it('of a run is answered by one of its options', async () => {
    const run = await client.startRun({ agent: 'asker', workflow: 'ask' });
    const { reviews } = await eventually(async () => {
      const seen = await client.run(run.id);
      expect(seen).toMatchObject({ status: 'waiting', reviews: [expect.any(String)] });
      return seen;
    });
    const review = reviews[0]!;
    await expect(client.answerReview(review, {})).rejects.toMatchObject({ code: 'bad_request' });
    await expect(client.answerReview(review, { choice: 'hold', always: true })).rejects.toMatchObject({
      code: 'bad_option',
    });
    await expect(client.answerReview(review, { choice: 'sink' })).rejects.toMatchObject({
      code: 'bad_option',
    });
    expect(await client.answerReview(review, { choice: 'hold' })).toMatchObject({ choice: 'hold' });
    await eventually(async () => expect((await client.run(run.id)).status).toBe('completed'));
    await expect(client.review('rev_none')).rejects.toMatchObject({ code: 'review_unknown' });
  });
});

describe('a run', () => {
  it('starts, waits for a signal, and is followed to its end', async () => {
    const run = await client.startRun({ agent: 'asker', workflow: 'nap', input: { hours: 8 } });
    expect(run).toMatchObject({ workflow: 'nap', agent: 'asker' });
    await eventually(async () =>
      expect(await client.run(run.id)).toMatchObject({ status: 'waiting', step: 'sleep' }),
    );
    const told: string[] = [];
    const over = new Promise<void>((resolve) =>
      client.followRun(run.id, (each) => {
        told.push(each.kind === 'event' ? each.event.type : each.kind);
        if (each.kind === 'end') resolve();
      }),
    );
    expect(await client.runChanges(run.id)).toMatchObject({ changed: false, steps: [], undecided: [] });
    expect(await client.resumeRun(run.id)).toMatchObject({ status: 'waiting' });
    const ann = await stage.as('ann', 'run');
    await ann.signalRun(run.id, 'custom', { name: 'morning' });
    await over;
    expect(told).toEqual([
      'open',
      ...(await stage.runtime.workflows.events(run.id)).map(({ type }) => type),
      'end',
    ]);
    const { items } = await client.runEvents(run.id);
    expect(items).toEqual(await stage.runtime.workflows.events(run.id));
    expect(items).toContainEqual(expect.objectContaining({ type: 'signal.received', from: 'token:ann' }));
    expect(await client.runState(run.id)).toMatchObject({ status: 'completed', workflow: 'nap' });
    await expect(client.signalRun(run.id, 'custom')).rejects.toMatchObject({ code: 'run_ended' });
    await expect(client.resumeRun(run.id)).rejects.toMatchObject({ code: 'run_ended' });
    await expect(client.cancelRun(run.id)).rejects.toMatchObject({ code: 'run_ended' });
  });

  it('is cancelled by somebody, whose name is on its log', async () => {
    const run = await client.startRun({ agent: 'asker', workflow: 'nap', input: { hours: 8 } });
    const ann = await stage.as('ann', 'run');
    await ann.cancelRun(run.id, 'wide awake');
    await eventually(async () => expect((await client.run(run.id)).status).toBe('cancelled'));
    const events = await stage.runtime.workflows.events(run.id);
    expect(events.at(-1)).toMatchObject({
      type: 'workflow.cancelled',
      by: 'token:ann',
      reason: 'wide awake',
    });
    await ann.cancelRun(run.id);
    const { items } = await client.runs({ workflow: 'nap', status: ['cancelled'] });
    expect(items.map(({ id }) => id)).toContain(run.id);
    expect((await client.runs({ session: 'ses_none' })).items).toEqual([]);
  });

  it('is refused with what is wrong with its name or input', async () => {
    const of = { agent: 'asker', workflow: 'nap' };
    await expect(client.startRun({ ...of, input: {} })).rejects.toMatchObject({ code: 'bad_input' });
    await expect(client.startRun({ ...of, workflow: 'npa' })).rejects.toMatchObject({
      code: 'no_workflow',
      hint: expect.stringContaining('"nap"'),
    });
  });
});

describe('artifacts', () => {
  it('are written, tried, put back and listed', async () => {
    const draft = { source: 'export function judge(n) { return n > 2; }', methods: ['judge'] };
    const admin = await stage.as('chief', 'admin');
    expect(await admin.writeArtifact('gate', draft)).toMatchObject({ version: 1, author: 'token:chief' });
    await admin.writeArtifact('gate', { ...draft, source: draft.source.replace('2', '5') });
    expect(await client.testArtifact('gate', { method: 'judge', args: [4] })).toMatchObject({
      ok: true,
      value: false,
      meant: false,
    });
    expect(await client.testArtifact('gate', { method: 'judge', args: [4], version: 1 })).toMatchObject({
      value: true,
    });
    const failed = await client.testArtifact('gate', {
      method: 'judge',
      source: 'export function judge() { throw new Error("no") }',
      context: { agent_id: 'me' },
    });
    expect(failed).toMatchObject({ ok: false, reason: expect.any(String), context: { agent_id: 'me' } });
    expect(await admin.rollbackArtifact('gate', 1)).toMatchObject({ version: 3, restores: 1 });
    expect((await client.artifact('gate')).items.map(({ version }) => version)).toEqual([3, 2, 1]);
    const first = await client.artifacts({ limit: 1 });
    const rest = await client.artifacts({ cursor: first.next! });
    expect([...first.items, ...rest.items].map(({ name }) => name)).toContain('gate');
    await expect(client.artifact('none')).rejects.toMatchObject({ code: 'artifact_unknown' });
    await expect(client.testArtifact('gate', { method: 'judge', version: 9 })).rejects.toMatchObject({
      code: 'artifact_unknown',
    });
    await expect(admin.writeArtifact('gate', { ...draft, methods: ['other'] })).rejects.toMatchObject({
      code: 'bad_artifact',
    });
  });
});

describe('a trial of an artifact', () => {
  it('is refused what a run would be refused: a method that is none, a context that no run has', async () => {
    const source = 'export function judge(n) { return n > 2; }\nexport function own() { return 1; }';
    await client.writeArtifact('judge', { source, methods: ['judge'] });
    expect(await client.testArtifact('judge', { method: 'own' })).toMatchObject({
      ok: false,
      reason: 'no_method',
      message: 'The artifact "judge" has no method "own". It has: judge.',
    });
    expect(await client.testArtifact('judge', { method: 'jugde', source })).toMatchObject({
      reason: 'no_method',
      message: 'The source of the artifact "judge" defines no function "jugde".',
    });
    await expect(
      client.testArtifact('judge', { method: 'judge', context: { agent: 'me' } }),
    ).rejects.toMatchObject({ code: 'bad_request', message: expect.stringContaining('"agent"') });
  });
});

describe('memory', () => {
  it('is asked about the folder of an agent', async () => {
    await (await stage.runtime.memory(join(stage.folder, 'code'))).index();
    expect(await client.queryMemory({ agent: 'worker', symbol: 'add' })).toMatchObject({
      nodes: [{ name: 'add' }],
    });
    expect(await client.memoryStats('worker')).toMatchObject({ files: 1, symbols: 1 });
    await expect(client.queryMemory({ agent: 'worker' })).rejects.toMatchObject({ code: 'bad_request' });
    await expect(client.memoryStats('slow')).rejects.toMatchObject({ code: 'no_memory' });
  });
});

describe('the daemon', () => {
  it('says who one is, whether it is ready, and what it told people', async () => {
    const ann = await stage.as('ann-reads', 'read');
    expect(await ann.whoami()).toEqual({
      name: 'ann-reads',
      by: 'token:ann-reads',
      role: 'read',
      version: '1.2.3',
      dev: true,
      store: stage.runtime.store.location,
    });
    expect(await client.health()).toMatchObject({ status: 'ok' });
    expect(await client.ready()).toEqual({ ready: true });
    const first = await client.notifications({ limit: 2, status: 'dead' });
    expect(first.items.map(({ id }) => id)).toEqual(['ntf_2', 'ntf_1']);
    expect((await client.notifications({ cursor: first.next! })).items.map(({ id }) => id)).toEqual([
      'ntf_0',
    ]);
    expect(await client.retryNotification('ntf_1')).toMatchObject({ status: 'waiting' });
    await expect(client.retryNotification('ntf_9')).rejects.toMatchObject({ code: 'notification_unknown' });
  });

  it('has no fleet where the store is of one machine, and shows the one that it belongs to', async () => {
    await expect(client.fleet()).rejects.toMatchObject({ code: 'not_shared' });
    await expect(client.retryStream('ses_1')).rejects.toMatchObject({ code: 'not_shared' });
    const retried: string[] = [];
    const worker = {
      host: 'one',
      pid: 1,
      role: 'worker',
      version: '1.2.3',
      capacity: 8,
      working: 1,
      holds: 2,
      startedAt: 1,
      quietMs: 10,
      alive: true,
    };
    const queue = { waiting: 1, taken: 0, laidAside: 1, lagMs: 5 };
    const aside = { kind: 'session', stream: 'ses_1', at: 2, why: 'It has no manifest.' } as const;
    stage.joined.fleet = {
      name: 'shop',
      workOnSessions: () => undefined,
      answersAt: () => undefined,
      admit: async () => 'full',
      drain: async () => undefined,
      forget: () => undefined,
      figures: () => ({ working: 0, capacity: 0, draining: false, retries: 0 }),
      status: async () => ({
        fleet: 'shop',
        queue,
        workers: [{ id: 1, ...worker }],
        laidAside: [{ ...aside, group: 'ses_1' }],
      }),
      async retry(stream) {
        retried.push(stream);
      },
    };
    try {
      expect(await client.fleet()).toEqual({ fleet: 'shop', workers: [worker], queue, laidAside: [aside] });
      await client.retryStream('ses_1');
      expect(retried).toEqual(['ses_1']);
      await expect(client.startSession({ agent: 'worker', input: 'Go.' })).rejects.toMatchObject({
        code: 'fleet_full',
        retryable: true,
      });
    } finally {
      delete stage.joined.fleet;
    }
  });

  it('makes, lists and revokes tokens, and knows who did what', async () => {
    const made = await client.createToken({ name: 'eve', role: 'run' });
    expect(made).toMatchObject({ name: 'eve', role: 'run', token: expect.any(String) });
    expect((await client.tokens()).items.map(({ name }) => name)).toContain('eve');
    expect(JSON.stringify(await client.tokens())).not.toContain(made.token);
    await client.revokeToken('eve');
    await expect(client.revokeToken('eve')).rejects.toMatchObject({ code: 'token_unknown' });
    await expect(client.createToken({ name: '../eve', role: 'run' })).rejects.toMatchObject({
      code: 'bad_request',
    });
    const { items, next } = await client.audit({ limit: 3 });
    expect(items).toHaveLength(3);
    expect(items.map(({ what }) => what)).toContain('DELETE /tokens/eve');
    expect((await client.audit({ limit: 1, cursor: next! })).items[0]?.n).toBeLessThan(items[2]!.n);
  });

  it('lets nobody do what their role does not allow', async () => {
    const [read, run] = [await stage.as('reader', 'read'), await stage.as('runner', 'run')];
    const needed = (role: string) => ({ code: 'role_needed', message: expect.stringContaining(`"${role}"`) });
    await expect(read.startSession({ agent: 'worker', input: 'x' })).rejects.toMatchObject(needed('run'));
    await expect(run.audit()).rejects.toMatchObject(needed('admin'));
    await expect(run.tokens()).rejects.toMatchObject(needed('admin'));
    await expect(run.reloadAgents()).rejects.toMatchObject(needed('admin'));
    await expect(run.writeArtifact('x', { source: '', methods: ['a'] })).rejects.toMatchObject(
      needed('admin'),
    );
    await expect(run.rollbackArtifact('x', 1)).rejects.toMatchObject(needed('admin'));
    await expect(run.revokeToken('reader')).rejects.toMatchObject(needed('admin'));
  });

  it('tells the headlines of everything', async () => {
    const told: { readonly kind: string; readonly type?: string }[] = [];
    const stop = client.followAll((each) =>
      told.push(each.kind === 'event' ? { kind: 'event', type: each.event.type } : each),
    );
    await eventually(() => expect(told).toMatchObject([{ kind: 'open' }]));
    await start('worker');
    await eventually(() => expect(told).toContainEqual({ kind: 'event', type: 'session.completed' }));
    stop();
  });
});

describe('what is wrong with a request', () => {
  it('is said with its place', async () => {
    await expect(client.startSession({ agent: 'worker' } as never)).rejects.toMatchObject({
      code: 'bad_request',
      hint: expect.stringContaining('/openapi.json'),
      message: 'The body of POST /sessions is not valid: "input" is missing.',
    });
    await expect(start('worker', { max_turns: 'three' })).rejects.toMatchObject({
      message: expect.stringContaining('"max_turns"'),
    });
    await expect(start('worker', { max_turn: 3 })).rejects.toMatchObject({
      message: expect.stringContaining('max_turn'),
      hint: expect.stringContaining('Did you mean "max_turns"?'),
    });
    await expect(start('worker', { verdict: 'x' })).rejects.toMatchObject({
      hint: expect.stringMatching(
        /^Allowed: agent, input, .*\. GET \/openapi.json describes POST \/sessions/,
      ),
    });
    await expect(start('worker', { input: '' })).rejects.toMatchObject({ code: 'bad_request' });
    await expect(start('nobody')).rejects.toMatchObject({ code: 'agent_unknown' });
    const empty = await stage.ask('/sessions', { method: 'POST' });
    expect([empty.status, await empty.json()]).toMatchObject([
      400,
      { error: { code: 'bad_request', message: 'The body of POST /sessions is not valid: there is none.' } },
    ]);
  });

  it('is said of ids that are none, or of something else', async () => {
    const { id } = await start('worker');
    for (const bad of ['ses_none', '..', 'a b', '%00', 'x'.repeat(500)]) {
      await expect(client.session(bad)).rejects.toMatchObject({
        code: expect.stringMatching(/session_unknown|bad_url|name_malformed/),
      });
      await expect(client.run(bad)).rejects.toMatchObject({
        code: expect.stringMatching(/run_unknown|bad_url|name_malformed/),
      });
    }
    await expect(client.run(id)).rejects.toMatchObject({
      code: 'run_unknown',
      message: expect.stringContaining('but a session'),
    });
    for (const method of [client.steer, client.say, client.cancelSession])
      await expect(method('ses_none', 'x')).rejects.toMatchObject({ code: 'session_unknown' });
    await expect(client.fork('ses_none', 1)).rejects.toMatchObject({ code: 'session_unknown' });
    await expect(client.sessionEvents('ses_none')).rejects.toMatchObject({ code: 'session_unknown' });
    expect((await stage.ask(`/sessions/${id}/events?after=-1`)).status).toBe(400);
    expect((await stage.ask(`/sessions/${id}/events?limit=10001`)).status).toBe(400);
    expect((await stage.ask(`/streams/${id}/events/0/why`)).status).toBe(400);
    const head = await stage.ask('/events', { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  });
});

describe('events', () => {
  it.each([
    ['text/event-stream', 'text/event-stream'],
    ['text/event-stream, application/json;q=0.5', 'text/event-stream'],
    ['application/json, text/event-stream;q=0.1', 'application/json'],
    ['text/event-stream;q=0', 'application/json'],
    ['text/event-streams, */*', 'application/json'],
  ])('are given to who accepts %s as %s', async (accept, type) => {
    const { id } = await start('worker');
    const answer = await stage.ask(`/sessions/${id}/events`, { headers: { accept } });
    await answer.body?.cancel();
    expect(answer.headers.get('content-type')).toContain(type);
  });
});

describe('the document', () => {
  it('names the role that each operation needs, and who has less is refused', async () => {
    const sent = { authorization: '' };
    for (const [path, methods] of Object.entries(stage.fit.document.paths))
      for (const [method, { operationId, security, description = '' }] of Object.entries(methods)) {
        const role = /Needs the role `(\w+)`/.exec(description)?.[1];
        expect([operationId, security.length > 0], operationId).toEqual([operationId, role !== undefined]);
        if (role === undefined || role === 'read') continue;
        sent.authorization = `Bearer ${await stage.token(role === 'admin' ? 'run' : 'read')}`;
        const answer = await stage.ask(path.replaceAll(/\{\w+\}/g, 'x'), {
          method: method.toUpperCase(),
          headers: { ...sent, 'content-type': 'application/json' },
          ...(method === 'get' ? {} : { body: '{}' }),
        });
        expect([operationId, answer.status]).toEqual([operationId, 403]);
      }
  });

  it('has the keys that make a POST safe to send again, and the answers that come later', () => {
    const { paths } = stage.fit.document;
    const names = (path: string, method: string) =>
      paths[path]?.[method]?.parameters?.map(({ name }) => name);
    expect(names('/sessions', 'post')).toEqual(['idempotency-key']);
    expect(names('/sessions/{id}/events', 'get')).toContain('last-event-id');
    expect(paths['/reviews/{id}']?.post?.responses['202']).toBeDefined();
  });

  it('is accepted by an independent validator', async () => {
    const document = (await client.openapi()) as unknown as Record<string, unknown>;
    expect(document.openapi).toBe('3.1.0');
    expect(await new Validator().validate(document)).toMatchObject({ valid: true });
  });

  it('knows every method of the client, and the client every operation that is for it', () => {
    const { paths } = stage.fit.document;
    const all = Object.values(paths).flatMap((path) => Object.values(path));
    const operations = all.filter(({ tags }) => !tags.includes('front ends') && !FOR_MACHINES.has(tags[0]!));
    const ids = operations.map(({ operationId }) => operationId);
    const streams = { followSession: 'sessionEvents', followRun: 'runEvents' };
    const machines = ['health', 'ready', 'openapi'];
    const methods = Object.keys(client).filter((name) => !Object.hasOwn(streams, name));
    expect(methods.toSorted()).toEqual([...ids, ...machines].toSorted());
    expect(ids).toEqual(expect.arrayContaining(Object.values(streams)));
    expect(all.map(({ operationId }) => operationId)).toEqual(expect.arrayContaining(machines));
    expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(all.length);
  });

  it('has every route that is served, and no other', () => {
    const documented = Object.entries(stage.fit.document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const served = stage.served.map(
      ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, '{$1}')}`,
    );
    expect([...new Set(documented)].toSorted()).toEqual([...new Set(served)].toSorted());
  });

  it('was held against the answer of every operation that is for the client', () => {
    const all = Object.values(stage.fit.document.paths).flatMap((path) => Object.values(path));
    const ids = all.filter(({ tags }) => !tags.includes('front ends') && !FOR_MACHINES.has(tags[0]!));
    expect(ids.map(({ operationId }) => operationId).filter((id) => !stage.fit.called.has(id))).toEqual([]);
    expect(stage.errors).toEqual([]);
  });
});

const FOR_MACHINES: ReadonlySet<string> = new Set(['machines']);
