import { afterAll, beforeEach, describe, expect, it, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { Json } from '../../src/lib/json.ts';
import type { Tables } from '../../src/store/store.ts';
import { unwrapAnswer } from '../../src/tools/artifacts/artifact-module.ts';
import type { ArtifactAnswer, DecisionContext } from '../../src/tools/artifacts/artifacts.ts';
import { createCallArtifact } from '../../src/tools/artifacts/call-artifact.ts';
import { createArtifacts } from '../../src/tools/artifacts/create-artifacts.ts';
import type { ExpectedAnswer, Invocation } from '../../src/tools/artifacts/create-invoke.ts';
import { createInvoke, type InvokeDeps } from '../../src/tools/artifacts/create-invoke.ts';
import { createDraftCheck } from '../../src/tools/artifacts/open-artifacts.ts';
import { createSandbox } from '../../src/tools/sandbox/create-sandbox.ts';
import { memoryTables } from './memory-tables.ts';

const clock = createSystemClock();
const sandbox = createSandbox({ clock });
afterAll(() => sandbox.close());

const CONTEXT: DecisionContext = {
  agent_id: 'tester',
  current_state: 'drafting',
  step_name: 'write',
  balance: 75,
  success_rate: 0.5,
  recent_actions: [
    { id: 'a', name: 'x', status: 'failed' },
    { id: 'b', name: 'y', status: 'completed' },
    { id: 'c', name: 'y', status: 'running' },
  ],
  last_result: { n: 1 },
  metadata: { status: 'CODING' },
  variables: { goal: 'ship' },
};
const { signal } = new AbortController();

let tables: Tables;
let artifacts: ReturnType<typeof createArtifacts>;
let call: ReturnType<typeof createCallArtifact>;
const open = () => createArtifacts({ tables, clock: { now: () => 7 }, check: createDraftCheck(sandbox) });
beforeEach(() => {
  tables = memoryTables();
  artifacts = open();
  call = createCallArtifact({ artifacts, sandbox, clock });
});

const write = (name: string, source: string, methods = ['decide'], author = 'user') =>
  artifacts.write({ name, source, methods }, author);
const askOnce = (artifact: string, method = 'decide', args: readonly Json[] = [], seed = 's') =>
  call({ artifact, method, args, context: CONTEXT, seed, signal });
/**
 * On a machine that gives its thread nothing for a second, any artifact is ended for its time. One that has another
 * reason to end has it when it is asked again; one that has none takes its time again, each time.
 */
const ask = async (...asked: Parameters<typeof askOnce>): Promise<ArtifactAnswer> => {
  for (let again = 10; ; again--) {
    const answer = await askOnce(...asked);
    if (answer.ok || answer.reason !== 'timeout' || again === 0) return answer;
  }
};
const seeded = (source: string) => artifacts.seed({ name: 'it', source, methods: ['decide'] });
/** An artifact of that source, asked at once; seeded, so that nobody looks at the source before. */
const decide = async (source: string, args: readonly Json[] = [], seed?: string) => {
  await seeded(source);
  return ask('it', 'decide', args, seed);
};

describe('a method', () => {
  it.each([
    ['export function decide(n, context) { return n > 2 && context.balance > 50 }', true],
    ['function decide(n) { return n }', 3],
    ['export const decide = (n, { metadata }) => metadata.status', 'CODING'],
    ['const limit = 2; const decide = (n) => n > limit; export { decide }', true],
    ['export function decide(...all) { return all.length }', 2],
    ['export function decide() { return null } // no newline behind it', null],
    ['/* export function decide() { return 1 } */ export function decide() { return `export` }', 'export'],
  ])('is a function of its source, exported or not: %j', async (source, value) => {
    expect(await decide(source, [3])).toMatchObject({ ok: true, value, version: 1 });
  });

  it('gets the context as its last argument, and changes nobody else’s', async () => {
    const source =
      'export function decide(context) { context.metadata.status = "X"; context.__proto__.bad = 1; Object.prototype.worse = 1; return context }';
    const answer = await decide(source);
    expect(answer).toMatchObject({ ok: true, value: { ...CONTEXT, metadata: { status: 'X' } } });
    expect(CONTEXT.metadata).toEqual({ status: 'CODING' });
    expect(({} as { worse?: unknown }).worse).toBeUndefined();
  });

  it('has no clock, and chance from its seed alone', async () => {
    const source = 'export const decide = () => [Math.random(), Date.now()]';
    const first = await decide(source, [], 'run_1#0');
    expect(await ask('it', 'decide', [], 'run_1#0')).toMatchObject({
      ok: true,
      value: (first as { value: Json }).value,
    });
    expect(first).toMatchObject({ value: [expect.any(Number), 0] });
    expect(await ask('it', 'decide', [], 'run_1#1')).not.toMatchObject({
      value: (first as { value: Json }).value,
    });
  });
});

describe('a hostile artifact ends with its reason', () => {
  it.each([
    ['loops', 'timeout', 'export const decide = () => { for (;;); }'],
    [
      'loops and catches',
      'timeout',
      'export const decide = () => { while (true) try { for (;;); } catch {} }',
    ],
    ['loops while it is loaded', 'timeout', 'for (;;); export const decide = () => true'],
    [
      'has a catastrophic pattern',
      'timeout',
      'export const decide = () => /^(a+)+$/.test("a".repeat(40) + "b")',
    ],
    [
      'allocates',
      'memory',
      'export const decide = () => { const all = []; for (;;) all.push("x".repeat(1e5) + all.length) }',
    ],
    ['allocates at once', 'memory', 'export const decide = () => "a".repeat(1e9)'],
    ['throws', 'threw', 'export const decide = () => { throw new Error("no") }'],
    ['throws while it is loaded', 'threw', 'throw new Error("no"); export const decide = () => true'],
    ['goes too deep', 'threw', 'export const decide = () => decide() + 1'],
    ['is not valid JavaScript', 'threw', 'export function decide( {'],
    ['imports', 'threw', 'import fs from "node:fs"; export const decide = () => true'],
    ['awaits at its top', 'threw', 'await new Promise(() => {}); export const decide = () => true'],
    [
      'reaches for files',
      'threw',
      'export const decide = () => require("node:fs").readFileSync("/etc/passwd")',
    ],
    ['reaches for the network', 'threw', 'export const decide = () => fetch("http://localhost")'],
    [
      'reaches for the process',
      'wrong_type',
      'export const decide = (c) => c.constructor.constructor("return globalThis.process")()',
    ],
    ['returns a promise', 'wrong_type', 'export const decide = async () => true'],
    ['returns a function', 'wrong_type', 'export const decide = () => () => true'],
    ['returns nothing', 'wrong_type', 'export const decide = () => {}'],
    ['returns NaN', 'wrong_type', 'export const decide = () => NaN'],
    ['returns 1 MB', 'too_large', 'export const decide = () => "x".repeat(1e6)'],
    ['returns 10 MB', 'memory', 'export const decide = () => "x".repeat(1e7)'],
    ['has no such function', 'no_method', 'export const other = () => true'],
    ['has a value of that name', 'no_method', 'export const decide = true'],
    ...['5', 'null', '({ expected: null })', '({ wanted: { artifact: {}, method: "m", args: 5 } })'].map(
      (json): [string, string, string] => [
        `has its answer written as ${json}`,
        'wrong_type',
        `Object.prototype.toJSON = () => { delete Object.prototype.toJSON; return ${json} }; export const decide = () => true`,
      ],
    ),
    [
      'asks with a name that is no text',
      'wrong_type',
      'globalThis.String = (it) => it; export const decide = () => invoke(["it"], "decide")',
    ],
    [
      'asks itself',
      'cycle',
      'export const decide = () => { try { return invoke("it", "decide") } catch { return true } }',
    ],
    [
      'asks without end',
      'timeout',
      'export const decide = () => { for (;;) try { invoke("gone", "decide") } catch {} }',
    ],
    [
      'asks too often',
      'failed',
      'export const decide = () => { for (let n = 0; n < 20; n++) try { invoke("gone", "decide") } catch {} }',
    ],
  ])('one that %s: %s', async (_, reason, source) => {
    await seeded(source);
    const answer = await (reason === 'timeout' ? askOnce : ask)('it');
    expect(answer).toMatchObject({ ok: false, reason, version: 1 });
    expect((answer as { message: string }).message).toMatch(/\w/);
    expect((answer as { message: string }).message).not.toContain('/value');
  });

  test('one whose last call cannot be stopped, and the next one is answered', async () => {
    const source =
      'export const decide = () => { let a = []; for (let i = 0; i < 22; i++) a = [a, a]; return JSON.stringify(a).length }';
    await seeded(source);
    expect(await askOnce('it')).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/timeout|memory/),
    });
    expect(await ask('genesis_random_decider', 'decide', [1])).toMatchObject({ ok: true, value: true });
  });
});

