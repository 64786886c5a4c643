import { describe, expect, it } from 'vitest';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Model } from '../../src/models/model.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { eventually } from '../store/eventually.ts';
import { agentFolder, runAgent, tool } from './run-agent.ts';

const TOOLS = 'import: { tools: [./tools/*.yml] }\n';
const echo = tool('echo', 'return input.text ?? input;');
const call = (name: string, id: string, extra: object = {}, mode = 'async') =>
  `<action id="${id}" mode="${mode}">${JSON.stringify({ name, ...extra })}</action>`;
const forever = (text: (turn: number) => string): Model => ({
  id: 'scripted:forever',
  async stream({ turn }, sink) {
    await undefined;
    sink.text(text(turn));
    return { finish: 'stop', usage: { input: 100, output: 10 } };
  },
});

describe('limits', () => {
  const endless = forever((turn) => call('echo', `e${turn}`));

  it('turns end the session as failed, with how to go on', async () => {
    const { result } = await runAgent({
      manifest: `${TOOLS}limits: { turns: 3 }\n`,
      files: echo,
      turns: [],
      model: endless,
    });
    expect(result).toMatchObject({ status: 'failed', turns: 3, error: { code: 'limit_turns' } });
    expect(result.error?.hint).toMatch(/telltale resume ses_\w+ --max-turns 6$/);
  });

  it.each([
    ['price.input', { price: { input: Number.NaN, output: 1 } }, 'NaN'],
    ['price.output', { price: { input: 1, output: -1 } }, '-1'],
    ['price.cached', { price: { input: 1, output: 1, cached: Number.POSITIVE_INFINITY } }, 'Infinity'],
    ['price.written', { price: { input: 1, output: 1, written: '1' } }, '"1"'],
    ['price.output', { price: { input: 1 } }, 'undefined'],
    ['price', { price: null }, 'null'],
    ['price', { price: 3 }, '3'],
    ['contextWindow', { contextWindow: Number.NaN }, 'NaN'],
  ])(
    'a model whose %s is none (%j) is refused, at the start and where it goes on',
    async (path, of, shown) => {
      const model = { ...endless, ...of } as Model;
      const code = 'bad_option';
      const message = `was given a wrong "model.${path}": ${shown}.`;
      await expect(runAgent({ turns: [], model })).rejects.toMatchObject({
        code,
        message: `runtime.start ${message}`,
      });
      await runAgent({
        turns: ['<response>Done.</response>'],
        after: async (session, runtime) => {
          const resuming = runtime.resume(session, { model });
          await expect(resuming).rejects.toMatchObject({ code, message: `runtime.resume ${message}` });
        },
      });
    },
  );

  it('a price that becomes none while the session runs is more than the limit of its cost', async () => {
    const price = { input: 1, output: 1 };
    const model: Model = {
      ...endless,
      price,
      stream: (...asked) => {
        price.input = Number.NaN;
        return endless.stream(...asked);
      },
    };
    const { result, of } = await runAgent({
      manifest: `${TOOLS}limits: { cost_usd: 5 }\n`,
      files: echo,
      turns: [],
      model,
    });
    expect(result).toMatchObject({ status: 'failed', turns: 1, error: { code: 'limit_cost_usd' } });
    expect(of('turn.completed')[0]?.cost_usd).toBe(result.cost_usd);
    expect(Number.isFinite(result.cost_usd)).toBe(true);
  });

  it('fewer turns may be asked for at the start', async () => {
    const { result } = await runAgent({
      manifest: TOOLS,
      files: echo,
      turns: [],
      model: endless,
      start: { maxTurns: 2 },
    });
    expect(result).toMatchObject({ turns: 2, error: { code: 'limit_turns' } });
    // Raising the manifest's would change nothing.
    expect(result.error?.hint).not.toContain('manifest');
  });

  it('more turns may be allowed when it is resumed, for good', async () => {
    await runAgent({
      manifest: `${TOOLS}limits: { turns: 1 }\n`,
      files: echo,
      turns: [],
      model: endless,
      async after(session, runtime) {
        const resumed = await runtime.resume(session, { model: endless, maxTurns: 3 });
        expect(await resumed.result).toMatchObject({ turns: 3, error: { code: 'limit_turns' } });
        const again = await runtime.resume(session, { model: endless });
        expect(await again.result).toMatchObject({ turns: 3, error: { code: 'limit_turns' } });
      },
    });
  });

  it('tokens in and out count together', async () => {
    const { result } = await runAgent({
      manifest: `${TOOLS}limits: { tokens: 250 }\n`,
      files: echo,
      turns: [],
      model: endless,
    });
    expect(result).toMatchObject({ status: 'failed', turns: 3, error: { code: 'limit_tokens' } });
    expect(result.usage).toEqual({ input: 300, output: 30 });
  });

  it('cost is counted by the price of the model', async () => {
    const priced: Model = { ...endless, price: { input: 1000, output: 10_000 } };
    const { result } = await runAgent({
      manifest: `${TOOLS}limits: { cost_usd: 0.35 }\n`,
      files: echo,
      turns: [],
      model: priced,
    });
    expect(result).toMatchObject({ status: 'failed', turns: 2, error: { code: 'limit_cost_usd' } });
    expect(result.cost_usd).toBeCloseTo(0.4);
  });

  it('wall time ends even a turn that never ends, and what runs in it', async () => {
    const stuck: Model = {
      id: 'scripted:stuck',
      stream: ({ signal }, sink) =>
        new Promise((_, reject) => {
          sink.text(call('hang', 'h'));
          signal.addEventListener('abort', () => reject(new RuntimeError('model_cancelled', 'cut')));
        }),
    };
    const hang = tool(
      'hang',
      'await new Promise((_, no) => context.signal.addEventListener("abort", () => no(context.signal.reason)));',
    );
    const { result, of } = await runAgent({
      manifest: `${TOOLS}limits: { wall: 150ms }\n`,
      files: hang,
      turns: [],
      model: stuck,
    });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'limit_wall' } });
    expect(of('action.cancelled').map(({ id }) => id)).toEqual(['h']);
    expect(of('turn.failed')).toHaveLength(1);
  });

  it('a budget is charged for turns and actions, and ends the session at zero', async () => {
    const { result, of } = await runAgent({
      manifest: `${TOOLS}budget: { balance: 3, costs: { turn: 1, action: 0.5 } }\n`,
      files: echo,
      turns: [],
      model: endless,
    });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'limit_budget' } });
    expect(of('budget.charged').map(({ what, balance }) => [what, balance])).toEqual([
      ['turn', 2],
      ['action', 1.5],
      ['turn', 0.5],
      ['action', 0],
    ]);
  });

  it('a budget that was raised since lets a session go on, with what it had spent taken off', async () => {
    const budget = (balance: number) => `${TOOLS}budget: { balance: ${balance}, costs: { turn: 1 } }\n`;
    const left: number[] = [];
    const { result } = await runAgent({
      manifest: budget(2),
      files: echo,
      turns: [],
      model: endless,
      after: async (id, runtime) => {
        for (const [balance, isKnown] of [
          [2, true],
          [5, false],
          [6, false],
        ] as const) {
          const agent = await loadAgent('agent.yml', { cwd: agentFolder(budget(balance), echo) });
          const options = isKnown ? {} : { agent, acceptChanges: true };
          const resumed = await runtime.resume(id, { ...options, model: endless });
          expect(await resumed.result).toMatchObject({ status: 'failed', error: { code: 'limit_budget' } });
          const { totals, balance: now } = await runtime.state(id);
          left.push(totals.turns, now ?? Number.NaN);
        }
      },
    });
    expect(result).toMatchObject({ turns: 2, error: { code: 'limit_budget' } });
    expect(result.error?.hint).toMatch(/--accept-changes/);
    expect(left).toEqual([2, 0, 5, 0, 6, 0]);
  });
});

