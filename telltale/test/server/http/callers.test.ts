import { describe, expect, it } from 'vitest';
import { createSystemClock } from '../../../src/lib/clock.ts';
import { RuntimeError } from '../../../src/lib/errors.ts';
import { createSimulatedClock } from '../../../src/lib/simulated-clock.ts';
import { createTokens } from '../../../src/server/auth/tokens.ts';
import type { Mount } from '../../../src/server/create-server.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { bearer, codeOf, deferred, errorOf, openStage, rawRequest, things } from './stage.ts';

describe('tokens', () => {
  const withTokens = async (options = {}) => {
    const clock = createSimulatedClock();
    const store = createMemoryStore({ clock });
    const tokens = createTokens(store, clock);
    const [reader, runner, admin] = await Promise.all([
      tokens.create('ann', 'read'),
      tokens.create('bob', 'run'),
      tokens.create('eve', 'admin'),
    ]);
    const stage = await openStage({ store, clock, mount: things, ...options });
    return { ...stage, clock, tokens, reader: reader.token, runner: runner.token, admin: admin.token };
  };

  it('are needed on loopback, too, by all but probes, signed hooks and the description of the API', async () => {
    const { ask, post } = await withTokens({ metrics: () => 'up 1\n' });
    for (const path of ['/things', '/metrics', '/nothing', '/openapi.json/', '/OPENAPI.json']) {
      const refused = await ask(path, { headers: { authorization: '' } });
      expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      expect(await codeOf(refused)).toBe('token_missing');
    }
    for (const path of ['/healthz', '/readyz'])
      expect((await ask(path, { headers: { authorization: '' } })).status).toBe(200);
    // Nothing is mounted there: it is let through, and found missing.
    expect((await ask('/openapi.json', { headers: { authorization: '' } })).status).toBe(404);
    expect((await post('/openapi.json', {}, { authorization: '' })).status).toBe(401);
    const hooked = await post('/hooks/push', ' {"ref": "main"}');
    expect(await hooked.json()).toEqual({
      caller: { name: 'hook push', by: 'hook push', role: 'run' },
      text: ' {"ref": "main"}',
    });
    const formed = await ask('/hooks/push', { method: 'POST', body: new URLSearchParams({ a: '1' }) });
    expect(await formed.json()).toMatchObject({ text: 'a=1' });
    expect((await ask('/hooks/push', { headers: { authorization: '' } })).status).toBe(401);
  });

  it('allow what their role does', async () => {
    const { ask, reader, runner, admin } = await withTokens();
    const statuses = async (token: string) => [
      (await ask('/things', { headers: bearer(token) })).status,
      (
        await ask('/things', {
          method: 'POST',
          body: '{}',
          headers: { ...bearer(token), 'content-type': 'application/json' },
        })
      ).status,
      (await ask('/things/1', { method: 'DELETE', headers: bearer(token) })).status,
    ];
    expect(await statuses(reader)).toEqual([200, 403, 403]);
    expect(await statuses(runner)).toEqual([200, 201, 403]);
    expect(await statuses(admin)).toEqual([200, 201, 204]);
    const refused = await ask('/things/1', { method: 'DELETE', headers: bearer(runner) });
    expect(await errorOf(refused)).toMatchObject({
      code: 'role_needed',
      message: 'This needs the role "admin", but the token has "run".',
    });
    expect(await (await ask('/things', { headers: bearer(reader) })).json()).toEqual({
      caller: { name: 'ann', by: 'token:ann', role: 'read' },
    });
  });

  it('that are wrong are refused, whatever they look like', async () => {
    const { ask, runner } = await withTokens();
    expect((await ask('/things', { headers: bearer(runner) })).status).toBe(200);
    for (const wrong of [
      `Bearer ${runner.slice(0, -1)}`,
      'Bearer',
      'Basic YTpi',
      `Bearer ${'x'.repeat(9_000)}`,
    ]) {
      const refused = await ask('/things', { headers: { authorization: wrong } });
      expect([refused.status, await codeOf(refused)]).toEqual([401, 'token_refused']);
    }
  });

  it('that were revoked, by whatever process, are refused a second later', async () => {
    const { ask, runner, store, clock } = await withTokens();
    expect((await ask('/things', { headers: bearer(runner) })).status).toBe(200);
    await createTokens(store, clock).revoke('bob');
    await clock.advance(1_000);
    expect((await ask('/things', { headers: bearer(runner) })).status).toBe(401);
  });

  it('that were revoked here are refused from then on, also where somebody called meanwhile', async () => {
    const clock = createSimulatedClock();
    const store = createMemoryStore({ clock });
    const writing = deferred();
    const slow = {
      tables: {
        ...store.tables,
        exchange: async (...asked: Parameters<typeof store.tables.exchange>) => {
          if (asked[0].some(({ value }) => value !== undefined)) await writing.promise;
          return store.tables.exchange(...asked);
        },
      },
    };
    const tokens = createTokens(slow, clock);
    const { token } = await tokens.create('ann', 'read');
    const revoking = tokens.revoke('ann');
    await Promise.resolve();
    expect(await tokens.check(token)).toEqual({ name: 'ann', by: 'token:ann', role: 'read' });
    writing.resolve();
    expect(await revoking).toBe(true);
    expect(await tokens.check(token)).toBeUndefined();
    expect(await tokens.revoke('ann')).toBe(false);
    expect(await tokens.revoke('no name')).toBe(false);
  });

  it('are as many as a list shows', async () => {
    const { tokens } = await withTokens();
    await Promise.all(Array.from({ length: 997 }, (_, n) => tokens.create(`t${n}`, 'read')));
    await expect(tokens.create('more', 'read')).rejects.toMatchObject({
      code: 'tokens_full',
      hint: expect.stringContaining('telltale token list'),
    });
    expect(await tokens.list()).toHaveLength(1_000);
    await tokens.revoke('t5');
    await tokens.create('more', 'read');
  });

  it('that were revoked end the streams that were opened with them, and no others', async () => {
    const clock = createSimulatedClock();
    const streaming: Mount = (app) => {
      app.get('/stream', (c) =>
        c.body(
          new ReadableStream({ start: (control) => control.enqueue(new TextEncoder().encode('hello')) }),
        ),
      );
    };
    const { ask, deps } = await openStage({ mount: streaming, clock });
    const open = async (name: string) => {
      const { token } = await deps.tokens.create(name, 'read');
      const { body } = await ask('/stream', { headers: bearer(token) });
      const reader = (body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
      return reader;
    };
    const [gone, kept] = [await open('gone'), await open('kept')];
    let isCut = false;
    const cut = gone.read().then(
      ({ done }) => done,
      () => {
        isCut = true;
      },
    );
    await clock.advance(5_000);
    expect(isCut).toBe(false);
    await deps.tokens.revoke('gone');
    await clock.advance(5_000);
    await cut;
    expect(isCut).toBe(true);
    const next = kept.read().catch(() => 'cut');
    await clock.advance(10_000);
    expect(await Promise.race([next, new Promise((resolve) => setImmediate(resolve))])).toBeUndefined();
    await kept.cancel();
  });

  it('let their callers read while the store cannot be written', async () => {
    const store = createMemoryStore({ clock: createSystemClock() });
    const full = () => Promise.reject(new RuntimeError('store_full', 'There is no space left.'));
    const { ask, deps } = await openStage({ mount: things, store });
    const { token } = await deps.tokens.create('ann', 'read');
    Object.assign(store.tables, { set: full });
    expect((await ask('/things', { headers: bearer(token) })).status).toBe(200);
  });

  it('are kept as hashes only, and say when they were last used, to the minute', async () => {
    const { ask, reader, tokens, store, clock } = await withTokens();
    const created = clock.now();
    await ask('/things', { headers: bearer(reader) });
    await clock.advance(59_000);
    await ask('/things', { headers: bearer(reader) });
    const [ann] = await tokens.list();
    expect(ann).toEqual({ name: 'ann', role: 'read', createdAt: created, lastUsedAt: created });
    await clock.advance(1_000);
    await ask('/things', { headers: bearer(reader) });
    expect((await tokens.list())[0]?.lastUsedAt).toBe(created + 60_000);
    const row = JSON.stringify(await store.tables.get('server.tokens', 'ann'));
    expect(reader).toMatch(/^tt_[\w-]{43}$/);
    expect(row).not.toContain(reader.slice(3, 12));
  });

  it('have names of their own', async () => {
    const { tokens } = await withTokens();
    await expect(tokens.create('ann', 'admin')).rejects.toMatchObject({ code: 'token_exists' });
    for (const name of ['local', '', 'a b', '../x', 'user:ann', 'token:x', 'a:b', 'ann\n', 'x'.repeat(65)])
      await expect(tokens.create(name, 'read')).rejects.toMatchObject({ code: 'name_malformed' });
    await tokens.revoke('bob');
    // What bob signed stays bob's.
    await expect(tokens.create('bob', 'admin')).rejects.toMatchObject({ code: 'token_exists' });
    expect(await tokens.revoke('nobody')).toBe(false);
    expect((await tokens.list()).map(({ name }) => name)).toEqual(['ann', 'eve']);
  });

  it('guessed at are answered more and more slowly, and lock nobody else out', async () => {
    const { ask, runner, admin, clock } = await withTokens({ limits: { failuresPerMinute: 3 } });
    const guess = async () => (await ask('/things', { headers: bearer('tt_guess') })).status;
    expect((await ask('/things', { headers: bearer(runner) })).status).toBe(200);
    expect([await guess(), await guess(), await guess(), await guess()]).toEqual([401, 401, 401, 429]);
    expect((await ask('/things', { headers: bearer(runner) })).status).toBe(200);
    const waiting = await ask('/things', { headers: bearer(admin) });
    expect([waiting.status, waiting.headers.get('retry-after')]).toEqual([429, '20']);
    await clock.advance(20_000);
    expect((await ask('/things', { headers: bearer(admin) })).status).toBe(200);
  });

  it('are needed before anybody from outside can come in', async () => {
    await expect(openStage({ host: '0.0.0.0' })).rejects.toMatchObject({
      code: 'usage',
      message: 'The store has no token, so no client on another machine could use 0.0.0.0.',
      hint: expect.stringContaining('telltale token create NAME --role admin'),
    });
    const { server } = await withTokens({ host: '0.0.0.0' });
    expect((await rawRequest(server, '/things', { headers: { authorization: '' } })).status).toBe(401);
  });
});

describe('requests', () => {
  it('of one caller come as often as the rate allows', async () => {
    const clock = createSimulatedClock();
    const { ask, deps, isAlive } = await openStage({
      clock,
      mount: things,
      limits: { perSecond: 0.5, burst: 2 },
    });
    const { token } = await deps.tokens.create('ann', 'read');
    expect([(await ask('/things')).status, (await ask('/things')).status]).toEqual([200, 200]);
    const refused = await ask('/things');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '2']);
    expect(await errorOf(refused)).toMatchObject({ code: 'rate_limited', retryable: true });
    expect((await ask('/things', { headers: bearer(token) })).status).toBe(200);
    expect(await isAlive()).toBe(true);
    await clock.advance(2_000);
    expect((await ask('/things')).status).toBe(200);
  });

  it('with a token are counted by it, wherever they come from, and others are not kept from theirs', async () => {
    const clock = createSimulatedClock();
    const { ask, deps } = await openStage({ clock, mount: things, limits: { perSecond: 0.5, burst: 2 } });
    const [ann, bob] = await Promise.all([
      deps.tokens.create('ann', 'read'),
      deps.tokens.create('bob', 'read'),
    ]);
    const status = async (token: string) => (await ask('/things', { headers: bearer(token) })).status;
    expect([await status(ann.token), await status(ann.token)]).toEqual([200, 200]);
    const refused = await ask('/things', { headers: bearer(ann.token) });
    expect([refused.status, refused.headers.get('retry-after'), await codeOf(refused)]).toEqual([
      429,
      '2',
      'rate_limited',
    ]);
    expect(await status(bob.token)).toBe(200);
    await clock.advance(2_000);
    expect(await status(ann.token)).toBe(200);
  });

  it('to hooks are counted by address, whatever else they bring, and fill no audit', async () => {
    const { post, deps } = await openStage({ limits: { perSecond: 1, burst: 60 } });
    const statuses = new Set<number>();
    for (let n = 0; n < 70; n++)
      statuses.add(
        (await post(`/hooks/h${n}`, {}, { authorization: 'x', 'idempotency-key': `k${n}` })).status,
      );
    expect([...statuses].sort()).toEqual([404, 429]);
    await expect.poll(async () => (await deps.audit.list({ limit: 200 })).length).toBeGreaterThan(10);
    expect((await deps.audit.list({ limit: 200 })).length).toBeLessThanOrEqual(51);
    expect(await deps.runtime.store.tables.keys('server.idempotency')).toEqual([]);
  });

  it('that change something are audited with who, what and how it went; refused ones, too', async () => {
    const mount: Mount = (app, deps) => {
      things(app, deps);
      app.post('/made', (c) => {
        c.set('about', 'thing_7');
        return c.json({}, 201);
      });
    };
    const { ask, post, deps } = await openStage({ mount });
    const { token } = await deps.tokens.create('ann', 'run');
    await ask('/things');
    await post('/made', {}, bearer(token));
    await ask('/things/thing_1', { method: 'DELETE', headers: bearer(token) });
    await post('/made', {}, bearer('tt_none'));
    await post('/made', {}, { origin: 'https://evil.example' });
    const listed = () => deps.audit.list({ limit: 10 });
    await expect.poll(async () => (await listed()).length).toBe(4);
    const entries = await listed();
    expect(entries.map(({ who, role, what, about, status }) => [who, role, what, about, status])).toEqual([
      ['unknown (127.0.0.1)', 'read', 'POST /made', undefined, 403],
      ['unknown (127.0.0.1)', 'read', 'POST /made', undefined, 401],
      ['token:ann', 'run', 'DELETE /things/thing_1', 'thing_1', 403],
      ['token:ann', 'run', 'POST /made', 'thing_7', 201],
    ]);
    expect((await deps.audit.list({ before: 3, limit: 1 })).map(({ n }) => n)).toEqual([2]);
    expect((await deps.audit.list({ before: 2, limit: 5 })).map(({ n }) => n)).toEqual([1]);
    for (let n = 0; n < 60; n++) await post('/made', {}, { origin: 'https://evil.example' });
    expect((await deps.audit.list({ limit: 1_000 })).length).toBeLessThan(60);
  });
});