describe('artifacts that ask others', () => {
  test('get the answer, unwrapped, and another world has made it', async () => {
    await write(
      'leaf',
      'Array.prototype.map = () => "broken"; export const decide = (n, c) => ({ decision: n + c.balance })',
    );
    await write('top', 'export const decide = () => [invoke("leaf", "decide", 5), [1].map((n) => n + 1)]');
    expect(await ask('top')).toMatchObject({ value: [80, [2]], asked: [{ artifact: 'leaf', version: 1 }] });
  });
  test('may go three deep, and not four', async () => {
    for (const [name, next] of ['ab', 'bc', 'cd', 'de'].map((pair) => pair.split('')))
      await write(name as string, `export const decide = () => invoke("${next}", "decide") + 1`);
    await write('e', 'export const decide = () => 0');
    expect(await ask('b')).toMatchObject({ ok: true, value: 3 });
    expect(await ask('a')).toMatchObject({
      ok: false,
      reason: 'depth',
      message: expect.stringContaining('a → b → c → d → e'),
    });
  });
  test('in a circle are a failure, whatever they catch', async () => {
    await write(
      'ping',
      'export const decide = () => { try { return invoke("pong", "decide") } catch { return true } }',
    );
    await write(
      'pong',
      'export const decide = () => { try { return invoke("ping", "decide") } catch { return true } }',
    );
    expect(await ask('ping')).toMatchObject({
      ok: false,
      reason: 'cycle',
      message: expect.stringContaining('ping → pong → ping'),
    });
  });
  test('hear of a failure as an error', async () => {
    await write('bad', 'export const decide = () => ({ success: false, error: "no data" })');
    await write(
      'top',
      'export const decide = (what) => { try { return invoke(what, "decide") } catch (e) { return e.message } }',
    );
    expect(await ask('top', 'decide', ['bad'])).toMatchObject({ value: expect.stringContaining('no data') });
    expect(await ask('top', 'decide', ['gone'])).toMatchObject({ value: 'No artifact is named "gone".' });
    await write('careless', 'export const decide = () =>\n  invoke("gone", "decide")');
    expect(JSON.stringify(await ask('careless', 'decide'))).toContain('(line 2, column 3)');
  });
  test('have the time of one decision together', async () => {
    await write(
      'slow',
      'export const decide = () => { const a = []; for (let i = 0; i < 3e5; i++) a.push(i); return true }',
    );
    await write(
      'top',
      'export const decide = () => { let n = 0; for (; n < 16; n++) invoke("slow", "decide", n); return n }',
    );
    const began = performance.now();
    const answer = await askOnce('top');
    expect(answer.ok || performance.now() - began < 5_000).toBe(true);
  });
});

