import { afterAll, expect, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { createSandbox, createWaitBudget } from '../../src/tools/sandbox/create-sandbox.ts';
import type { SandboxJob } from '../../src/tools/sandbox/sandbox.ts';

const clock = createSystemClock();
const sandbox = createSandbox({ clock });
afterAll(() => sandbox.close());

const LIMITS = { timeMs: 10_000, memoryBytes: 16 * 1024 * 1024, outputBytes: 1024 * 1024 };

const job = (source: string, more: Partial<SandboxJob> = {}): SandboxJob => ({
  what: 'tool "x"',
  source,
  globals: { parameters: { a: 1, list: [1, 2, 3] }, agent: { name: 'tester', deep: { n: 1 } } },
  frozen: ['agent'],
  limits: LIMITS,
  signal: new AbortController().signal,
  ...more,
});

const run = (source: string, more?: Partial<SandboxJob>) => sandbox.run(job(source, more));
const value = async (source: string, more?: Partial<SandboxJob>): Promise<unknown> =>
  JSON.parse(await run(source, more));
const failure = (source: string, more?: Partial<SandboxJob>): Promise<RuntimeError> =>
  run(source, more).then(
    (json) => {
      throw new Error(`should have failed, but gave ${json.slice(0, 500)}`);
    },
    (thrown: unknown) => {
      if (thrown instanceof RuntimeError) return thrown;
      throw thrown;
    },
  );
const briefly = { limits: { ...LIMITS, timeMs: 50 } };

test.each([
  ['parameters.a + 1', 2],
  ['const n = parameters.list.length;\n({ n, name: agent.name })', { n: 3, name: 'tester' }],
  ['if (parameters.a > 5) "large"; else "small"', 'small'],
  ['return parameters.a', 1],
  ['for (const n of parameters.list) if (n > 1) return { n };\nreturn null', { n: 2 }],
  ['return 1 // a comment at the end', 1],
  ['undefined', null],
  ['', null],
  ['[undefined, { gone: undefined, at: new Date(0) }]', [null, { at: '1970-01-01T00:00:00.000Z' }]],
  ['parameters.b = 2; parameters.b', 2],
  ['const parameters = 5; parameters', 5],
  ['"ä\\ud800\\u0000😀"', 'ä\ud800\0😀'],
  ['({ ["__proto__"]: 1 })', JSON.parse('{"__proto__":1}')],
])('the result of %j is its last value or what it returns', async (source, result) => {
  expect(await value(source)).toEqual(result);
});

test.each([
  ['\n  parameters.no.such', "TypeError: cannot read property 'such' of undefined (line 2, column 3)"],
  ['throw new RangeError("my words")', 'RangeError: my words (line 1, '],
  ['return nothing.here', 'ReferenceError: nothing is not defined (line 1, column 8)'],
  ['return (() => {\n throw new Error("inner")\n})()', 'Error: inner (line 2, column'],
  ['throw "just text"', 'failed: just text'],
  ['throw null', 'failed: null'],
  ['undeclared = 1', 'ReferenceError: undeclared is not defined (line 1, column 1)'],
  ['agent.deep.n = 2', "TypeError: 'n' is read-only"],
  ['throw new Error("x".repeat(1e6))', `x…`],
])('what %j throws is told with its place', async (source, words) => {
  const error = await failure(source);
  expect(error.code).toBe('script_error');
  expect(error.message).toContain(words);
  expect(error.message).toContain('tool "x"');
  expect(error.message.length).toBeLessThan(2_200);
});

test.each([
  ['let x = ;', 'line 1, column 9'],
  ['1 +\n\n  )', 'line 3, column 3'],
  ['return (', 'line 2'],
])('%j is not valid JavaScript, and says where', async (source, place) => {
  const error = await failure(source);
  expect(error).toMatchObject({ code: 'script_error', retryable: false });
  expect(error.message).toContain('is not valid JavaScript');
  expect(error.message).toContain(place);
});

test('a script that awaits is told that scripts are synchronous', async () => {
  expect((await failure('await 1')).hint).toContain('synchronous');
});

test.each([
  ['Promise.resolve(1)', 'it is a Promise'],
  ['(async () => 1)()', 'it is a Promise'],
  ['import("node:fs")', 'it is a Promise'],
  ['() => 1', 'it is a function'],
  ['({ a: [1, { b: NaN }] })', '"/a/1/b" is NaN'],
  ['-1 / 0', 'it is -Infinity'],
  ['[10n]', '"/0" is a BigInt'],
  ['Symbol("s")', 'it is a symbol'],
  ['({ m: new Map() })', '"/m" is a Map'],
  ['[new Set()]', '"/0" is a Set'],
  ['new Uint8Array(3)', 'it is bytes'],
  ['new Error("e")', 'it is an Error'],
  ['const q = { a: [] }; q.a[0] = q; q', '"/a/0" is an object that holds itself'],
  ['let d = {}; for (let i = 0; i < 1e5; i++) d = { d }; d', 'nested deeper than 100 levels'],
])('%j is no JSON, and says where', async (source, words) => {
  const error = await failure(source);
  expect(error.code).toBe('bad_output');
  expect(error.message).toContain(words);
  expect(error.hint).toMatch(/\w/);
});

test.each([
  ['while (true) {}'],
  ['for (;;) try { for (;;); } catch {} finally { continue }'],
  ['/^(a+)+$/.test("a".repeat(40) + "b")'],
  ['Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)'],
  ['throw { get message() { for (;;); } }'],
  ['({ toJSON() { for (;;); } })'],
  ['new Proxy({}, { ownKeys() { for (;;); } })'],
])('%j is stopped when its time is over', async (source) => {
  const error = await failure(source, briefly);
  expect(error.code).toBe('script_timeout');
  expect(error.message).toContain('0.05 s');
});

test('other scripts and the event loop go on while one does not end', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const endless = failure('for (;;);', { signal, limits: { ...LIMITS, timeMs: 60_000 } });
  await new Promise((resolve) => setTimeout(resolve, 1));
  expect(await value('1')).toBe(1);
  controller.abort();
  expect((await endless).code).toBe('cancelled');
});

