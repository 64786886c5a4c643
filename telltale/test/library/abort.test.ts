import { getEventListeners } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import type { Session } from '../../src/agent/runtime-types.ts';
import { expectEvents } from '../../src/testing/expect-events.ts';
import { collectEvents, createMemoryStore } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';

const hang = defineTool({
  name: 'hang',
  idempotent: true,
  run: (_, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
});
const hanging = () =>
  defineAgent({
    name: 'x',
    model: scripted(['<action id="h" mode="sync">{"name":"hang"}</action><response>$h</response>']),
    tools: [hang],
  });
const quick = () => defineAgent({ name: 'quick', model: scripted(['<response>Done.</response>']) });
const until = (type: string) => (event: { readonly type: string }) => event.type === type;
const reason = new Error('enough of it');

describe('a signal that is aborted', () => {
  it('cancels a session that was started with it, for its reason', async () => {
    const runtime = await createRuntime({ store: 'memory' });
    const controller = new AbortController();
    const session = runtime.start(await hanging(), { input: 'Go.', signal: controller.signal });
    await collectEvents(session, until('action.started'));
    controller.abort(reason);
    expect(await session.result).toMatchObject({ status: 'cancelled' });
    expectEvents(await runtime.events(session.id)).inOrder(
      { type: 'action.cancelled', id: 'h' },
      { type: 'session.cancelled', reason: 'enough of it', by: 'signal' },
    );
    await runtime.close();
  });

  it('before a session is started with it starts none', async () => {
    const runtime = await createRuntime({ store: 'memory' });
    const agent = await quick();
    expect(() => runtime.start(agent, { input: 'Go.', signal: AbortSignal.abort(reason) })).toThrow(reason);
    expect(await runtime.store.list()).toEqual([]);
    await runtime.close();
  });

  it('right after the start cancels it, too', async () => {
    const runtime = await createRuntime({ store: 'memory' });
    const controller = new AbortController();
    const session = runtime.start(await quick(), { input: 'Go.', signal: controller.signal });
    controller.abort('changed my mind');
    expect(await session.result).toMatchObject({ status: 'cancelled' });
    expectEvents(await runtime.events(session.id)).inOrder({
      type: 'session.cancelled',
      reason: 'changed my mind',
    });
    await runtime.close();
  });

  it('is forgotten by a session that has ended', async () => {
    const runtime = await createRuntime({ store: 'memory' });
    const { signal } = new AbortController();
    const agent = await quick();
    await Promise.all([1, 2, 3].map(() => runtime.start(agent, { input: 'Go.', signal }).result));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await runtime.close();
  });

  it('cancels a session that was resumed with it; before that, it leaves the session as it is', async () => {
    const runtime = await createRuntime({ store: 'memory' });
    const agent = await hanging();
    const first = runtime.start(agent, { input: 'Go.' });
    await collectEvents(first, until('action.started'));
    await first.interrupt();
    const before = await runtime.events(first.id);
    const aborted = { agent, signal: AbortSignal.abort(reason) };
    await expect(runtime.resume(first.id, aborted)).rejects.toBe(reason);
    expect(await runtime.events(first.id)).toEqual(before);
    const controller = new AbortController();
    const second = await runtime.resume(first.id, { agent, signal: controller.signal });
    controller.abort(reason);
    expect(await second.result).toMatchObject({ status: 'cancelled' });
    await runtime.close();
  });

  it('closes a runtime that was created with it: its sessions can be resumed', async () => {
    const store = createMemoryStore();
    const controller = new AbortController();
    const runtime = await createRuntime({ store, signal: controller.signal });
    const agent = await hanging();
    const session = runtime.start(agent, { input: 'Go.' });
    await collectEvents(session, until('action.started'));
    controller.abort(reason);
    expect(await session.result).toMatchObject({ status: 'interrupted' });
    expect(() => runtime.start(agent, { input: 'Go.' })).toThrow('The runtime was closed.');
    await runtime.close();
    const next = await createRuntime({ store });
    const resumed = await next.resume(session.id, { agent });
    await resumed.cancel();
    await next.close();
  });

  it('is forgotten by a runtime that was closed', async () => {
    const { signal } = new AbortController();
    const runtime = await createRuntime({ store: 'memory', signal });
    await runtime.close();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('before a runtime is created with it leaves nothing open', async () => {
    await expect(createRuntime({ store: 'memory', signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('ends what only reads', async () => {
    const runtime = await createRuntime({ store: 'memory' });
    const { session } = await runtime.start(await quick(), { input: 'Go.' }).result;
    const signal = AbortSignal.abort(reason);
    await expect(runtime.events(session, 1, { signal })).rejects.toBe(reason);
    await expect(runtime.state(session, undefined, { signal })).rejects.toBe(reason);
    await runtime.close();
  });

  it('ends a read of many events between two pages', async () => {
    const store = createMemoryStore();
    const runtime = await createRuntime({ store });
    const { session } = await runtime.start(await quick(), { input: 'Go.' }).result;
    const [line = ''] = await store.read(session);
    const controller = new AbortController();
    let pages = 0;
    const endless = await createRuntime({
      store: {
        ...store,
        read: async (_, options) => {
          if (++pages === 3) controller.abort(reason);
          return Array.from({ length: options?.limit ?? 0 }, () => line);
        },
      },
    });
    await expect(endless.events(session, 1, { signal: controller.signal })).rejects.toBe(reason);
    expect(pages).toBe(3);
    await runtime.close();
  });

  it('ends the loading and the defining of an agent', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'telltale-abort-'));
    writeFileSync(join(folder, 'agent.yml'), 'kind: Agent\nname: a\n');
    const signal = AbortSignal.abort(reason);
    await expect(loadAgent('agent.yml', { cwd: folder, signal })).rejects.toBe(reason);
    await expect(defineAgent({ name: 'a' }, { signal })).rejects.toBe(reason);
    rmSync(folder, { recursive: true });
  });
});

describe('whoever reads the events of a session', () => {
  it('may leave at any event: the session then shows nothing to nobody', async () => {
    const runtime = await createRuntime({ store: 'memory' });
    let deltas = 0;
    const tool = defineTool({
      name: 'chat',
      stream: true,
      run: (_, { progress }) => {
        for (let n = 0; n < 100; n++) progress(n);
      },
    });
    const agent = await defineAgent({
      name: 'x',
      model: scripted(['<action id="c">{"name":"chat"}</action>', '<response>Done.</response>']),
      tools: [tool],
    });
    const session = runtime.start(agent, { input: 'Go.' });
    for await (const event of session.events) {
      if (event.type === 'action.progress') deltas++;
      if (event.type === 'action.declared') break;
    }
    expect(await session.result).toMatchObject({ status: 'completed' });
    expect(deltas).toBe(0);
    await runtime.close();
  });

  it('may leave before the first event, and while it waits for the next', async () => {
    const runtime = await createRuntime({ store: 'memory' });
    const session = runtime.start(await hanging(), { input: 'Go.' });
    const unread = session.events[Symbol.asyncIterator]();
    await unread.return?.();
    expect(await unread.next()).toEqual({ done: true, value: undefined });
    const reader = session.events[Symbol.asyncIterator]();
    for (let event = await reader.next(); event.value?.type !== 'action.started'; )
      event = await reader.next();
    const waiting = reader.next(); // nothing comes as long as the tool hangs
    await reader.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
    await session.cancel();
    await runtime.close();
  });
});

describe('a tool that ends its own session as it is called', () => {
  it.each(['cancelled', 'interrupted'] as const)('is stopped, and the session is %s', async (status) => {
    const runtime = await createRuntime({ store: 'memory' });
    const running: Session<string>[] = [];
    const end = defineTool({
      name: 'end',
      run: (_, { signal }) => {
        void running.map((session) => (status === 'cancelled' ? session.cancel() : session.interrupt()));
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
      },
    });
    const model = scripted(['<action id="e" mode="sync">{"name":"end"}</action><response>$e</response>']);
    const session = runtime.start(await defineAgent({ name: 'x', model, tools: [end] }), { input: 'Go.' });
    running.push(session);
    expect(await session.result).toMatchObject({ status });
    await runtime.close();
  });
});

it('a function that listens twice is told twice, and each of the two ends by itself', async () => {
  const runtime = await createRuntime({ store: 'memory' });
  const session = runtime.start(await hanging(), { input: 'Go.' });
  const told: string[] = [];
  const listener = ({ type }: { readonly type: string }) => void told.push(type);
  const ends = [session.subscribe(listener), session.subscribe(listener)];
  await collectEvents(session, until('action.started'));
  expect(told.filter((type) => type === 'action.started')).toHaveLength(2);
  ends[0]?.();
  await session.cancel();
  expect(told.filter((type) => type === 'session.cancelled')).toHaveLength(1);
  await runtime.close();
});