describe('the artifacts that are there from the start', () => {
  const failed = { ok: false };
  it.each([
    ['genesis_random_decider', 'decide', [0], false],
    ['genesis_random_decider', 'decide', [1], true],
    ['genesis_random_decider', 'decide', [{ probability: 1 }], true],
    ['genesis_random_decider', 'decide', [2], failed],
    ['genesis_random_decider', 'decide_option', [{ options: ['a', 'b'], weights: [0, 1] }], 'b'],
    ['genesis_random_decider', 'decide_option', [{ options: [] }], failed],
    ['genesis_balance_checker', 'check', [{ threshold: 50 }], true],
    ['genesis_balance_checker', 'check', [{ threshold: 75 }], false],
    ['genesis_balance_checker', 'check', [], failed],
    ['genesis_balance_checker', 'compare', [{ op: 'lte', value: 75 }], true],
    ['genesis_error_detector', 'check_recent', [{ count: 1 }], false],
    ['genesis_error_detector', 'check_recent', [{ count: 3 }], true],
    ['genesis_error_detector', 'check_recent', [], true],
    ['genesis_error_detector', 'get_error_rate', [{ count: 10, threshold: 0.5 }], true],
    ['genesis_error_detector', 'get_error_rate', [{ count: 10, threshold: 0.6 }], false],
    ['genesis_error_detector', 'get_error_rate', [], 0.5],
  ] as const)('%s.%s(%j) is %j', async (name, method, args, value) => {
    expect(await ask(name, method, args as readonly Json[])).toMatchObject(
      typeof value === 'object' ? value : { ok: true, value },
    );
  });
  it('a vote is won by more than half, and what fails is no yes', async () => {
    for (const [name, body] of Object.entries({ yes: 'true', no: 'false', bad: '(() => { throw 1 })()' }))
      await write(name, `export const decide = () => ${body}; export const pick = () => "${name}"`, [
        'decide',
        'pick',
      ]);
    const vote = async (...artifacts: string[]) =>
      ask('genesis_majority', 'vote', [{ artifacts, method: 'decide' }]);
    expect(await vote('yes', 'yes', 'bad')).toMatchObject({ value: true });
    expect(await vote('yes', 'no')).toMatchObject({ value: false });
    expect(
      await ask('genesis_majority', 'choose', [{ artifacts: ['no', 'yes', 'yes'], method: 'pick' }]),
    ).toMatchObject({ value: 'yes' });
  });
  it('cannot be written', async () => {
    await expect(write('genesis_mine', 'export const decide = 1')).rejects.toMatchObject({
      code: 'not_permitted',
    });
    await expect(artifacts.rollback('genesis_majority', 1, 'user')).rejects.toMatchObject({
      code: 'not_permitted',
    });
    expect(await artifacts.names()).toContain('genesis_majority');
    expect(await artifacts.versions('genesis_majority')).toHaveLength(1);
  });
});

