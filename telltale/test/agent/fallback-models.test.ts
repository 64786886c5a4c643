import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AgentDefinition } from '../../src/agent/define/define-agent.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import { createRuntime } from '../../src/index.ts';
import type { Model } from '../../src/models/model.ts';
import { modelFailed } from '../../src/models/model-errors.ts';

type Failure = Parameters<typeof modelFailed>[0];
type Say = string | Failure | { readonly say: string; readonly fails: Failure };

const FINAL = '<response>Done.</response>';
const LOOK = '<action type="tool" name="clock" mode="sync" id="now">{}</action>';

/** A model that answers its requests one after another, or fails. `asked` counts them. */
function answering(id: string, answers: readonly Say[]): Model & { readonly asked: () => number } {
  let asked = 0;
  return {
    id,
    price: { input: 1_000_000, output: 0 },
    asked: () => asked,
    async stream(_, sink) {
      const answer = answers[asked++] ?? answers.at(-1) ?? '';
      if (typeof answer === 'object') {
        sink.text(answer.say);
        throw modelFailed(answer.fails, 'It broke.');
      }
      if (answer.startsWith('model_')) throw modelFailed(answer as Failure, 'It failed.');
      sink.text(answer);
      return { finish: 'stop', usage: { input: id === 'x/main' ? 5 : 7, output: 1 } };
    },
  };
}

async function run(
  model: Model | string,
  fallback_models: readonly (Model | string)[],
  more: Partial<AgentDefinition<undefined>> = {},
) {
  const runtime = await createRuntime({ store: 'memory', env: {}, random: () => 0 });
  try {
    const definition = { name: 'worker', model, fallback_models, tools: ['builtin:clock'], ...more };
    const agent = await defineAgent(definition as AgentDefinition<undefined>);
    const session = runtime.start(agent, { input: 'Do it.' });
    const result = await session.result;
    const events = await runtime.events(session.id);
    return {
      result,
      started: events.flatMap((event) => (event.type === 'turn.started' ? [[event.turn, event.model]] : [])),
      failed: events.flatMap((event) =>
        event.type === 'turn.failed' ? [[event.turn, event.error.code, event.fallback]] : [],
      ),
      costs: events.flatMap((event) => (event.type === 'turn.completed' ? [event.cost_usd] : [])),
    };
  } finally {
    await runtime.close();
  }
}

describe('where a model has failed for good', () => {
  it.each(['model_refused_key', 'model_overloaded'] as const)('of %s, a fallback answers', async (code) => {
    const spare = answering('x/spare', [FINAL]);
    const { result, started, failed, costs } = await run(answering('x/main', [code]), [spare]);
    const tries = code === 'model_refused_key' ? 1 : 6;
    expect(result).toMatchObject({ status: 'completed', result: 'Done.', turns: 1 });
    expect(failed).toEqual([...Array(tries - 1).fill([1, code, undefined]), [1, code, 'x/spare']]);
    expect(started.at(-1)).toEqual([1, 'x/spare']);
    expect(costs).toEqual([7]);
  });

  it('the fallbacks are asked in their order, each with tries of its own', async () => {
    const first = answering('x/first', ['model_overloaded', 'model_refused_key']);
    const { result, started } = await run(answering('x/main', ['model_refused_key']), [
      first,
      answering('x/second', [FINAL]),
    ]);
    expect(result.status).toBe('completed');
    expect(started.map(([, model]) => model)).toEqual([undefined, 'x/first', 'x/first', 'x/second']);
  });

  it('the next turn tries the own model once, and all of its tries once it has answered', async () => {
    const main = answering('x/main', [
      'model_refused_key',
      'model_overloaded',
      LOOK.replaceAll('now', 'b'),
      'model_overloaded',
      FINAL,
    ]);
    const spare = answering('x/spare', [LOOK, LOOK.replaceAll('now', 'a')]);
    const { result, started, costs } = await run(main, [spare]);
    expect(result.status).toBe('completed');
    expect(started).toEqual([
      [1, undefined],
      [1, 'x/spare'],
      [2, undefined],
      [2, 'x/spare'],
      [3, undefined],
      [4, undefined],
      [4, undefined],
    ]);
    expect(costs).toEqual([7, 7, 5, 5]);
  });

  it('and the fallbacks have, too, the session fails with the last error', async () => {
    const { result, failed } = await run(answering('x/main', ['model_refused_key']), [
      answering('x/spare', ['model_filtered']),
    ]);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'model_filtered' } });
    expect(failed).toEqual([
      [1, 'model_refused_key', 'x/spare'],
      [1, 'model_filtered', undefined],
    ]);
  });

  it('because its key is missing, a named fallback with options of its own answers', async () => {
    let heat: number | undefined;
    const spare: Model = {
      id: 'x/spare',
      async stream({ temperature }, sink) {
        heat = temperature;
        sink.text(FINAL);
        return { finish: 'stop' };
      },
    };
    const { result, failed } = await run('anthropic/claude-sonnet-4-5', ['other'], {
      model_options: { temperature: 1 },
      models: { other: { model: spare, temperature: 0 } },
    });
    expect(result.status).toBe('completed');
    expect(failed).toEqual([[1, 'model_key_missing', 'x/spare']]);
    expect(heat).toBe(0);
  });
});

it.each(['model_bad_request', 'model_filtered', 'model_no_tools'] as const)(
  'a request that is refused for its own sake (%s) is made to no other model',
  async (code) => {
    const spare = answering('x/spare', [FINAL]);
    const { result } = await run(answering('x/main', [code]), [spare]);
    expect(result).toMatchObject({ status: 'failed', error: { code } });
    expect(spare.asked()).toBe(0);
  },
);

it('a session that is resumed goes on with the fallback that its turn had been given to', async () => {
  const store = `sqlite:${join(mkdtempSync(join(tmpdir(), 'telltale-fallback-')), 'log.db')}`;
  const hangs: Model = {
    id: 'x/spare',
    stream: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('Aborted.')));
      }),
  };
  const main = answering('x/main', ['model_refused_key']);
  const agentWith = (spare: Model) => defineAgent({ name: 'worker', model: main, fallback_models: [spare] });
  const before = await createRuntime({ store, env: {} });
  const session = before.start(await agentWith(hangs), { input: 'Do it.' });
  await expect
    .poll(async () => (await before.events(session.id)).findLast(({ type }) => type === 'turn.started'))
    .toMatchObject({ model: 'x/spare' });
  await before.close();
  const after = await createRuntime({ store, env: {} });
  try {
    const agent = await agentWith(answering('x/spare', [FINAL]));
    expect(await (await after.resume(session.id, { agent })).result).toMatchObject({ status: 'completed' });
    expect(main.asked()).toBe(1);
  } finally {
    await after.close();
  }
});

it('a turn that has begun to speak is never asked elsewhere', async () => {
  const spare = answering('x/spare', [FINAL]);
  const { result, failed } = await run(
    answering('x/main', [{ say: '<thought>Half', fails: 'model_refused_key' }]),
    [spare],
  );
  expect(result.status).toBe('failed');
  expect(failed).toEqual([[1, 'model_refused_key', undefined]]);
  expect(spare.asked()).toBe(0);
});
