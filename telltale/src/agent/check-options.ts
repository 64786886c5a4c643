import { RuntimeError } from '../lib/errors.ts';
import { isJsonObject } from '../lib/json.ts';
import { nearest } from '../lib/nearest.ts';
import { showValue } from '../manifest/schema/show-value.ts';
import { badFigure } from '../models/bad-figure.ts';
import { isModelObject, MODEL_HINT } from '../models/model-object.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import type { LoadedWorkflow } from './runs/run-types.ts';
import type { ResumeOptions, RuntimeOptions, StartOptions } from './runtime-types.ts';

/** What no type says of options, and what a program in JavaScript is told by no compiler. Throws `bad_option`. */

const MAX_DEPTH = 100;
const DURABILITIES: readonly unknown[] = [undefined, 'power', 'process'];
const ON_WAITING: readonly unknown[] = [undefined, 'release', 'hold'];

/** What an option has to be; what is said of it elsewhere is `any`. */
type OptionsKind = keyof typeof KINDS;

const KINDS = {
  any: { is: () => true, hint: '' },
  text: { is: (given: unknown) => typeof given === 'string', hint: 'Give a text.' },
  flag: { is: (given: unknown) => typeof given === 'boolean', hint: 'Write true or false.' },
  function: { is: (given: unknown) => typeof given === 'function', hint: 'Give a function.' },
  map: { is: isJsonObject, hint: 'Give an object.' },
  signal: {
    is: (given: unknown) => typeof Object(given).throwIfAborted === 'function',
    hint: 'Give the "signal" of an AbortController, or AbortSignal.timeout(ms).',
  },
  model: {
    is: (given: unknown) => typeof given === 'string' || isModelObject(given),
    hint: MODEL_HINT,
  },
  agent: {
    is: (given: unknown) => Object(given).manifest?.kind === 'Agent',
    hint: 'Give what loadAgent or defineAgent resolves to: { agent: await loadAgent("./agent.yml") }.',
  },
} as const;

const RUNTIME: Readonly<Record<keyof RuntimeOptions, OptionsKind>> = {
  store: 'any',
  durability: 'any',
  onWaiting: 'any',
  served: 'any',
  cwd: 'text',
  user: 'text',
  clock: 'map',
  env: 'map',
  derivedTriggers: 'map',
  member: 'map',
  signal: 'signal',
  random: 'function',
  approve: 'function',
  ask: 'function',
  mcp: 'function',
  onError: 'function',
  crashPoint: 'function',
};
const START: Readonly<Record<keyof StartOptions, OptionsKind>> = {
  input: 'any',
  vars: 'any',
  maxTurns: 'any',
  onWaiting: 'any',
  model: 'model',
  signal: 'signal',
  user: 'text',
  record: 'text',
  id: 'text',
  chat: 'flag',
  queued: 'flag',
};
const RESUME: Readonly<Record<keyof ResumeOptions, OptionsKind>> = {
  maxTurns: 'any',
  onWaiting: 'any',
  model: 'model',
  signal: 'signal',
  agent: 'agent',
  record: 'text',
  by: 'text',
  acceptChanges: 'flag',
  chat: 'flag',
  first: 'function',
};

export function checkRuntimeOptions(options: RuntimeOptions): void {
  checkAll('createRuntime', RUNTIME, options);
  const { store, durability, onWaiting } = options;
  const isStore = store === undefined || typeof store === 'string' || 'location' in Object(store);
  if (!isStore) throw notTaken('createRuntime', 'store', store, STORES);
  if (!DURABILITIES.includes(durability))
    throw notTaken('createRuntime', 'durability', durability, 'Write "power" or "process".');
  checkWaiting('createRuntime', onWaiting);
}

export function checkStart(agent: LoadedAgent<unknown>, start: StartOptions): void {
  if (kindOf(agent) !== 'Agent') throw noAgentGiven();
  if (typeof (start as Partial<StartOptions> | undefined)?.input !== 'string') throw noInput();
  checkAll('runtime.start', START, start);
  checkTurns('runtime.start', start);
  checkFigures('runtime.start', start);
  const { vars } = start;
  if (vars === undefined) return;
  const place = isJsonObject(vars) ? noJsonAt(vars, '', []) : '';
  if (place !== undefined) throw varsAreNoJson(place);
}

/** What `defineWorkflow` makes has no agent yet. */
export function checkWorkflow(workflow: Pick<LoadedWorkflow, 'manifest' | 'agent'>): void {
  if (kindOf(workflow) !== 'Workflow' || kindOf(workflow.agent) !== 'Agent') throw noWorkflowGiven();
}

const kindOf = (loaded: { readonly manifest: { readonly kind: string } } | undefined): string | undefined =>
  (loaded?.manifest as { readonly kind: string } | undefined)?.kind;