describe('versions', () => {
  const source = (n: number) => `export const decide = () => ${n}`;
  it('count from 1, say who, when and from what, and stay', async () => {
    expect(await write('it', source(1))).toMatchObject({ version: 1, author: 'user', at: 7 });
    expect(await write('it', source(2), ['decide'], 'agent:a')).toMatchObject({
      version: 2,
      parent: 1,
      author: 'agent:a',
    });
    expect(await artifacts.rollback('it', 1, 'user')).toMatchObject({
      version: 3,
      parent: 2,
      restores: 1,
      source: source(1),
    });
    expect((await artifacts.versions('it')).map((each) => each.source)).toEqual([
      source(1),
      source(2),
      source(1),
    ]);
    expect(await artifacts.read('it', 2)).toMatchObject({ source: source(2) });
    expect(await open().read('it')).toMatchObject({ version: 3 });
    await expect(artifacts.rollback('it', 9, 'user')).rejects.toMatchObject({
      hint: 'Its versions are 1 to 3.',
    });
    await expect(artifacts.rollback('its', 1, 'user')).rejects.toMatchObject({
      hint: expect.stringContaining('"it"'),
    });
    expect(await artifacts.read('it', 0)).toBeUndefined();
  });
  it('are one for each of many writers at once', async () => {
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        open().write({ name: 'it', source: source(n), methods: ['decide'] }, 'user'),
      ),
    );
    expect(made.map(({ version }) => version).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(new Set((await artifacts.versions('it')).map((each) => each.source)).size).toBe(8);
  });
  it('of a manifest follow it until somebody else has written one', async () => {
    const seed = (n: number) => artifacts.seed({ name: 'it', source: source(n), methods: ['decide'] });
    await seed(1);
    await seed(1);
    expect(await artifacts.read('it')).toMatchObject({ version: 1, author: 'manifest' });
    await seed(2);
    expect(await artifacts.read('it')).toMatchObject({ version: 2, author: 'manifest', parent: 1 });
    await write('it', source(3));
    await seed(4);
    expect(await artifacts.read('it')).toMatchObject({ version: 3, author: 'user' });
  });
  it('of a manifest follow it again from when somebody went back to one of them', async () => {
    const seed = (n: number) => artifacts.seed({ name: 'it', source: source(n), methods: ['decide'] });
    await seed(1);
    await write('it', source(2));
    await seed(3);
    await artifacts.rollback('it', 2, 'user');
    await seed(3);
    expect(await artifacts.read('it')).toMatchObject({ version: 3, restores: 2 });
    await artifacts.rollback('it', 1, 'user');
    await artifacts.rollback('it', 4, 'agent:a');
    await seed(3);
    expect(await artifacts.read('it')).toMatchObject({ version: 6, author: 'manifest', source: source(3) });
  });
  it('of a manifest that somebody went back from are not brought again', async () => {
    const seed = (n: number) => artifacts.seed({ name: 'it', source: source(n), methods: ['decide'] });
    await seed(1);
    await seed(2);
    await artifacts.rollback('it', 1, 'user');
    await seed(2);
    expect(await artifacts.read('it')).toMatchObject({ version: 3, restores: 1, source: source(1) });
    await seed(3);
    expect(await artifacts.read('it')).toMatchObject({ version: 4, author: 'manifest', source: source(3) });
  });
  it.each([
    ['export function decide( {', 'is not valid JavaScript'],
    ['export const other = 1', 'no function "decide"'],
    ['throw new Error("at load")', 'at load'],
    ['for (;;);', 'more than 0.1 s'],
    [`// ${'x'.repeat(300_000)}`, 'characters'],
  ])('are refused with what is wrong: %.40j', async (bad, words) => {
    const failure = await write('it', bad).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'bad_artifact',
      message: expect.stringContaining(words),
      hint: expect.stringMatching(/\w/),
    });
    expect(await artifacts.versions('it')).toEqual([]);
  });
  it('without methods are text', async () => {
    expect(
      await artifacts.write({ name: 'text', source: 'Dear reader, (', methods: [] }, 'user'),
    ).toMatchObject({ version: 1 });
  });
  it('have names and methods that can be used', async () => {
    await expect(write('a b', 'x')).rejects.toMatchObject({ code: 'bad_artifact' });
    await expect(write('it', 'x', ['delete'])).rejects.toMatchObject({ code: 'bad_artifact' });
  });
});

