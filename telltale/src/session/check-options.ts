import { isJsonObject } from '../kernel/json.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import type { RuntimeOptions, StartOptions } from './runtime-types.ts';

/** What no type says of options, and what a program in JavaScript is told by no compiler. Throws `bad_option`. */

const MAX_DEPTH = 100;
const DURABILITIES: readonly unknown[] = [undefined, 'power', 'process'];
const ON_WAITING: readonly unknown[] = [undefined, 'release', 'hold'];

export function checkRuntimeOptions({ store, durability, onWaiting }: RuntimeOptions): void {
  const isStore = store === undefined || typeof store === 'string' || 'location' in Object(store);
  if (!isStore) throw notTaken('createRuntime', 'store', store, STORES);
  if (!DURABILITIES.includes(durability))
    throw notTaken('createRuntime', 'durability', durability, 'Write "power" or "process".');
  checkWaiting('createRuntime', onWaiting);
}

export function checkStart(agent: LoadedAgent<unknown>, start: StartOptions): void {
  if ((agent as Partial<typeof agent> | undefined)?.manifest === undefined) throw noAgentGiven();
  if (typeof (start as Partial<StartOptions> | undefined)?.input !== 'string') throw noInput();
  checkTurns('runtime.start', start);
  const { id, vars } = start;
  if (id !== undefined && typeof id !== 'string') throw notTaken('runtime.start', 'id', id, 'Give a text.');
  if (vars === undefined) return;
  const place = isJsonObject(vars) ? noJsonAt(vars, '', []) : '';
  if (place !== undefined) throw varsAreNoJson(place);
}

/** Where a value holds what JSON would drop or change in silence; undefined where nowhere. */
function noJsonAt(value: unknown, path: string, around: readonly object[]): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : path;
  if (typeof value !== 'object' || around.includes(value) || around.length === MAX_DEPTH) return path;
  if (!Array.isArray(value) && !isPlain(value)) return path;
  for (const [key, inner] of Object.entries(value)) {
    const isLeftOut = inner === undefined && !Array.isArray(value);
    const found = isLeftOut ? undefined : noJsonAt(inner, `${path}/${key}`, [...around, value]);
    if (found !== undefined) return found;
  }
  return undefined;
}

const isPlain = (value: object): boolean => {
  const proto = Object.getPrototypeOf(value);
  return proto === null || Object.getPrototypeOf(proto) === null; // also of another realm
};

/** NaN would be no limit, and less than one turn no session. */
export function checkTurns(
  call: string,
  { maxTurns, onWaiting }: Pick<StartOptions, 'maxTurns' | 'onWaiting'>,
): void {
  if (maxTurns !== undefined && !(Number.isSafeInteger(maxTurns) && maxTurns > 0))
    throw notTaken(call, 'maxTurns', maxTurns, 'Give a whole number of at least 1, or leave it out.');
  checkWaiting(call, onWaiting);
}

function checkWaiting(call: string, onWaiting: unknown): void {
  if (!ON_WAITING.includes(onWaiting))
    throw notTaken(call, 'onWaiting', onWaiting, 'Write "release" or "hold".');
}

const STORES =
  'Give sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE, "memory", or a store that was opened.';

const notTaken = (call: string, option: string, given: unknown, hint: string) =>
  new RuntimeError('bad_option', `${call} was given a "${option}" that it does not take: ${String(given)}.`, {
    hint,
  });

const varsAreNoJson = (place: string) =>
  new RuntimeError(
    'bad_option',
    `runtime.start was given "vars" that are no JSON object${place === '' ? '' : `: "${place}" is no JSON`}.`,
    { hint: 'Give plain values by the names of variables: { vars: { count: 3, who: "Ann" } }.' },
  );

const noAgentGiven = () =>
  new RuntimeError('bad_option', 'runtime.start was given no agent.', {
    hint: 'Give what loadAgent or defineAgent resolves to: runtime.start(await loadAgent("./agent.yml"), { input }).',
  });

const noInput = () =>
  new RuntimeError('bad_option', 'runtime.start was given no "input", or one that is no text.', {
    hint: 'Say what the agent is to do: runtime.start(agent, { input: "…" }).',
  });