test.each([
  ['const all = []; for (;;) all.push("x".repeat(1e5) + all.length)'],
  ['"x".repeat(1e9)'],
  ['new Array(1e8).fill(0)'],
  ['new ArrayBuffer(1e9)'],
])('%j is stopped when its memory is used up', async (source) => {
  expect((await failure(source)).code).toBe('script_memory');
  expect(await value('1')).toBe(1);
});

test.each([
  ['const f = () => f() + 1; f()'],
  ['const f = (n) => [n].map(() => f(n + 1))[0]; f(0)'],
  ['JSON.parse("[".repeat(1e5))'],
  ['eval("(".repeat(1e5))'],
])('%j goes too deep, and the next script runs', async (source) => {
  expect((await failure(source)).message).toContain('too deep');
  expect(await value('1')).toBe(1);
});

test('going too deep can be caught', async () => {
  expect(await value('const f = () => f() + 1; try { f() } catch (e) { e.name }')).toBe('RangeError');
});

test('a result above its size is refused, counted in bytes', async () => {
  const small = { limits: { ...LIMITS, outputBytes: 100 } };
  expect(await value('"x".repeat(98)', small)).toHaveLength(98);
  expect((await failure('"x".repeat(99)', small)).code).toBe('output_too_large');
  expect((await failure('"ä".repeat(60)', small)).code).toBe('output_too_large');
  expect((await failure('"x".repeat(1e6)', small)).code).toBe('output_too_large');
});

