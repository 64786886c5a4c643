import { expect, it } from 'vitest';
import {
  createRuntime,
  defineAgent,
  type LoadedAgent,
  type RuntimeOptions,
  type StartOptions,
} from '../../src/index.ts';
import { scripted } from '../../src/testing/scripted.ts';

it('a start without an agent or an input says what is missing', async () => {
  const runtime = await createRuntime({ store: 'memory' });
  const definition = { name: 'x', model: scripted(['<response>Hi.</response>']) };
  const agent = await defineAgent(definition);
  const start = (given: unknown, options: unknown) => () =>
    runtime.start(given as LoadedAgent, options as StartOptions);
  for (const options of [{}, undefined, { input: 5 }])
    expect(start(agent, options)).toThrow(expect.objectContaining({ code: 'bad_option' }));
  for (const given of [undefined, defineAgent(definition)])
    expect(start(given, { input: 'x' })).toThrow(expect.objectContaining({ code: 'bad_option' }));
  await runtime.close();
});

const refused = expect.objectContaining({ code: 'bad_option', hint: expect.any(String) });

it.each([
  { maxTurns: 0 },
  { maxTurns: -1 },
  { maxTurns: 1.5 },
  { maxTurns: Number.NaN },
  { maxTurns: Number.POSITIVE_INFINITY },
  { onWaiting: 'held' },
])('a start and a resume refuse %o', async (wrong) => {
  const runtime = await createRuntime({ store: 'memory' });
  const agent = await defineAgent({ name: 'x', model: scripted(['<response>Hi.</response>']) });
  const options = wrong as Partial<StartOptions>;
  expect(() => runtime.start(agent, { input: 'x', ...options })).toThrow(refused);
  const { id, result } = runtime.start(agent, { input: 'x' });
  await result;
  await expect(runtime.resume(id, { agent, ...options })).rejects.toEqual(refused);
  await runtime.close();
});

it.each([{ store: 5 }, { store: null }, { store: {} }, { durability: 'best' }, { onWaiting: 'held' }])(
  'a runtime refuses %o',
  async (wrong) => {
    await expect(createRuntime({ store: 'memory', ...wrong } as RuntimeOptions)).rejects.toEqual(refused);
  },
);
