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
  { maxTurn: 3 },
  { model: {} },
  { model: 5 },
  { model: { id: 'mine' } },
  { signal: {} },
  { signal: new AbortController() },
  { record: 1 },
  { chat: 'yes' },
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

it.each([
  { store: 5 },
  { store: null },
  { store: {} },
  { durability: 'best' },
  { onWaiting: 'held' },
  { cwd: 1 },
  { env: 'PATH' },
  { clock: 5 },
  { signal: {} },
  { onError: 1 },
  { approve: true },
  { random: 0.5 },
])('a runtime refuses %o', async (wrong) => {
  await expect(createRuntime({ store: 'memory', ...wrong } as RuntimeOptions)).rejects.toEqual(refused);
});

it('an option that is misspelt is refused with the one that was meant, and opens no store', async () => {
  const stor = { stor: 'memory' } as RuntimeOptions;
  await expect(createRuntime(stor)).rejects.toMatchObject({
    code: 'bad_option',
    message: 'createRuntime has no option "stor".',
    hint: expect.stringContaining('Did you mean "store"?'),
  });
});

it('what is said to a session, and who listens to it, is checked when it is given', async () => {
  const runtime = await createRuntime({ store: 'memory' });
  const agent = await defineAgent({ name: 'x', model: scripted(['<response>Hi.</response>']) });
  const session = runtime.start(agent, { input: 'x' });
  for (const wrong of [undefined, 1, new Error('x')] as unknown[] as string[]) {
    await expect(session.steer(wrong)).rejects.toEqual(refused);
    await expect(session.say(wrong)).rejects.toEqual(refused);
    await expect(runtime.steer(session.id, wrong)).rejects.toEqual(refused);
    if (wrong !== undefined) await expect(session.cancel(wrong)).rejects.toEqual(refused);
    if (wrong !== undefined) await expect(runtime.cancel(session.id, wrong)).rejects.toEqual(refused);
    expect(() => session.subscribe(wrong as never)).toThrow(refused);
    expect(() => runtime.watch(wrong as never)).toThrow(refused);
  }
  expect((await session.result).status).toBe('completed');
  await runtime.close();
});

it.each([1.5, Number.NaN, '1'])(
  'events from %s on are refused, and the store is not said to be damaged',
  async (from) => {
    const runtime = await createRuntime({ store: 'memory' });
    const agent = await defineAgent({ name: 'x', model: scripted(['<response>Hi.</response>']) });
    const { id, result } = runtime.start(agent, { input: 'x' });
    await result;
    await expect(runtime.events(id, from as number)).rejects.toEqual(refused);
    await runtime.close();
  },
);

const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;

it.each([
  [{ vars: { a: { b: [1, Number.NaN] } } }, '"/a/b/1" is not JSON'],
  [{ vars: { f: () => 1 } }, '"/f" is not JSON'],
  [{ vars: { n: 5n } }, '"/n" is not JSON'],
  [{ vars: { at: new Date(0) } }, '"/at" is not JSON'],
  [{ vars: cyclic }, '"/self" is not JSON'],
  [{ vars: ['a'] }, 'are not a JSON object.'],
  [{ vars: 'a' }, 'are not a JSON object.'],
  [{ id: 5 }, '"id"'],
] as const)('a start refuses %o', async (wrong, said) => {
  const runtime = await createRuntime({ store: 'memory' });
  const agent = await defineAgent({ name: 'x', model: scripted(['<response>Hi.</response>']) });
  const options = { input: 'x', ...wrong } as unknown as StartOptions;
  expect(() => runtime.start(agent, options)).toThrow(
    expect.objectContaining({ code: 'bad_option', message: expect.stringContaining(said) }),
  );
  await runtime.close();
});

it('a start takes any JSON as vars, and leaves out what is undefined', async () => {
  const runtime = await createRuntime({ store: 'memory' });
  const agent = await defineAgent({ name: 'x', model: scripted(['<response>Hi.</response>']) });
  const twice = { n: 1 };
  const vars = { list: [null, true, twice, twice], none: undefined };
  const { id, result } = runtime.start(agent, { input: 'x', vars } as unknown as StartOptions);
  await result;
  const { variables } = await runtime.state(id);
  expect([...variables].map(([name, { value }]) => [name, value])).toEqual([['list', vars.list]]);
  await runtime.close();
});

it.each([0, -1, 1.5, 99])(
  'a fork at event %d, which is not there, is told which is the last',
  async (seq) => {
    const runtime = await createRuntime({ store: 'memory' });
    const agent = await defineAgent({ name: 'x', model: scripted(['<response>Hi.</response>']) });
    const { id, result } = runtime.start(agent, { input: 'x' });
    await result;
    const { length } = await runtime.events(id);
    await expect(runtime.fork(id, seq)).rejects.toMatchObject({
      code: 'event_unknown',
      message: expect.stringContaining(`Its last event is ${length}.`),
    });
    await runtime.close();
  },
);