describe('an Idempotency-Key', () => {
  const counting = () => {
    let count = 0;
    const gate = deferred();
    const mount: Mount = (app) => {
      app.post('/count', async (c) => c.json({ count: ++count }, 201, { location: `/count/${count}` }));
      app.post('/slow', async (c) => {
        count++;
        await gate.promise;
        return c.json({ count });
      });
      app.post('/refused', () => {
        throw new RuntimeError('bad_input', `Refused ${++count}.`);
      });
      app.post('/busy', () => {
        throw new RuntimeError('stream_owned', `Busy ${++count}.`, { retryable: true });
      });
      app.post('/broken', () => {
        throw new Error(`Broken ${++count}.`);
      });
      app.post('/stream', (c) =>
        c.body(`data: ${++count}\n\n`, 200, { 'content-type': 'text/event-stream' }),
      );
      app.post('/nothing', (c) => {
        count++;
        return c.body(null, 204);
      });
      app.post('/huge', (c) => c.json({ text: 'x'.repeat(1_100_000), count: ++count }));
    };
    return { mount, gate, count: () => count };
  };
  const key = { 'idempotency-key': 'a-1' };

  it('has a thing done once: the same answer comes again', async () => {
    const { mount, count } = counting();
    const { post } = await openStage({ mount });
    const first = await post('/count', { a: 1 }, key);
    const again = await post('/count', { a: 1 }, key);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    for (const answer of [first, again]) {
      expect([answer.status, answer.headers.get('location'), await answer.text()]).toEqual([
        201,
        '/count/1',
        '{"count":1}',
      ]);
      expect(answer.headers.get('content-type')).toContain('application/json');
    }
    await post('/count', { a: 1 });
    expect(count()).toBe(2);
    expect((await post('/nothing', undefined, { 'idempotency-key': 'b' })).status).toBe(204);
    expect((await post('/nothing', undefined, { 'idempotency-key': 'b' })).status).toBe(204);
    expect(count()).toBe(3);
  });

  it('with another request is refused, and of another caller is another one', async () => {
    const { mount, count } = counting();
    const { post, deps } = await openStage({ mount });
    const { token } = await deps.tokens.create('ann', 'run');
    await post('/count', { a: 1 }, key);
    for (const other of [post('/count', { a: 2 }, key), post('/nothing', { a: 1 }, key)]) {
      const refused = await other;
      expect([refused.status, await codeOf(refused)]).toEqual([422, 'idempotency_mismatch']);
    }
    expect((await post('/count', { a: 2 }, { ...key, ...bearer(token) })).status).toBe(201);
    for (const bad of ['', 'x'.repeat(256), 'a\tb'])
      expect((await post('/count', {}, { 'idempotency-key': bad })).status).toBe(400);
    expect(count()).toBe(2);
  });

  it('while the first is running is 409, and of a process that died is free again', async () => {
    const clock = createSimulatedClock();
    const { mount, gate, count } = counting();
    const { post, server, store } = await openStage({ mount, clock });
    const first = post('/slow', {}, key);
    await expect.poll(count).toBe(1);
    const second = await post('/slow', {}, key);
    expect([second.status, await codeOf(second)]).toEqual([409, 'idempotency_running']);
    await clock.advance(10 * 60_000);
    expect((await post('/slow', {}, key)).status).toBe(409);
    gate.resolve();
    expect(await (await first).json()).toEqual({ count: 1 });
    expect(await (await post('/slow', {}, key)).json()).toEqual({ count: 1 });

    const claim = { 'idempotency-key': 'dead' };
    const dying = counting();
    const other = await openStage({ mount: dying.mount, clock: createSimulatedClock(), store });
    const lost = other.post('/slow', {}, claim).catch(() => undefined);
    await expect.poll(dying.count).toBe(1);
    expect((await post('/slow', {}, claim)).status).toBe(409);
    await clock.advance(60_000);
    expect((await post('/slow', {}, claim)).status).toBe(200);
    dying.gate.resolve();
    await lost;
    expect(server.port).toBeGreaterThan(0);
  });

  it('keeps what was refused, and nothing that may go better next time', async () => {
    const { mount } = counting();
    const { post } = await openStage({ mount });
    const twice = async (path: string) => {
      const headers = { 'idempotency-key': path };
      const [one, two] = [await post(path, {}, headers), await post(path, {}, headers)];
      return { isSame: (await one.text()) === (await two.text()), status: two.status };
    };
    expect(await twice('/refused')).toEqual({ isSame: true, status: 422 });
    expect(await twice('/busy')).toEqual({ isSame: false, status: 409 });
    expect(await twice('/broken')).toEqual({ isSame: false, status: 500 });
    expect(await twice('/stream')).toEqual({ isSame: false, status: 200 });
    expect(await twice('/huge')).toEqual({ isSame: false, status: 409 });
  });

  it('is forgotten after a day', async () => {
    const clock = createSimulatedClock();
    const { mount, count } = counting();
    const { post } = await openStage({ mount, clock });
    await post('/count', {}, key);
    await clock.advance(24 * 3_600_000 - 1);
    await post('/count', {}, key);
    expect(count()).toBe(1);
    await clock.advance(1);
    await post('/count', {}, key);
    expect(count()).toBe(2);
  });
});