describe('steering', () => {
  it('a message that comes in during a turn is in the next prompt, and undoes a final response', async () => {
    let steered: Promise<void> | undefined;
    let steer = (): Promise<void> => Promise.resolve();
    const model: Model = {
      id: 'scripted:steered',
      async stream({ turn }, sink) {
        if (turn === 1) {
          steered = steer();
          await steered;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        sink.text(`<response>answer ${turn}</response>`);
        return { finish: 'stop' };
      },
    };
    const { prompts, result, of } = await runAgent({
      turns: [],
      model,
      during: (session) => {
        steer = () => session.steer('Use tabs <action>{"name":"x"}</action>');
      },
    });
    expect(of('message.received').map(({ from }) => from)).toEqual(['steer']);
    expect(of('fault').map(({ code }) => code)).toEqual(['final_undone']);
    expect(prompts[1]).toContain('Use tabs &lt;action>');
    expect(result.result).toBe('answer 2');
  });

  it('a message reaches a model that waits for an action, and does not wait for it, too', async () => {
    const { of } = await runAgent({
      manifest: TOOLS,
      files: tool('wait', 'await new Promise((resolve) => { globalThis.letGo = resolve; });'),
      turns: [
        call('wait', 'w', {}, 'background'),
        '<thought>Waiting.</thought>',
        '<response>Heard: $w</response>',
      ],
      during: async (session) => {
        const ended = (turn: number) =>
          new Promise<void>((resolve) =>
            session.subscribe((event) => event.type === 'turn.completed' && event.turn === turn && resolve()),
          );
        const [second, third] = [ended(2), ended(3)];
        await second;
        await session.steer('Hurry up');
        await third;
        // The tool's module may still be loading.
        await eventually(() => (globalThis as unknown as { letGo: () => void }).letGo());
      },
    });
    expect(of('turn.started')).toHaveLength(3);
  });

  it('cancel stops the model and what runs, and says who asked for it', async () => {
    const hang = tool(
      'hang',
      'await new Promise((_, no) => context.signal.addEventListener("abort", () => no(context.signal.reason)));',
    );
    const { result, of, types } = await runAgent({
      manifest: TOOLS,
      files: hang,
      turns: [call('hang', 'h', {}, 'sync')],
      during: async (session, runtime) => {
        await new Promise<void>((resolve) =>
          session.subscribe((event) => event.type === 'action.started' && resolve()),
        );
        await runtime.cancel(session.id, 'changed my mind', 'ann');
      },
    });
    expect(result.status).toBe('cancelled');
    expect(of('action.cancelled')).toHaveLength(1);
    expect(of('session.cancelled')[0]).toMatchObject({ reason: 'changed my mind', by: 'ann' });
    expect(types.at(-1)).toBe('session.cancelled');
    // What the model had been asked and had said is paid for all the same.
    const usage = of('turn.failed')[0]?.usage;
    expect(usage).toMatchObject({ input: of('turn.started')[0]?.prompt.tokens, estimated: true });
    expect(result.usage).toEqual({ input: usage?.input, output: usage?.output, estimated: true });
    expect(result.usage.output).toBeGreaterThan(0);
  });

  it('what an interrupted turn was asked with counts once it is resumed', async () => {
    const turns = ['<thought>Hm.</thought>', '<response>Done.</response>'];
    const { of } = await runAgent({
      turns: [],
      model: {
        id: 'test/half',
        stream: ({ signal }, sink) => {
          sink.text('<thought>Hm.</thought>');
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        },
      },
      during: async (session) => {
        await new Promise<void>((resolve) =>
          session.subscribe((event) => event.type === 'thought' && resolve()),
        );
        await session.interrupt();
      },
      after: async (id, runtime) => {
        const session = await runtime.resume(id, { model: createScriptedModel({ turns }) });
        expect((await session.result).status).toBe('completed');
      },
    });
    const asked = of('turn.started')[0]?.prompt.tokens;
    expect(of('turn.failed')[0]).toMatchObject({ error: { code: 'interrupted' }, usage: { input: asked } });
  });
});

describe('a model that fails', () => {
  const broken = (failures: number, error: () => RuntimeError): Model => ({
    id: 'scripted:broken',
    async stream({ turn }, sink) {
      await undefined;
      if (turn <= failures) {
        sink.text(`<thought>Part ${turn}</thought>${call('echo', `e${turn}`)}<thought>cut`);
        throw error();
      }
      sink.text('<response>Got there.</response>');
      return { finish: 'stop' };
    },
  });
  const brokeOff = () =>
    new RuntimeError('model_broke_off', 'The connection was reset.', { retryable: true });

  it('half-way is asked again, told where it broke off, and no action runs twice', async () => {
    const { result, of, prompts } = await runAgent({
      manifest: TOOLS,
      files: echo,
      turns: [],
      model: broken(2, brokeOff),
      runtime: { random: () => 0 },
    });
    expect(result).toMatchObject({ status: 'completed', result: 'Got there.' });
    expect(of('action.declared').map(({ action }) => action.id)).toEqual(['e1', 'e2']);
    expect(of('turn.failed').map(({ error }) => error.code)).toEqual(['model_broke_off', 'model_broke_off']);
    expect(of('fault').map(({ code }) => code)).toEqual(['truncated', 'truncated']);
    expect(prompts[1]).toMatch(/broke off/);
    expect(of('turn.failed')[0]?.usage?.estimated).toBe(true);
  });

  it('for good ends the session with its error', async () => {
    const { result, of } = await runAgent({
      manifest: TOOLS,
      files: echo,
      turns: [],
      model: broken(1, () => new RuntimeError('model_refused_key', 'No such key.', { hint: 'Set it.' })),
    });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'model_refused_key', hint: 'Set it.' } });
    expect(of('turn.failed')[0]?.retry_in).toBeUndefined();
  });

  it('again and again ends the session after a bounded number of tries', async () => {
    const { result, of } = await runAgent({
      manifest: TOOLS,
      files: echo,
      turns: [],
      model: broken(99, brokeOff),
      runtime: { random: () => 0 },
    });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'model_broke_off' } });
    expect(of('turn.failed').length).toBeLessThanOrEqual(8);
  });
});
