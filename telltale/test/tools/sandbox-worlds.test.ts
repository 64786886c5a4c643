import fc from 'fast-check';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import type { RunRequest } from '../../src/tools/sandbox/messages.ts';
import type { SandboxOutcome } from '../../src/tools/sandbox/sandbox.ts';
import {
  type EngineModule,
  loadEngine,
  type Machine,
  openMachine,
} from '../../src/tools/sandbox/thread/machine.ts';
import { emptyScriptCache, runScript, type ScriptCache } from '../../src/tools/sandbox/thread/run-script.ts';
import { moreRuns } from '../more-runs.ts';

let engine: EngineModule;
let isOver = false;
let now = 0;
const logged: string[] = [];
const open = () =>
  openMachine(engine, { isOver: () => isOver, now: () => now, log: (text) => void logged.push(text) });

let machine: Machine;
let other: Machine;
beforeAll(async () => {
  engine = await loadEngine();
  machine = await open();
  other = await open();
});

const request = (module: string | undefined, source: string, more: Partial<RunRequest> = {}): RunRequest => ({
  id: 1,
  source,
  module,
  globals: '{"call":{"n":1}}',
  frozen: '[]',
  now: 0,
  seed: 1,
  logs: false,
  timeMs: 1_000,
  memoryBytes: 16 * 1024 * 1024,
  outputBytes: 64 * 1024,
  ...more,
});
const run = (cache: ScriptCache, asked: RunRequest, on = machine): SandboxOutcome =>
  runScript(on, asked, cache, () => isOver);
const value = (outcome: SandboxOutcome): unknown =>
  outcome.kind === 'value' ? JSON.parse(outcome.json) : outcome;

const COUNTS = `let n = 0;
const seen = [];
globalThis.methods = { up: (what) => (seen.push(what), [++n, seen, Math.random()]) };`;

/** Modules of many kinds: some look at what differs from run to run, some leave much behind, some break things. */
const MODULES = [
  COUNTS,
  'globalThis.methods = { up: () => 1 };\nexport const unused = new Map([[1, { a: [1, 2, 3] }]]);',
  'const chance = Math.random();\nglobalThis.methods = { up: () => [chance, Math.random()] };',
  'const draw = Math.random;\nglobalThis.methods = { up: () => [draw(), draw()] };',
  'Math.random = () => 0.5;\nglobalThis.methods = { up: () => Math.random() };',
  'const early = typeof call;\nglobalThis.methods = { up: () => [early, call] };',
  'globalThis.call = { n: "mine" };\nglobalThis.methods = { up: () => call };',
  'const had = "call" in globalThis;\nglobalThis.methods = { up: () => [had, Object.keys(globalThis)] };',
  'Object.prototype.leak = 1;\nArray.prototype.push = null;\nglobalThis.methods = { up: (x) => [x, Object.keys({}), ({}).leak] };',
  'const zeros = new Uint8Array(200_000);\nglobalThis.methods = { up: () => [zeros.every((each) => each === 0), zeros.fill(7).length] };',
  'const marks = new Uint8Array(100_000).fill(0xa5);\nglobalThis.methods = { up: () => [marks.every((each) => each === 0xa5), marks.fill(1).length] };',
  'const big = Array.from({ length: 5_000 }, (_, n) => ({ n, text: "x" + n }));\nglobalThis.methods = { up: () => [big.length, big.at(-1), (big.length = 1)] };',
  'const all = [];\nfor (let n = 0; n < 300; n++) all.push(new ArrayBuffer(n * 16));\nall.splice(10, 200);\nglobalThis.methods = { up: () => all.map((each) => each.byteLength) };',
  'const huge = new Uint8Array(3_000_000);\nglobalThis.methods = { up: () => huge.length };',
  'class Tree { #n = 0; next() { return ++this.#n; } }\nconst tree = new Tree();\nfunction* count() { yield tree.next(); yield tree.next(); }\nconst steps = count();\nsteps.next();\nglobalThis.methods = { up: () => [tree.next(), steps.next()] };',
  'let done = 0;\nPromise.resolve().then(() => done++);\nglobalThis.methods = { up: () => done };',
  'console.log("here");\nglobalThis.methods = { up: () => Date.now() };',
  'const at = Date.now();\nglobalThis.methods = { up: () => at };',
  'throw new TypeError("not today");',
  'await new Promise(() => {});',
  'const broken = ;',
  'globalThis.methods = { up: () => { throw new Error("at line " + call.n); } };',
] as const;
const SCRIPTS = [
  'return methods.up(call.n);',
  'methods.up(call.n)',
  'globalThis.left = 1;\nreturn [methods.up("a"), methods.up("b"), typeof left];',
  'return missing;',
] as const;
/** Fills memory with what the next one would see if it could. */
const DIRT =
  'const all = [];\nfor (let n = 0; n < 2_000; n++) all.push({ n, dirt: "dirt".repeat(20) });\nreturn all.length;';

