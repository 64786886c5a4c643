import { deepEqual, isPlainObject } from '../../expressions/values.ts';
import type { InvokeRecord } from '../../lib/calls.ts';
import type { Clock } from '../../lib/clock.ts';
import { err, ok, type Result, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { createTurnstile, type Turnstile } from '../../lib/semaphore.ts';
import type { Cause, HookRecord } from '../../log/event.ts';
import type { HookMark } from '../../log/hook-marks.ts';
import { clip, showValue } from '../../manifest/schema/show-value.ts';
import type { DecisionContext } from '../../tools/artifacts/artifacts.ts';
import type { Invoke } from '../../tools/artifacts/create-invoke.ts';
import type { RunCommand } from '../../tools/process/command-request.ts';
import { commandFailed } from '../../tools/process/command-request.ts';
import type { GuidedHooks } from './hook-types.ts';
import {
  type CheckParameters,
  type Hook,
  type HookContext,
  type HookEvent,
  type HookedCall,
  type HookKind,
  type HookLists,
  type HookSubject,
  hasHooks,
  hookRefused,
  type PlacedHook,
} from './hook-types.ts';

/** The sources of hooks, in the order in which they run. */
export interface HookSources {
  readonly agent?: HookLists | undefined;
  readonly workflow?: HookLists | undefined;
  readonly step?: { readonly name: string; readonly hooks: HookLists | undefined } | undefined;
  /** In a guided session: the hooks of the current task, instead of the last two. */
  readonly guided?:
    | { readonly all: GuidedHooks['all']; now(): Pick<HookSources, 'workflow' | 'step'>; command: RunCommand }
    | undefined;
}

export interface HookDeps extends AskHookDeps {
  /** The session or run, which is part of the idempotency keys of commands. */
  readonly stream: string;
  /** Hooks that have run already, before a restart. They do not run again. */
  readonly marks: () => readonly HookMark[];
  readonly hookContext: () => HookContext;
  readonly balance: () => number | undefined;
  readonly append: (body: HookEvent, cause?: Cause) => Cause;
}

/**
 * Runs hooks on calls, errors and turns and records their answers on the log. Rejects with the signal's
 * reason.
 */
export interface Hooks {
  has(kind: HookKind): boolean;
  /**
   * Resolves with the parameters for the call. Rejects with `hook_refused` if a hook refuses it. `known`:
   * parameters that are on the log already and need not be written again.
   */
  before(call: HookedCall, check: CheckParameters | undefined, known?: JsonObject): Promise<JsonObject>;
  /** Resolves with the result that counts. Write the records to the log together with the end of the call. */
  after(
    call: HookedCall,
    result: Json,
  ): Promise<{ readonly output: Json; readonly records: readonly HookEvent[] }>;
  /** Notifies hooks that only observe. */
  notify(
    kind: 'before_turn' | 'after_turn' | 'on_error',
    subject: HookSubject,
    signal: AbortSignal,
    cause?: Cause,
  ): Promise<void>;
}

const OF_AGENT = 'agent';

/** Hooks that run in parallel. Each command is a process. */
const MAX_SIDE_BY_SIDE = 8;

/** Undefined if there are no hooks. */
export function createHooks(sources: HookSources, deps: HookDeps, semaphore?: Turnstile): Hooks | undefined {
  const { agent, workflow, step, guided } = sources;
  if (![agent, workflow, step?.hooks, ...(guided?.all ?? [])].some(hasHooks)) return undefined;
  const limited = semaphore ?? createTurnstile(MAX_SIDE_BY_SIDE);
  const placed = (kind: HookKind, above: Pick<HookSources, 'workflow' | 'step'>): readonly PlacedHook[] => [
    ...place(agent?.[kind], OF_AGENT),
    ...place(above.workflow?.[kind], 'workflow'),
    ...(above.step === undefined ? [] : place(above.step.hooks?.[kind], `step ${above.step.name}`)),
  ];
  const lists: Readonly<Record<HookKind, readonly PlacedHook[]>> = {
    before_turn: placed('before_turn', sources),
    after_turn: placed('after_turn', sources),
    before_action: placed('before_action', sources),
    after_action: placed('after_action', sources),
    on_error: placed('on_error', sources),
  };
  const listOf = (kind: HookKind) => (guided === undefined ? lists[kind] : placed(kind, guided.now()));

  const ask = (
    kind: HookKind,
    { hook, of, index }: PlacedHook,
    subject: HookSubject,
    signal: AbortSignal,
  ) => {
    const hookContext = deps.hookContext();
    const about = subject.action?.id ?? `turn ${subject.turn ?? hookContext.turn ?? 0}`;
    const key = `${deps.stream}:${about}:${kind}:${of}#${index}`;
    const payload = payloadOf(kind, hookContext, subject);
    const asking = guided === undefined || of === OF_AGENT ? deps : { ...deps, command: guided.command };
    return limited(() => askHook(hook, { kind, payload, key, signal }, asking));
  };
  const markOf = (kind: HookKind, { of, index }: PlacedHook, action: string | undefined) =>
    deps
      .marks()
      .find((mark) => mark.hook === kind && mark.of === of && mark.index === index && mark.action === action);

  return {
    has: (kind) => lists[kind].length > 0 || guided?.all.some((list) => list[kind].length > 0) === true,
    async before(call, check, known) {
      const kind = 'before_action';
      let { parameters } = call;
      let logged = known;
      for (const each of listOf(kind)) {
        const mark = markOf(kind, each, call.id);
        if (mark?.refused !== undefined) throw hookRefused(call, nameOf(each.hook), mark.refused);
        if (mark !== undefined) {
          logged = mark.input ?? logged;
          parameters = mark.input ?? parameters;
          continue;
        }
        const reply = await ask(kind, each, { action: actionOf({ ...call, parameters }) }, call.signal);
        const { verdict, fallback } = judge(kind, each, reply, { now: parameters, check });
        if (verdict.outcome === 'changed') parameters = verdict.to as JsonObject;
        const isNew = parameters !== logged && verdict.outcome !== 'refused';
        logged = parameters;
        const record = recordOf(kind, each, { reply, verdict, fallback, action: call.id });
        for (const body of bodiesOf(reply, { ...record, ...(isNew ? { input: parameters } : {}) }, deps))
          deps.append(body, call.cause);
        if (verdict.outcome === 'refused') throw hookRefused(call, nameOf(each.hook), verdict.reason);
      }
      return parameters;
    },
    async after(call, result) {
      const kind = 'after_action';
      const records: HookEvent[] = [];
      let output = result;
      for (const each of listOf(kind)) {
        const reply = await ask(kind, each, { action: actionOf(call), result: output }, call.signal);
        const { verdict, fallback } = judge(kind, each, reply, { now: output });
        if (verdict.outcome === 'changed') output = verdict.to;
        const record = recordOf(kind, each, { reply, verdict, fallback, action: call.id });
        // The cost is charged at once, because the next hook is charged from what is left.
        for (const body of bodiesOf(reply, record, deps))
          if (body.type === 'hook.ran') records.push(body);
          else deps.append(body, call.cause);
      }
      return { output, records };
    },
    async notify(kind, subject, signal, cause) {
      for (const each of listOf(kind)) {
        if (markOf(kind, each, subject.action?.id) !== undefined) continue;
        const reply = await ask(kind, each, subject, signal);
        const action = subject.action?.id;
        const record = recordOf(kind, each, { reply, verdict: PASSED, fallback: reply.fallback, action });
        for (const body of bodiesOf(reply, record, deps)) deps.append(body, cause);
      }
    },
  };
}

const PASSED: HookVerdict = { outcome: 'passed' };

const place = (list: HookLists[HookKind] | undefined, of: string): readonly PlacedHook[] =>
  (list ?? []).map((hook, index) => ({ hook, of, index }));

const actionOf = ({ id, kind, name, parameters }: HookedCall) => ({ id, kind, name, parameters });

function payloadOf(
  hook: HookKind,
  { agent, session, run, turn, metadata, variables }: HookContext,
  { action, result, error, turn: coming = turn }: HookSubject,
): JsonObject {
  return {
    hook,
    agent,
    ...(session === undefined ? {} : { session }),
    ...(run === undefined ? {} : { run }),
    ...(coming === undefined ? {} : { turn: coming }),
    ...(action === undefined ? {} : { action }),
    ...(result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error: error as unknown as JsonObject }), // an ErrorJson is plain data
    metadata,
    variables,
  };
}

