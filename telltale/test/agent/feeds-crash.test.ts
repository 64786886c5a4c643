import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { defineTool, defineWorkflow } from '../../src/agent/define/definitions.ts';
import { createFeedRuns } from '../../src/agent/runs/run-usage.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { fold } from '../../src/log/reduce.ts';
import { emptyState } from '../../src/log/state.ts';
import type { Model } from '../../src/models/model.ts';
import { crashEverywhere } from '../../src/testing/crash.ts';
import { createMemoryStore } from '../../src/testing/run-agent.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { eventually } from '../store/eventually.ts';

const internal = (id: string, name: string, parameters: JsonObject) =>
  `<action id="${id}" type="internal" mode="sync">${JSON.stringify({ name, parameters })}</action>`;

const GATHER = defineWorkflow({ name: 'gather', steps: [{ name: 'one', type: 'tool', target: 'steady' }] });

const STEADY = { type: 'tool', name: 'steady' } as const;

const TURNS = [
  internal('add', 'add_context_feed', { id: 'mine', source: STEADY }) +
    internal('add2', 'add_context_feed', { id: 'other', source: STEADY, cache_ttl: 3600 }),
  internal('change', 'update_context_feed', { id: 'mine', transform: [{ template: 'Mine: {value}' }] }) +
    '<action id="e" mode="sync">{"name":"echo","parameters":{"ref":"$hidden","docs":"$docs"}}</action>',
  internal('drop', 'remove_context_feed', { id: 'other' }) +
    internal('drop2', 'remove_context_feed', { id: 'doomed' }),
  internal('list', 'list_context_feeds', {}),
  '<response>$hidden</response>',
];

const SCENARIO = {
  async setUp() {
    /** What the model was asked, message by message, by whichever life. */
    const asked: (readonly string[])[] = [];
    let calls = 0;
    const tool = (name: string, give: (input: unknown) => unknown) =>
      defineTool({ name, idempotent: true, run: async (input) => give(input) as string });
    const script = scripted(TURNS);
    const model: Model = {
      ...script,
      stream(request, sink) {
        asked.push([request.system, ...request.messages.map(({ role, text }) => `${role}: ${text}`)]);
        return script.stream(request, sink);
      },
    };
    const agent = await defineAgent({
      name: 'feeder',
      model,
      tools: [
        tool('steady', () => 'steady'),
        tool('moving', () => `call ${++calls}`),
        tool('broken', () => {
          throw new Error('no source');
        }),
        tool('echo', (input) => input),
      ],
      workflows: [GATHER],
      context_feeds: [
        { id: 'plain', source: STEADY },
        { id: 'moving', source: { type: 'tool', name: 'moving' } },
        { id: 'tick', type: 'periodic', interval: 60, source: STEADY },
        { id: 'cached', cache_ttl: 3600, source: { type: 'tool', name: 'moving' } },
        { id: 'shared', cache_ttl: 3600, cache_scope: 'agent', source: { type: 'tool', name: 'moving' } },
        { id: 'docs', source: { type: 'workflow', name: 'gather' } },
        { id: 'hidden', inject: 'reference', source: STEADY },
        { id: 'start', inject: 'start', source: { type: 'tool', name: 'moving' } },
        { id: 'doomed', source: STEADY },
        { id: 'broken', source: { type: 'tool', name: 'broken' } },
        { id: 'made', source: { type: 'tool', name: 'echo', params: { of: '$cached' } } },
      ],
    });
    return { agent, asked };
  },
  input: 'Go.',
};

/** Its agent has no feeds: the session has those that its model added. */
const ADDED = {
  async setUp() {
    const steady = defineTool({ name: 'steady', idempotent: true, run: async () => 'steady' });
    const turns = [
      internal('add', 'add_context_feed', { id: 'mine', source: STEADY }),
      '<response>$mine</response>',
    ];
    return { agent: await defineAgent({ name: 'adder', model: scripted(turns), tools: [steady] }) };
  },
  input: 'Go.',
};

it('a session that is killed anywhere has the feed that its model added, also where its agent has none', async () => {
  await crashEverywhere(ADDED, ({ result }) => {
    expect(result).toMatchObject({ status: 'completed', result: 'steady' });
  });
});