describe('a world that is kept', () => {
  test('is not evaluated again, and begins each run as if it had been', () => {
    const cache = emptyScriptCache();
    const evaluations = vi.spyOn(machine.vm, 'evalBytecode');
    const counts = [1, 2, 3, 4].map((n) => {
      evaluations.mockClear();
      const seed = n % 2;
      const outcome = run(cache, request(COUNTS, SCRIPTS[0], { globals: `{"call":{"n":${n}}}`, seed }));
      const [count, seen, chance] = value(outcome) as [number, number[], number];
      expect([count, seen]).toEqual([1, [n]]);
      return [chance, evaluations.mock.calls.length];
    });
    evaluations.mockRestore();
    const [[one = 0] = [], [two = 0] = []] = counts;
    expect(one).not.toBe(two);
    // The module and the script, both again to be kept, and then neither.
    expect(counts).toEqual([
      [one, 2],
      [two, 2],
      [one, 0],
      [two, 0],
    ]);
  });

  test('cannot be told from one that is not, whatever its module does, and whatever ran before', async () => {
    const cache = emptyScriptCache();
    const asked = fc.record({
      module: fc.constantFrom(...MODULES),
      source: fc.constantFrom(...SCRIPTS),
      n: fc.integer({ min: 0, max: 3 }),
      seed: fc.integer({ min: 0, max: 3 }),
      logs: fc.constantFrom(false, false, true),
      time: fc.constantFrom<(number | undefined)[]>(0, 0, 5, undefined),
      dirty: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(asked, { minLength: 1, maxLength: 12 }), async (runs) => {
        for (const { module, source, n, seed, logs, time, dirty } of runs) {
          now = time ?? 1_000 + n;
          const one = request(module, source, { globals: `{"call":{"n":${n}}}`, seed, logs, now: time });
          if (dirty) run(cache, request(undefined, DIRT));
          logged.length = 0;
          const kept = run(cache, one);
          const [keptLog, freshLog] = [[...logged], logged];
          freshLog.length = 0;
          const fresh = run(emptyScriptCache(), one, other);
          expect(kept).toEqual(fresh);
          if (logs) expect(keptLog).toEqual(freshLog);
          if (machine.isSpent()) machine = await open();
          if (other.isSpent()) other = await open();
        }
      }),
      { numRuns: moreRuns(40), examples: [[everyThrice()]] },
    );
  }, 60_000);

  test('is left alone by a run that is stopped while it is made', () => {
    const cache = emptyScriptCache();
    const long = `let n = 0;\nfor (let i = 0; i < 200_000; i++) n++;\n${COUNTS.replace('let n = 0;', '')}`;
    const asked = request(long, SCRIPTS[0]);
    const first = run(cache, asked);
    expect(value(first)).toMatchObject([200_001, [1], expect.any(Number)]);
    isOver = true;
    expect(run(cache, asked)).toEqual({ kind: 'interrupted' });
    isOver = false;
    for (let n = 0; n < 3; n++) expect(run(cache, asked)).toEqual(first);
  });

  test('goes with its machine', async () => {
    const cache = emptyScriptCache();
    const asked = request(COUNTS, SCRIPTS[0]);
    const first = run(cache, asked);
    for (let n = 0; n < 3; n++) expect(run(cache, asked)).toEqual(first);
    const next = await open();
    for (let n = 0; n < 3; n++) expect(run(cache, asked, next)).toEqual(first);
  });

  test('makes room for others', () => {
    const cache = emptyScriptCache();
    const evaluations = vi.spyOn(machine.vm, 'evalBytecode');
    const sized = (n: number) =>
      request(
        `const data = new Uint8Array(500_000).fill(${n});\nglobalThis.methods = { up: () => data[${n}] };`,
        SCRIPTS[0],
      );
    for (let n = 0; n < 40; n++)
      for (let time = 0; time < 2; time++) expect(value(run(cache, sized(n)))).toBe(n);
    evaluations.mockClear();
    run(cache, sized(39));
    expect(evaluations).not.toHaveBeenCalled();
    run(cache, sized(0));
    expect(evaluations).toHaveBeenCalled();
    evaluations.mockRestore();
  });
});

/** Each module three times in a row, so that its world is made and used. */
function everyThrice() {
  return MODULES.flatMap((module) =>
    [0, 1, 2].map((n) => ({ module, source: SCRIPTS[0], n, seed: n, logs: false, time: 0, dirty: n === 2 })),
  );
}