/**
 * The effective answer. An unusable answer is replaced by the fallback, and an unusable fallback by the safe
 * choice.
 */
function judge(
  kind: 'before_action' | 'after_action',
  { hook }: PlacedHook,
  { answer, fallback }: HookReply,
  asked: { readonly now: Json; readonly check?: CheckParameters | undefined },
): { readonly verdict: HookVerdict; readonly fallback: string | undefined } {
  const read = readAnswer(kind, answer, asked);
  if (read.ok) return { verdict: read.value, fallback };
  const problem = fallback ?? read.error;
  const second = readAnswer(kind, hook.fallback, asked);
  if (second.ok) return { verdict: second.value, fallback: problem };
  const reason = `neither its answer nor its fallback can be used: ${second.error}`;
  const verdict: HookVerdict = kind === 'before_action' ? { outcome: 'refused', reason } : PASSED;
  return { verdict, fallback: problem === second.error ? problem : `${problem}; ${second.error}` };
}

function recordOf(
  hook: HookKind,
  { hook: asked, of, index }: PlacedHook,
  came: {
    readonly reply: HookReply;
    readonly verdict: HookVerdict;
    readonly fallback: string | undefined;
    readonly action: string | undefined;
  },
): HookRecord {
  const { reply, verdict, fallback, action } = came;
  return {
    hook,
    of,
    index,
    by: nameOf(asked),
    ...(action === undefined ? {} : { action }),
    outcome: verdict.outcome,
    ...(verdict.outcome === 'refused' ? { reason: verdict.reason } : {}),
    ...(fallback === undefined ? {} : { fallback }),
    ms: reply.ms,
  };
}