test('input that cannot fit into the memory is refused', async () => {
  const text = 'x'.repeat(5_000_000);
  expect((await failure('1', { globals: { text } })).code).toBe('script_memory');
  expect(
    await value('parameters.text.length', { globals: { parameters: { text: text.slice(1e6 * 3) } } }),
  ).toBe(2_000_000);
});

test.each([
  'process',
  'require',
  'module',
  'fetch',
  'setTimeout',
  'Buffer',
  'WebAssembly',
  'Worker',
  'Atomics',
  'std',
  'os',
  'print',
  'navigator',
])('there is no %s', async (name) => {
  expect(await value(`typeof ${name}`)).toBe('undefined');
});

test('the way to the host by constructors leads nowhere', async () => {
  const probe = (from: string) =>
    `${from}.constructor.constructor("return typeof process + typeof require")()`;
  for (const from of ['({})', 'parameters', 'agent.deep', 'console.log', 'Math.random', '(() => {})'])
    expect(await value(probe(from)), from).toBe('undefinedundefined');
  expect(await value('globalThis.constructor.constructor("return this")() === globalThis')).toBe(true);
});

const POISONS = [
  'Object.prototype.poisoned = 1',
  'Array.prototype.map = () => "poisoned"',
  'JSON.stringify = JSON.parse = () => "poisoned"',
  'globalThis.kept = 1; var alsoKept = 2',
  'Object.defineProperty(Object.prototype, "toJSON", { value: () => "poisoned" })',
  'Math.random = () => 0.5; Date.now = () => 1; console.log = null; delete globalThis.console',
  'Object.freeze(Object.prototype); Object.freeze(globalThis)',
  'Array.prototype[Symbol.iterator] = function* () {}; Promise = null; Map = null; Error = null',
  'const all = []; try { for (;;) all.push(new Array(1000)) } catch { }',
];

test('nothing that a script does is seen by the next, whatever it broke and however it ended', async () => {
  const seen = `({
    poisoned: [typeof {}.poisoned, typeof {}.toJSON, typeof kept, typeof alsoKept],
    map: [1].map((n) => n + 1), json: JSON.stringify(JSON.parse("[1]")), console: typeof console.log,
    writable: !Object.isFrozen(Object.prototype), now: Date.now() > 1e12, spread: [...[1]], types: typeof Map,
    parameters, agent: Object.isFrozen(agent),
  })`;
  const clean = await value(seen);
  expect(clean).toMatchObject({ poisoned: Array(4).fill('undefined'), map: [2], spread: [1] });
  for (const poison of POISONS)
    for (const end of ['; 1', '; throw new Error("x")', '; for (;;);']) {
      await run(poison + end, briefly).catch(() => undefined);
      // More often than there are threads, so that the one that ran it is asked, too.
      for (let asked = 0; asked < 5; asked++) expect(await value(seen), poison + end).toEqual(clean);
    }
});

test('random numbers differ between runs, unless they are seeded', async () => {
  const first = await value('[Math.random(), Math.random()]');
  expect(await value('[Math.random(), Math.random()]')).not.toEqual(first);
  const seeded = await value('[Math.random(), Math.random()]', { seed: 7 });
  expect(await value('[Math.random(), Math.random()]', { seed: 7 })).toEqual(seeded);
  expect(await value('[Math.random(), Math.random()]', { seed: 8 })).not.toEqual(seeded);
  const mean = await value('let s = 0; for (let i = 0; i < 1e4; i++) s += Math.random(); s / 1e4', {
    seed: 1,
  });
  expect(mean).toBeCloseTo(0.5, 1);
});

test('the clock is the real one in UTC, or stands still where it is given', async () => {
  const before = Date.now();
  expect(await value('Date.now()')).toBeGreaterThanOrEqual(before);
  expect(
    await value('[Date.now(), new Date().getHours(), new Date().getTimezoneOffset()]', { now: 3_600_000 }),
  ).toEqual([3_600_000, 1, 0]);
});