describe('a session with feeds of every kind that is killed', () => {
  it('anywhere shows each once, keeps what was added and removed, and leaves its prompt as it was', async () => {
    await crashEverywhere(SCENARIO, ({ scene: { asked }, left, events, result }) => {
      expect(result).toMatchObject({ status: 'completed', result: 'steady' });
      for (const event of events)
        if (event.type === 'turn.started') expect(event.prompt.reused_prefix).toBe(1);
      asked.forEach((before, at) => {
        // What the log had not heard of may be said otherwise.
        const isOnLog = left.some((event) => event.type === 'turn.started' && event.turn === at + 1);
        const kept = isOnLog ? before : before.slice(0, -1);
        expect((asked[at + 1] ?? before).slice(0, kept.length)).toEqual(kept);
      });
      const shown = (asked.at(-1) ?? []).slice(1).join('\n');
      const times = (id: string) => shown.split(`<context_feed id="${id}"`).length - 1;
      for (const id of ['plain', 'tick', 'cached', 'shared', 'docs', 'start', 'doomed', 'other', 'made'])
        expect([id, times(id)]).toEqual([id, 1]);
      expect(times('mine')).toBe(2);
      const { feeds, actions } = fold(events);
      expect(feeds.get('mine')?.definition).toHaveProperty('transform');
      expect(feeds.has('other')).toBe(false);
      expect(feeds.get('doomed')).toEqual({ id: 'doomed', removed: true });
      const listed = JSON.stringify(actions.get('list'));
      expect([listed.includes('"mine"'), listed.includes('"other"'), listed.includes('"doomed"')]).toEqual([
        true,
        false,
        false,
      ]);
    });
  });
});

describe('a session whose feed is a workflow', () => {
  /** A source that gives the next number, and waits for `free` if it has to; an action that waits for `goOn`. */
  const scene = async (
    feed: { readonly type: 'on_demand' } | { readonly type: 'periodic'; interval: number },
  ) => {
    const world = { free: true, goOn: false, calls: 0 };
    const until = async (isSo: () => boolean, signal: AbortSignal) => {
      while (!isSo()) {
        signal.throwIfAborted();
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    };
    const agent = await defineAgent({
      name: 'feeder',
      model: scripted([
        '<action id="h" mode="sync">{"name":"hold"}</action>',
        '<action id="i" mode="sync">{"name":"echo","parameters":{"docs":"$docs"}}</action>',
        '<response>$docs</response>',
      ]),
      limits: { feed_deadline: 0.02 },
      tools: [
        defineTool({
          name: 'steady',
          idempotent: true,
          run: async (_, { signal }) => {
            const call = ++world.calls;
            await until(() => world.free, signal);
            return call;
          },
        }),
        defineTool({
          name: 'hold',
          idempotent: true,
          run: (_, { signal }) => until(() => world.goOn, signal),
        }),
        defineTool({ name: 'echo', idempotent: true, run: async (input) => input }),
      ],
      workflows: [GATHER],
      context_feeds: [{ id: 'docs', source: { type: 'workflow', name: 'gather' }, ...feed }],
    });
    const store = createMemoryStore();
    const runs = async () => (await store.list({ kind: 'run' })).map(({ status }) => status);
    return { world, agent, store, runs };
  };

  it('leaves no run behind that nobody goes on with, however late it was when the process ended', async () => {
    const { world, agent, store, runs } = await scene({ type: 'on_demand' });
    world.free = false;
    const first = await createRuntime({ store });
    const session = first.start(agent, { input: 'Go.' });
    await eventually(async () => expect((await first.state(session.id)).open.size).toBe(1));
    await session.interrupt();
    await first.close();
    expect(await runs()).toEqual(['running']);
    Object.assign(world, { free: true, goOn: true });
    const second = await createRuntime({ store });
    expect(await (await second.resume(session.id, { agent })).result).toMatchObject({ status: 'completed' });
    await second.close();
    expect(new Set(await runs())).toEqual(new Set(['completed']));
  });

  it('and is no longer wanted ends the run with itself', async () => {
    const { world, agent, store, runs } = await scene({ type: 'periodic', interval: 60 });
    world.free = false;
    const first = await createRuntime({ store });
    const session = first.start(agent, { input: 'Go.' });
    await eventually(async () => expect(world.calls).toBe(1));
    await session.interrupt();
    await first.close();
    expect(await runs()).toEqual(['running']);
    const second = await createRuntime({ store });
    const resumed = await second.resume(session.id, { agent });
    await resumed.cancel();
    await resumed.result;
    await second.close();
    expect(await runs()).toEqual(['cancelled']);
  });

  it('is not given again what a run of before the restart found out, but goes on with one that was cut short', async () => {
    const called: string[] = [];
    const life = (seq: number, open: readonly string[]) =>
      createFeedRuns({
        state: { ...emptyState(), id: 'ses_1', seq },
        store: { list: async () => open.map((stream) => ({ stream })) as never },
        call: async ({ id }) => {
          called.push(id);
          return null;
        },
        recordMissing: async () => undefined,
        end: async (id) => void called.push(`end ${id}`),
      });
    const asks = (of: number) => ({ workflow: { name: 'gather' } as never, input: { of }, feed: 'docs' });
    const { signal } = new AbortController();
    const first = life(1, []);
    await first.run(asks(1), signal);
    await first.run(asks(1), signal);
    await first.run(asks(2), signal);
    const [one = '', again = '', two = ''] = called.splice(0);
    expect(new Set([one, again, two]).size).toBe(3);
    const second = life(9, [again, two, 'ses_1.h', 'ses_10.feed:x:1:1']);
    await second.find();
    await second.run(asks(1), signal);
    await second.run(asks(1), signal);
    await second.end(async () => undefined);
    expect(called).toEqual([again, expect.not.stringMatching(one), `end ${two}`]);
  });
});
