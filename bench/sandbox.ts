import { parseArgs } from 'node:util';
import { createContext, Script } from 'node:vm';
import { createSystemClock } from '../telltale/src/kernel/clock.ts';
import { createSandbox } from '../telltale/src/targets/sandbox/create-sandbox.ts';
import { loadEngine, openMachine } from '../telltale/src/targets/sandbox/thread/machine.ts';
import { emptyScriptCache, runScript } from '../telltale/src/targets/sandbox/thread/run-script.ts';
import { atMost, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { table } from './parsing/table.ts';

const { values: options } = parseArgs({
  options: { 'no-fail': { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
});
if (options.help) {
  console.log(
    'npm run bench -- sandbox [options]\n  --no-fail     print the target, but end with 0 when it is missed',
  );
  process.exit(0);
}

const MOST_US = 200;
const SOURCE = `const total = parameters.items.reduce((sum, { price, count }) => sum + price * count, 0);
({ total, discount: total > 100 ? total * 0.1 : 0 })`;
const INPUT = { items: Array.from({ length: 10 }, (_, n) => ({ price: n + 0.5, count: n })) };
const EXPECTED = JSON.stringify({ total: 307.5, discount: 30.75 });
const LIMITS = { timeMs: 1_000, memoryBytes: 16 * 1024 * 1024, outputBytes: 1024 * 1024 };
const WARM_UP = 500;
const CALLS = 1_000;
const ROUNDS = 7;

interface Contestant {
  readonly name: string;
  call(): Promise<string> | string;
}

const sandbox = createSandbox({ clock: createSystemClock() });
const { signal } = new AbortController();
const globals = { parameters: INPUT };

const host = { isOver: () => false, now: Date.now, log: () => undefined };
const machine = await openMachine(await loadEngine(), host);
const cache = emptyScriptCache();
const request = { id: 1, source: SOURCE, frozen: [], ...LIMITS, now: undefined, seed: 1, logs: false };

const contestants: readonly Contestant[] = [
  {
    name: 'telltale: a thread of its own',
    call: () => sandbox.run({ what: 'bench', source: SOURCE, globals, limits: LIMITS, signal }),
  },
  {
    name: 'floor: the same engine on this thread',
    call() {
      const outcome = runScript(
        machine,
        { ...request, globals: JSON.stringify(globals) },
        cache,
        () => false,
      );
      return outcome.kind === 'value' ? outcome.json : outcome.kind;
    },
  },
  {
    name: 'node:vm, a new context (no sandbox)',
    call() {
      const context = createContext({ parameters: JSON.parse(JSON.stringify(INPUT)) });
      return JSON.stringify(new Script(SOURCE).runInContext(context, { timeout: LIMITS.timeMs }));
    },
  },
];

const samples = new Map<Contestant, { readonly cpuUs: number; readonly wallUs: number }[]>();
let isRight = true;
for (let round = 0; round <= ROUNDS; round++)
  for (const contestant of contestants) {
    const calls = round === 0 ? WARM_UP : CALLS;
    const began = performance.now();
    const before = process.cpuUsage();
    for (let n = 0; n < calls; n++) isRight &&= (await contestant.call()) === EXPECTED;
    const { user, system } = process.cpuUsage(before); // of all threads
    const wallUs = ((performance.now() - began) * 1000) / calls;
    const sample = { cpuUs: (user + system) / calls, wallUs };
    if (round > 0) samples.set(contestant, [...(samples.get(contestant) ?? []), sample]);
  }
await sandbox.close();

const cpuOf = (contestant: Contestant) => median((samples.get(contestant) ?? []).map(({ cpuUs }) => cpuUs));
const wallOf = (contestant: Contestant) =>
  median((samples.get(contestant) ?? []).map(({ wallUs }) => wallUs));
console.log(
  `${describeMachine()}\nOne script of two lines, ten items in, one after the other; µs a call, median of ${ROUNDS} × ${CALLS}; CPU time is that of all threads.\n`,
);
const rows = contestants.map((each) => [each.name, cpuOf(each).toFixed(0), wallOf(each).toFixed(0)]);
console.log(table(['', 'CPU, µs', 'wall, µs'], rows));
process.exitCode = printVerdicts(
  contestants
    .slice(0, 1)
    .map((ours) => atMost(`a script tool takes at most ${MOST_US} µs warm`, wallOf(ours), MOST_US, 'µs')),
  options['no-fail'],
);
if (!isRight) {
  console.error('✗ A result was wrong.');
  process.exitCode = 1;
}