test.each([
  [true, true],
  [{ decision: false, why: 'x' }, false],
  [{ decision: 'a' }, 'a'],
  [{ success: true, data: 'a' }, 'a'],
  [{ success: true, data: { decision: false } }, false],
  [{ success: true }, true],
  [{ success: true, decision: false, why: 'x' }, false],
  [{ decision: 'a', success: true }, 'a'],
  [{ data: 1 }, { data: 1 }],
  [[{ decision: true }], [{ decision: true }]],
])('%j stands for %j', (value, meant) => {
  expect(unwrapAnswer(value as Json)).toEqual({ ok: true, value: meant });
});

describe('an invocation', () => {
  const invoker = (more: Partial<InvokeDeps> = {}) =>
    createInvoke({ call, artifacts, cost: 0.1, balance: () => 10, id: 'run_1', ...more });
  const question = (
    invocation: Partial<Invocation> & { readonly invoke: string },
    expected: ExpectedAnswer = { type: 'boolean' },
    context = CONTEXT,
  ) => ({
    where: 'step write: if',
    invocation: { method: 'decide', args: [], cache: true, fallback: 'FALLBACK', ...invocation },
    expected,
    context,
    signal,
  });
  const returning = (value: string) => write('it', `export const decide = () => (${value})`);

  it.each([
    ['true', { type: 'boolean' }, true],
    ['{ decision: false }', { type: 'boolean' }, false],
    ['"text"', { type: 'string' }, 'text'],
    ['["a", "b"]', { type: 'names' }, ['a', 'b']],
    ['"b"', { type: 'one_of', values: ['a', 'b'] }, 'b'],
    ['{ a: 1 }', { type: 'any' }, { a: 1 }],
  ] as const)('takes %s where %j is expected', async (value, expected, result) => {
    await returning(value);
    expect(await invoker()(question({ invoke: 'it' }, expected))).toEqual({
      where: 'step write: if',
      artifact: 'it',
      version: 1,
      method: 'decide',
      args: [],
      result,
      cached: false,
      ms: expect.any(Number),
      cost: 0.1,
    });
  });
  it.each([
    ['1', { type: 'boolean' }, 'wrong_type'],
    ['({ a: 1 })', { type: 'boolean' }, 'wrong_type'],
    ['""', { type: 'string' }, 'wrong_type'],
    ['["a", 1]', { type: 'names' }, 'wrong_type'],
    ['"c"', { type: 'one_of', values: ['a', 'b'] }, 'wrong_type'],
    ['{ success: false, error: "why" }', { type: 'boolean' }, 'failed'],
    ['{ success: false }', { type: 'any' }, 'failed'],
  ] as const)(
    'does not take %s where %j is expected: the fallback counts',
    async (value, expected, reason) => {
      await returning(value);
      expect(await invoker()(question({ invoke: 'it' }, expected))).toMatchObject({
        result: 'FALLBACK',
        fallback: { reason, message: expect.stringMatching(/it/) },
        cost: 0.1,
        version: 1,
      });
    },
  );
  it('of what is not there comes to the fallback, and costs nothing', async () => {
    const record = await invoker()(question({ invoke: 'gone' }));
    expect(record).toMatchObject({ result: 'FALLBACK', fallback: { reason: 'missing' }, cost: 0 });
    expect(record).not.toHaveProperty('version');
  });
  it('is answered from memory for the same question, until anything is another', async () => {
    await write('inner', 'export const decide = () => 1');
    await write('it', 'export const decide = (n) => [n, invoke("inner", "decide"), Math.random()]');
    const invoke = invoker();
    const asked = (more: Partial<Invocation> = {}, context = CONTEXT) =>
      invoke(question({ invoke: 'it', ...more }, { type: 'any' }, context));
    const first = await asked();
    expect(await asked()).toEqual({ ...first, cached: true, ms: 0, cost: 0 });
    for (const other of [
      await asked({ cache: false }),
      await asked({ args: [1] }),
      await asked({}, { ...CONTEXT, balance: 1 }),
    ])
      expect(other).toMatchObject({ cached: false, cost: 0.1 });
    await write('inner', 'export const decide = () => 2');
    expect(await asked()).toMatchObject({
      cached: false,
      result: [expect.anything(), 2, expect.any(Number)],
    });
    await write('it', 'export const decide = () => 3');
    expect(await asked()).toMatchObject({ cached: false, version: 2, result: 3 });
  });
  it('that asked for an artifact which is missing is asked again once there is one', async () => {
    await write(
      'it',
      'export const decide = () => { try { return invoke("late", "decide") } catch { return "none" } }',
    );
    const invoke = invoker();
    const asked = () => invoke(question({ invoke: 'it' }, { type: 'any' }));
    expect(await asked()).toMatchObject({ cached: false, result: 'none' });
    expect(await asked()).toMatchObject({ cached: true, result: 'none' });
    await write('late', 'export const decide = () => "there"');
    expect(await asked()).toMatchObject({ cached: false, result: 'there' });
  });
  it('of chance is never answered from memory, is free, and repeats with the run and its number', async () => {
    const roll = question(
      {
        invoke: 'genesis_random_decider',
        method: 'decide_option',
        args: [{ options: [1, 2, 3, 4, 5, 6, 7, 8] }],
      },
      { type: 'any' },
    );
    const rolls = async (invoke: ReturnType<typeof invoker>) => {
      const all = [];
      for (let n = 0; n < 12; n++) all.push(await invoke(roll));
      return all;
    };
    const first = await rolls(invoker());
    expect(new Set(first.map(({ result }) => result)).size).toBeGreaterThan(1);
    expect(first.every(({ cached, cost }) => !cached && cost === 0)).toBe(true);
    const results = (all: typeof first) => all.map(({ result }) => result);
    expect(results(await rolls(invoker()))).toEqual(results(first));
    expect(results(await rolls(invoker({ id: 'run_2' })))).not.toEqual(results(first));
    expect((await invoker({ calls: 3 })(roll)).result).toEqual(first[3]?.result);
  });
  it('that the balance does not cover is not made, also where two are made at once', async () => {
    await returning('true');
    const poor = invoker({ cost: 3, balance: () => 5 });
    const both = await Promise.all([1, 2].map((n) => poor(question({ invoke: 'it', args: [n] }))));
    expect(both.map(({ fallback }) => fallback?.reason)).toEqual([undefined, 'unaffordable']);
    expect(await poor(question({ invoke: 'genesis_random_decider', args: [1] }))).toMatchObject({
      result: true,
      cost: 0,
    });
    expect(await invoker({ balance: () => undefined })(question({ invoke: 'it' }))).toMatchObject({
      result: true,
      cost: 0,
    });
  });
  it('rejects with the signal’s reason, and with nothing else', async () => {
    await returning('true');
    const reason = new Error('over');
    await expect(
      invoker()({ ...question({ invoke: 'it' }), signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
    const broken = invoker({ artifacts: { read: () => Promise.reject(new Error('the disk')) } });
    expect(await broken(question({ invoke: 'it' }))).toMatchObject({
      result: 'FALLBACK',
      fallback: { reason: 'unavailable', message: 'the disk' },
    });
  });
});
