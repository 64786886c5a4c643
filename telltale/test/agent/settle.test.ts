import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool } from '../../src/agent/define/definitions.ts';
import type { RuntimeOptions, Session, StartOptions } from '../../src/agent/runtime-types.ts';
import type { Json } from '../../src/lib/json.ts';
import { createSimulatedClock, type SimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { Model } from '../../src/models/model.ts';
import { resumeEverywhere } from '../../src/testing/crash.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { speak } from './speak.ts';

const DIALECTS = ['tags', 'tools', 'step'] as const;
type Dialect = (typeof DIALECTS)[number];
type Deeds = Parameters<typeof speak>[1];

/** A call of "slow" ends when it is told to, each under its own name. */
function slowTool(settings: Partial<Parameters<typeof defineTool>[0]> = {}) {
  const calls = new Map<string, (value: Json) => void>();
  const tool = defineTool({
    name: 'slow',
    idempotent: true,
    ...settings,
    run: (input, { signal }) =>
      new Promise<Json>((resolve, reject) => {
        calls.set(String((input as { n?: string }).n ?? 'it'), resolve);
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  });
  return {
    tool,
    calls,
    async end(n = 'it', value: Json = `result of ${n}`) {
      await expect.poll(() => calls.has(n)).toBe(true);
      calls.get(n)?.(value);
    },
  };
}

interface Given {
  readonly agent?: Omit<Parameters<typeof defineAgent>[0], 'name'>;
  readonly runtime?: RuntimeOptions;
  readonly start?: Partial<StartOptions>;
  readonly slow?: ReturnType<typeof slowTool>;
}

/** A session of this dialect, and what its model was asked. */
async function begin(dialect: Dialect, turns: readonly Deeds[], given: Given = {}) {
  const slow = given.slow ?? slowTool();
  const echo = defineTool({ name: 'echo', run: () => 'said' });
  const fail = defineTool({ name: 'fail', run: () => Promise.reject(new Error('no luck')) });
  const agent = await defineAgent({
    name: 'tester',
    dialect,
    tools: [slow.tool, echo, fail],
    ...given.agent,
  });
  const requests: string[] = [];
  const script = scripted(turns.map((deeds) => speak(dialect, deeds)));
  const model: Model = {
    ...script,
    stream(request, sink) {
      // What is new in it: the answers to calls, and the block behind them.
      const last = request.messages.slice(
        request.messages.findLastIndex(({ role }) => role === 'assistant') + 1,
      );
      requests.push(
        last.map(({ text, answers }) => answers?.map((each) => each.text).join('\n') ?? text).join('\n'),
      );
      return script.stream(request, sink);
    },
  };
  const runtime = await createRuntime({ store: 'memory', ...given.runtime });
  onTestFinished(() => runtime.close());
  const session = runtime.start(agent, { input: 'Go.', model, ...given.start }) as Session;
  return { runtime, session, slow, requests, agent, model, events: () => runtime.events(session.id) };
}

/** Has time pass until the session has ended. */
async function passing(clock: SimulatedClock, session: Session) {
  let isOver = false;
  void session.result.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await clock.advance(1_000);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return session.result;
}

const slowly = (n: string, run: { readonly [field: string]: Json } = {}) => ({
  call: 'slow',
  input: { n },
  run: { id: n, ...run },
});
const DONE = { respond: 'Done.' };
const typesOf = (events: readonly SessionEvent[], ...types: readonly string[]) =>
  events.flatMap((event) => (types.includes(event.type) ? [event.type] : []));

describe.each(DIALECTS)('the end of a turn in the dialect %s', (dialect) => {
  it('waits for its actions, so that their results are in the next prompt', async () => {
    const { session, slow, requests } = await begin(dialect, [[slowly('a'), slowly('b')], [DONE]]);
    await slow.end('a');
    expect(requests).toHaveLength(1);
    await slow.end('b');
    expect(await session.result).toMatchObject({ status: 'completed', result: 'Done.', turns: 2 });
    expect(requests[1]).toContain('result of a');
    expect(requests[1]).toContain('result of b');
    expect(requests[1]).not.toContain('Not ended yet');
  });

  it('waits no longer than limits.settle, and what runs on is in the background from then on', async () => {
    const clock = createSimulatedClock();
    const { session, slow, requests, events } = await begin(dialect, [[slowly('a')], [DONE]], {
      agent: { limits: { settle: '20s' } },
      runtime: { clock },
    });
    await expect.poll(() => slow.calls.size).toBe(1);
    await clock.advance(19_000);
    expect(requests).toHaveLength(1);
    await clock.advance(1_000);
    await expect.poll(() => requests.length).toBe(2);
    expect(requests[1]).toMatch(dialect === 'tags' ? /Not ended yet.*a \(tool slow\)/ : /running/);
    // Nobody waits for it at the end either: it is given five seconds.
    expect(await passing(clock, session)).toMatchObject({ status: 'completed', turns: 2 });
    expect(typesOf(await events(), 'action.completed', 'action.cancelled')).toEqual(['action.cancelled']);
    expect((await events()).find((event) => event.type === 'turn.started' && event.turn === 2)).toMatchObject(
      {
        background: ['a'],
      },
    );
  });

  it('is over at once when a message comes', async () => {
    const { session, slow, requests } = await begin(dialect, [[slowly('a')], [{ call: 'echo' }], [DONE]]);
    await expect.poll(() => slow.calls.size).toBe(1);
    await session.steer('Hurry.');
    await expect.poll(() => requests.length).toBeGreaterThan(1);
    expect(requests[1]).toContain('Hurry.');
    expect(requests[1]).toMatch(dialect === 'tags' ? /Not ended yet.*a \(tool slow\)/ : /running/);
    await slow.end('a');
    expect(await session.result).toMatchObject({ status: 'completed', turns: 3 });
  });

  it('is over at once when the session is cancelled', async () => {
    const { session, slow, requests } = await begin(dialect, [[slowly('a')], [DONE]]);
    await expect.poll(() => slow.calls.size).toBe(1);
    await session.cancel('Enough.');
    expect(await session.result).toMatchObject({ status: 'cancelled' });
    expect(requests).toHaveLength(1);
  });

  it('does not wait for what is in the background, and its result is told when it is there', async () => {
    const { session, slow, requests } = await begin(dialect, [
      [slowly('a', { mode: 'background' })],
      [{ call: 'echo' }],
      [{ think: 'Nothing left to do but wait.' }],
      [DONE],
    ]);
    await expect.poll(() => requests.length).toBe(3);
    expect(requests[1]).toMatch(/running|Not ended yet/);
    // It has nothing to do but wait, so it is not asked before there is something new.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(requests).toHaveLength(3);
    await slow.end('a');
    expect(await session.result).toMatchObject({ status: 'completed', turns: 4 });
    expect(requests[3]).toContain('result of a');
    expect(requests[3]).not.toContain('Your last turn brought no action');
  });

  it('does not wait for what depends on something in the background', async () => {
    const { session, slow, requests } = await begin(dialect, [
      [slowly('a', { mode: 'background' }), { call: 'echo', run: { id: 'b', depends_on: ['a'] } }],
      [DONE],
    ]);
    await expect.poll(() => requests.length).toBe(2);
    await slow.end('a');
    expect(await session.result).toMatchObject({ status: 'completed', turns: 2 });
  });

  it('does not wait for a tool that says of itself that it runs in the background', async () => {
    const slow = slowTool({ background: true });
    const { session, requests, events } = await begin(dialect, [[slowly('a')], [DONE]], { slow });
    await expect.poll(() => requests.length).toBe(2);
    await slow.end('a');
    expect(await session.result).toMatchObject({ status: 'completed', turns: 2 });
    expect((await events()).find(({ type }) => type === 'action.declared')).toMatchObject({
      action: { mode: 'background' },
    });
  });

  it('waits with a final response for what it names in the background', async () => {
    const { session, slow } = await begin(dialect, [
      [slowly('a', { mode: 'background' })],
      [{ respond: 'It is $a.' }],
    ]);
    await slow.end('a');
    expect(await session.result).toMatchObject({
      status: 'completed',
      result: 'It is result of a.',
      turns: 2,
    });
  });
});

describe('a turn whose action waits for a person', () => {
  const ship = () => defineTool({ name: 'ship', approval: 'always', run: () => 'shipped' });
  const deeds: readonly Deeds[] = [[{ call: 'ship', run: { id: 's' } }], [DONE]];

  it.each(DIALECTS)('waits without a process, and the answer costs no request more: %s', async (dialect) => {
    const folder = mkdtempSync(join(tmpdir(), 'telltale-settle-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const store = join(folder, 'store.db');
    const agent = { tools: [ship()], limits: { settle: '1s' } };
    const first = await begin(dialect, deeds, { agent, runtime: { store } });
    const waiting = await first.session.result;
    expect(waiting).toMatchObject({ status: 'waiting', turns: 1 });
    await first.runtime.close();

    const runtime = await createRuntime({ store });
    onTestFinished(() => runtime.close());
    await runtime.answer(waiting.reviews?.[0]?.review ?? '', { approved: true, by: 'ann' });
    const session = await runtime.resume(first.session.id, { agent: first.agent, model: first.model });
    expect(await session.result).toMatchObject({ status: 'completed', turns: 2 });
    expect(first.requests).toHaveLength(2);
    expect(first.requests[1]).toContain('shipped');
  });

  it('is not asked again by the time that settling takes, but it counts once the person has decided', async () => {
    const clock = createSimulatedClock();
    const slow = slowTool({ name: 'ship', approval: 'always' });
    const { session, runtime, requests } = await begin('tags', deeds, {
      slow,
      agent: { tools: [slow.tool], limits: { settle: '10s' } },
      runtime: { clock },
      start: { onWaiting: 'hold' },
    });
    const reviews = async () => (await runtime.reviews()).map(({ review }) => review);
    await expect.poll(async () => (await reviews()).length).toBe(1);
    await clock.advance(60_000);
    expect(requests).toHaveLength(1);
    await runtime.answer((await reviews())[0] ?? '', { approved: true, by: 'ann' });
    await expect.poll(() => slow.calls.size).toBe(1);
    await clock.advance(9_000);
    expect(requests).toHaveLength(1);
    await clock.advance(1_000);
    await expect.poll(() => requests.length).toBe(2);
    expect(requests[1]).toContain('Not ended yet');
    expect(await passing(clock, session)).toMatchObject({ status: 'completed' });
  });
});

describe('a session that was killed while its turn settled', () => {
  it.each(DIALECTS)('settles again, does nothing twice, and comes to the same: %s', async (dialect) => {
    const turns: readonly Deeds[] = [
      [
        { call: 'once', run: { id: 'o' } },
        { call: 'again', run: { id: 'a' } },
        { call: 'again', run: { id: 'b', depends_on: ['o'], mode: 'background' } },
      ],
      [
        { call: 'again', run: { id: 'c' } },
        { respond: 'Wait.', final: false },
      ],
      [{ respond: 'Got $b and $c.' }],
    ];
    const model = () => scripted(turns.map((deeds) => speak(dialect, deeds)));
    const again = defineTool({ name: 'again', idempotent: true, run: async () => 'again' });
    const once = defineTool({
      name: 'once',
      idempotent: true,
      run: () => new Promise((resolve) => setTimeout(resolve, 5, 'once')),
    });
    const agent = await defineAgent({ name: 'tester', dialect, tools: [again, once] });
    await resumeEverywhere(
      { setUp: () => ({ agent }), input: 'Go.', start: { model: model() }, resume: { model: model() } },
      ({ events, left, result, where }) => {
        expect(result, where).toMatchObject({ status: 'completed', result: 'Got again and again.' });
        const ended = events.flatMap((event) => (event.type === 'action.completed' ? [event.id] : []));
        expect(new Set(ended).size, where).toBe(ended.length);
        const done = left.flatMap((event) => (event.type === 'action.completed' ? [event.id] : []));
        const since = events.slice(left.length);
        for (const id of done)
          expect(
            since.some((event) => event.type === 'action.started' && event.id === id),
            where,
          ).toBe(false);
      },
    );
  });
});