test('what is written to the console comes in order, as text, up to a limit', async () => {
  const lines: string[] = [];
  const onLog = (text: string) => void lines.push(text);
  await run('console.log("a", { b: [1] }, 2n, undefined); console.error("c"); 1', { onLog });
  expect(lines).toEqual(['a {"b":[1]} 2 undefined', 'c']);
  lines.length = 0;
  await run('for (let i = 0; i < 3000; i++) console.log("x".repeat(1000))', { onLog });
  expect(lines.length).toBeLessThan(1_100);
  expect(lines.at(-1)).toContain('not shown');
  expect(await value('console.log("nobody listens"); 1')).toBe(1);
});

test('an abort ends a script that runs, and one that waits for its turn', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const many = Array.from({ length: 12 }, () => failure('for (;;);', { signal }));
  setTimeout(() => controller.abort(), 20);
  for (const failed of many) expect((await failed).code).toBe('cancelled');
  expect((await failure('1', { signal })).code).toBe('cancelled');
  expect(await value('1')).toBe(1);
});

test('many scripts at once each get their own answer', async () => {
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) => value('parameters.n * 2', { globals: { parameters: { n } } })),
  );
  expect(answers).toEqual(Array.from({ length: 200 }, (_, n) => n * 2));
});

test('input, output and source of any length come through, again and again', async () => {
  for (const length of [1, 10_000, 32_000, 33_000, 70_000, 300_000])
    for (const letter of ['x', 'ä', '😀'])
      for (let asked = 0; asked < 2; asked++) {
        const text = letter.repeat(length / letter.length);
        const globals = { parameters: { text } };
        expect(await value('[parameters.text.length, parameters.text]', { globals })).toEqual([
          text.length,
          text,
        ]);
        const source = `// ${text}\nparameters.text`;
        expect(await value(source, { globals: { parameters: { text: 'y' } } })).toBe('y');
      }
});

test('more scripts than a thread keeps each get their own answer', async () => {
  const own = createSandbox({ clock });
  for (let round = 0; round < 2; round++)
    for (let n = 0; n < 300; n++) {
      const frozen = n % 3 === 0 ? ['agent'] : [];
      const source = `[${n}, typeof mine === 'undefined' ? 0 : mine, Object.isFrozen(agent)]`;
      const module = n % 2 === 0 ? `globalThis.mine = ${n}` : undefined;
      const asked = job(source, { frozen, ...(module === undefined ? {} : { module }) });
      expect(JSON.parse(await own.run(asked))).toEqual([n, n % 2 === 0 ? n : 0, n % 3 === 0]);
    }
  await own.close();
});

test('a sandbox that was warmed runs scripts as any other, and ends when it is closed', async () => {
  const own = createSandbox({ clock });
  own.warm();
  own.warm();
  expect(await own.run(job('1'))).toBe('1');
  await own.close();
  own.warm();
  await expect(own.run(job('1'))).rejects.toMatchObject({ code: 'cancelled' });
});

test('what runs when the sandbox is closed is rejected, and nothing runs afterwards', async () => {
  const own = createSandbox({ clock });
  const running = own.run(job('for (;;);')).catch((error: RuntimeError) => error.code);
  const waiting = Array.from({ length: 8 }, () =>
    own.run(job('1')).catch((error: RuntimeError) => error.code),
  );
  await new Promise((resolve) => setImmediate(resolve));
  await own.close();
  expect(await running).toBe('cancelled');
  for (const each of waiting) expect(['cancelled', '1']).toContain(await each);
  await expect(own.run(job('1'))).rejects.toMatchObject({ code: 'cancelled' });
});