export function checkResume(resume: ResumeOptions<unknown>): void {
  checkAll('runtime.resume', RESUME, resume);
  checkTurns('runtime.resume', resume);
  checkFigures('runtime.resume', resume);
}

/** One that is misspelt would be passed over in silence. */
function checkAll(call: string, known: Readonly<Record<string, OptionsKind>>, options: object): void {
  for (const [option, given] of Object.entries(options)) {
    const kind = Object.hasOwn(known, option) ? known[option] : undefined;
    if (kind === undefined) throw unknownOption(call, option, Object.keys(known));
    if (given !== undefined && !KINDS[kind].is(given)) throw notTaken(call, option, given, KINDS[kind].hint);
  }
}

/** What is said to a session, or why it is ended: it goes onto its log as it is. */
export function checkText(call: string, name: string, given: unknown): void {
  if (typeof given !== 'string') throw notTaken(call, name, given, KINDS.text.hint);
}

/** One that cannot be called would be found out when the first event comes, by nobody who could mend it. */
export function checkListener(call: string, given: unknown): void {
  if (typeof given !== 'function') throw notTaken(call, 'listener', given, KINDS.function.hint);
}

/** A store counts events by whole numbers; what lies before the first is all of them. */
export function checkFrom(from: unknown): void {
  if (!Number.isSafeInteger(from))
    throw notTaken('runtime.events', 'from', from, 'Give the seq of an event, or leave it out.');
}

export function checkTurn(call: string, turn: unknown): void {
  if (turn !== undefined && !(Number.isSafeInteger(turn) && Number(turn) > 0))
    throw notTaken(
      call,
      'turn',
      turn,
      'Give the number of a turn, from 1 on, or leave it out for the newest.',
    );
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
function checkTurns(
  call: string,
  { maxTurns, onWaiting }: Pick<StartOptions, 'maxTurns' | 'onWaiting'>,
): void {
  if (maxTurns !== undefined && !(Number.isSafeInteger(maxTurns) && maxTurns > 0))
    throw notTaken(call, 'maxTurns', maxTurns, 'Give a whole number of at least 1, or leave it out.');
  checkWaiting(call, onWaiting);
}

function checkFigures(call: string, { model }: Pick<StartOptions, 'model'>): void {
  const bad = typeof model === 'object' && 'stream' in model ? badFigure(model) : undefined;
  if (bad !== undefined) throw notTaken(call, ['model', ...bad.path].join('.'), bad.found, bad.hint);
}

function checkWaiting(call: string, onWaiting: unknown): void {
  if (!ON_WAITING.includes(onWaiting))
    throw notTaken(call, 'onWaiting', onWaiting, 'Write "release" or "hold".');
}

const STORES =
  'Give sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE, "memory", or a store that was opened.';

const notTaken = (call: string, option: string, given: unknown, hint: string) =>
  new RuntimeError('bad_option', `${call} was given a wrong "${option}": ${showGiven(given)}.`, { hint });

/** As a program shows it, where a manifest could not hold it. */
const showGiven = (given: unknown): string =>
  given === undefined || typeof given === 'number' || typeof given === 'bigint' || typeof given === 'symbol'
    ? String(given)
    : typeof given === 'function'
      ? 'a function'
      : showValue(given);

const unknownOption = (call: string, option: string, known: readonly string[]) => {
  const near = nearest(option, known);
  return new RuntimeError('bad_option', `${call} has no option "${option}".`, {
    hint: `${near === undefined ? '' : `Did you mean "${near}"? `}It takes: ${known.toSorted().join(', ')}.`,
  });
};

const varsAreNoJson = (place: string) =>
  new RuntimeError(
    'bad_option',
    `runtime.start was given "vars" that are not a JSON object${place === '' ? '' : `: "${place}" is not JSON`}.`,
    {
      hint: 'Give plain values, with the names of the variables as keys: { vars: { count: 3, who: "Ann" } }.',
    },
  );

const noAgentGiven = () =>
  new RuntimeError('bad_option', 'runtime.start was given no agent.', {
    hint: 'Give what loadAgent or defineAgent resolves to: runtime.start(await loadAgent("./agent.yml"), { input }).',
  });

const noWorkflowGiven = () =>
  new RuntimeError('bad_option', 'runtime.workflows.start was given no workflow of an agent.', {
    hint: 'Give what findWorkflow(agent, workflow) returns, or loadWorkflow("./agent.yml", { workflow }) resolves to.',
  });

const noInput = () =>
  new RuntimeError('bad_option', 'runtime.start was given no "input", or an "input" that is not text.', {
    hint: 'Say what the agent should do: runtime.start(agent, { input: "…" }).',
  });