/** The events of a hook: the question to an artifact and its cost, then the result. */
function bodiesOf({ invoked }: HookReply, record: HookRecord, { balance }: HookDeps): readonly HookEvent[] {
  const ran: HookEvent = { type: 'hook.ran', ...record };
  if (invoked === undefined) return [ran];
  const left = balance();
  return [
    { type: 'invoke', ...invoked },
    ...(left === undefined || invoked.cost === 0
      ? []
      : [
          {
            type: 'budget.charged',
            what: 'artifact',
            amount: invoked.cost,
            balance: left - invoked.cost,
          } as const,
        ]),
    ran,
  ];
}

/** The effect of a hook's answer. */
export type HookVerdict =
  | { readonly outcome: 'passed' }
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'changed'; readonly to: Json };

/** The current parameters or result, which the answer may change. */
export interface HookInput {
  readonly now: Json;
  readonly check?: CheckParameters | undefined;
}

/** The maximum length of a reason shown to a model. */
const MAX_REASON = 2_000;
const NO_REASON = 'it gave no reason';
const PASSED_ANSWER: HookVerdict = { outcome: 'passed' };

/** Interprets an answer. The error says why it cannot be used. The fallback counts then. Pure. */
export function readAnswer(hook: HookKind, answer: Json, asked: HookInput): Result<HookVerdict, string> {
  switch (hook) {
    case 'before_turn':
    case 'after_turn':
    case 'on_error':
      return ok(PASSED_ANSWER); // these hooks only observe
    case 'before_action':
      return readBefore(answer, asked);
    case 'after_action':
      return readAfter(answer, asked);
  }
}

function readBefore(answer: Json, { now, check }: HookInput): Result<HookVerdict, string> {
  if (answer === null || answer === true) return ok(PASSED_ANSWER);
  if (answer === false) return ok({ outcome: 'refused', reason: NO_REASON });
  if (isPlainObject(answer)) {
    const { refuse, parameters } = answer as JsonObject;
    if (typeof refuse === 'string' || refuse === true)
      return ok({ outcome: 'refused', reason: refuse === true ? NO_REASON : reasonOf(refuse) });
    if (isPlainObject(parameters)) return readChanged(parameters as JsonObject, now, check);
  }
  return err(unusable(answer, 'nothing, true, false, {"refuse": "why"} or {"parameters": {…}}'));
}

function readChanged(
  to: JsonObject,
  now: Json,
  check: CheckParameters | undefined,
): Result<HookVerdict, string> {
  if (deepEqual(to, now)) return ok(PASSED_ANSWER);
  const problem = check?.(to);
  return problem === undefined
    ? ok({ outcome: 'changed', to })
    : err(`the parameters it gave do not fit: ${problem.message}`);
}

function readAfter(answer: Json, { now }: HookInput): Result<HookVerdict, string> {
  if (answer === null || answer === true) return ok(PASSED_ANSWER);
  const result = isPlainObject(answer) ? (answer as JsonObject).result : undefined;
  if (result !== undefined)
    return ok(deepEqual(result, now) ? PASSED_ANSWER : { outcome: 'changed', to: result });
  return err(unusable(answer, 'nothing, true or {"result": …}'));
}

const reasonOf = (text: string): string => clip(text.trim(), MAX_REASON) || NO_REASON;