test('a script that does not stop by itself is ended with its thread, and another one takes its place', async () => {
  // Here the hard limit comes long before the engine's own.
  const own = createSandbox({ clock: { ...clock, after: (ms, fire) => clock.after(ms / 50, fire) } });
  const limits = { ...LIMITS, timeMs: 20_000 };
  const known = job('agent.name', { module: 'globalThis.known = 1' });
  for (let asked = 0; asked < 2; asked++) expect(await own.run(known)).toBe('"tester"');
  await expect(own.run(job('for (;;);', { limits }))).rejects.toMatchObject({ code: 'script_timeout' });
  for (let asked = 0; asked < 3; asked++) expect(await own.run(known)).toBe('"tester"');
  await own.close();
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('a quick script is answered before the event loop turns', async () => {
  await value('1');
  let answeredAtOnce = 0;
  // A busy machine may be late with some of them.
  for (let asked = 0; asked < 100 && answeredAtOnce < 3; asked++) {
    await turn();
    let hasTurned = false;
    setImmediate(() => {
      hasTurned = true;
    });
    const lines: string[] = [];
    expect(await value('console.log("a"); console.log("b"); 2', { onLog: (text) => lines.push(text) })).toBe(
      2,
    );
    expect(lines).toEqual(['a', 'b']);
    if (!hasTurned) answeredAtOnce++;
  }
  expect(answeredAtOnce).toBe(3);
});

test('the event loop turns while a call runs that the engine cannot stop', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  let ended = false;
  const source = 'let a = []; for (let i = 0; i < 24; i++) a = [a, a]; JSON.stringify(a).length';
  const stuck = failure(source, { signal, limits: { ...LIMITS, timeMs: 50 } }).finally(() => {
    ended = true;
  });
  for (let turns = 0; turns < 3; turns++) await turn();
  expect(ended).toBe(false);
  expect(await value('1')).toBe(1);
  expect(['script_timeout', 'script_memory']).toContain((await stuck).code);
});

test('a caller is held for three milliseconds in each turn of its event loop, by all scripts together', async () => {
  const patience = createWaitBudget();
  expect(patience.forScript('a')).toBe(3);
  patience.spend(2);
  expect(patience.forScript('b')).toBe(1);
  patience.spend(5);
  expect(patience.forScript('b')).toBe(0);
  await turn();
  expect(patience.forScript('a')).toBe(3);
});

test('a script that was slow is not waited for again, until it was quick', () => {
  const patience = createWaitBudget();
  patience.record('a', 4);
  expect([patience.forScript('a'), patience.forScript('b')]).toEqual([0, 3]);
  patience.record('a', 1);
  expect(patience.forScript('a')).toBe(3);
  for (let n = 0; n < 300; n++) patience.record(`slow ${n}`, 4);
  expect([patience.forScript('slow 0'), patience.forScript('slow 299')]).toEqual([3, 0]);
});

test.each([
  ['export function f() { return 1 }\nglobalThis.got = f()', 'got', 1],
  ['const answer = 2; globalThis.got = [answer, parameters.a, typeof this]', 'got', [2, 1, 'undefined']],
])('the module %j is evaluated before the script', async (module, source, result) => {
  expect(await value(source, { module })).toEqual(result);
});

test.each([
  ['export const = 1', 'is not valid JavaScript'],
  ['\nthrow new Error("loading")', 'Error: loading (line 2'],
  ['import "./x.js"', "imports 'x.js'"],
  ['await new Promise(() => {})', 'awaits at its top'],
])('a module that fails is told of: %j', async (module, words) => {
  const error = await failure('1', { module });
  expect(error.code).toBe('script_error');
  expect(error.message).toContain(words);
});

test('one that waits for a thread gives up after its own time, and takes no place from the next', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const held = Array.from({ length: 5 }, () => failure('for (;;);', { signal }));
  const late = await failure('1', { waitMs: 30 });
  expect(late).toMatchObject({ code: 'sandbox_busy', retryable: true });
  expect(late.message).toContain('did not start within 0.03 s');
  const patient = value('2', { waitMs: 60_000 });
  controller.abort(new RuntimeError('cancelled', 'enough'));
  await Promise.all(held);
  expect(await patient).toBe(2);
});