const unusable = (answer: Json, allowed: string): string =>
  `it answered ${clip(showValue(answer), 200)}; a hook here answers ${allowed}`;

export interface AskHookDeps {
  readonly command: RunCommand;
  /** Without it, every invocation uses its fallback. */
  readonly invoke?: Invoke | undefined;
  readonly context: () => DecisionContext;
  readonly note?: ((what: string) => void) | undefined;
  readonly clock: Clock;
}

export interface HookQuestion {
  readonly kind: HookKind;
  readonly payload: JsonObject;
  /** The same whenever this hook runs for the same call or turn. */
  readonly key: string;
  readonly signal: AbortSignal;
}

/** A hook's answer, or why its fallback counts. */
export interface HookReply {
  readonly answer: Json;
  readonly fallback?: string;
  readonly ms: number;
  /** Set if an artifact was asked. */
  readonly invoked?: InvokeRecord;
}

const DEFAULT_TIMEOUT_MS = 10_000;
/** The maximum output of a command. */
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_NAME = 120;
/** A script file as the first argument: `guard.mjs`, `hooks/check.py`. */
const SCRIPT_FILE = /^[\w./-]{1,80}\.[a-z]{1,4}$/;

/**
 * The name of a hook for the log and the model: `gate.may_start`, or a program and its script file. Other
 * arguments may hold secrets of the environment.
 */
const nameOf = (hook: Hook): string =>
  'invoke' in hook ? `${hook.invoke}.${hook.method}` : programOf(hook.command);

function programOf([program = '', first]: readonly string[]): string {
  return clip(first !== undefined && SCRIPT_FILE.test(first) ? `${program} ${first}` : program, MAX_NAME);
}

/** Runs one hook. Rejects only with the signal's reason. */
async function askHook(hook: Hook, question: HookQuestion, deps: AskHookDeps): Promise<HookReply> {
  const { signal } = question;
  signal.throwIfAborted();
  const began = deps.clock.monotonic();
  const since = () => Math.round(deps.clock.monotonic() - began);
  if ('invoke' in hook) return askArtifact(hook, question, deps, since);
  try {
    const answer = await askCommand(hook, question, deps);
    return { ...answer, ms: since() };
  } catch (thrown) {
    signal.throwIfAborted();
    return { answer: hook.fallback, fallback: toRuntimeError(thrown).message, ms: since() };
  }
}

async function askArtifact(
  hook: Extract<Hook, { readonly invoke: string }>,
  { kind, payload, signal }: HookQuestion,
  { invoke, context }: AskHookDeps,
  since: () => number,
): Promise<HookReply> {
  if (invoke === undefined)
    return { answer: hook.fallback, fallback: 'artifacts cannot be asked here', ms: since() };
  const invocation = { ...hook, args: [payload, ...hook.args] };
  const wanted = { type: 'any' } as const;
  const invoked = await invoke({
    where: `hook ${kind}`,
    invocation,
    expected: wanted,
    context: context(),
    signal,
  });
  const reason = invoked.fallback === undefined ? {} : { fallback: invoked.fallback.message };
  return { answer: invoked.result, ...reason, ms: since(), invoked };
}

async function askCommand(
  { command, cwd, env, timeout, fallback }: Extract<Hook, { readonly command: unknown }>,
  { kind, payload, key, signal }: HookQuestion,
  deps: AskHookDeps,
): Promise<Pick<HookReply, 'answer' | 'fallback'>> {
  const what = `the ${kind} hook "${programOf(command)}"`;
  const ended = await deps.command(
    {
      what,
      command,
      cwd,
      signal,
      env: { ...env, TELLTALE_HOOK: kind, TELLTALE_IDEMPOTENCY_KEY: key },
      stdin: `${JSON.stringify(payload)}\n`,
      maxBytes: MAX_ANSWER_BYTES,
      timeoutMs: timeout?.ms ?? DEFAULT_TIMEOUT_MS,
    },
    deps.note === undefined ? {} : { note: deps.note },
  );
  if (ended.exitCode !== 0) return { answer: fallback, fallback: commandFailed(what, ended).message };
  if (ended.stdout.dropped > 0) return { answer: fallback, fallback: 'it printed more than 1 MiB' };
  const text = ended.stdout.text().trim();
  if (text === '') return { answer: null };
  try {
    return { answer: JSON.parse(text) as Json };
  } catch {
    return { answer: fallback, fallback: `it printed ${clip(JSON.stringify(text), 200)}, which is no JSON` };
  }
}
