import type { Clock } from '../../kernel/clock.ts';
import type { InvokeRecord } from '../../kernel/invoke-record.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import type { DecisionContext } from '../../targets/artifacts/artifacts.ts';
import type { Invoke } from '../../targets/artifacts/invoker.ts';
import type { RunCommand } from '../../targets/process/command-request.ts';
import { commandFailed } from '../../targets/process/process-errors.ts';
import type { Hook, HookKind } from './hook-types.ts';

export interface AskDeps {
  readonly command: RunCommand;
  /** Without it every invocation comes to its fallback. */
  readonly invoke?: Invoke | undefined;
  readonly context: () => DecisionContext;
  readonly note?: ((what: string) => void) | undefined;
  readonly clock: Clock;
}

export interface HookQuestion {
  readonly kind: HookKind;
  readonly payload: JsonObject;
  /** The same whenever this hook is asked about the same. */
  readonly key: string;
  readonly signal: AbortSignal;
}

/** What a hook said, or why its fallback counts. */
export interface HookReply {
  readonly answer: Json;
  readonly fallback?: string;
  readonly ms: number;
  /** Where an artifact was asked. */
  readonly invoked?: InvokeRecord;
}

const DEFAULT_TIMEOUT_MS = 10_000;
/** Of what a command prints. */
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_NAME = 120;
/** A file that an interpreter is given: `guard.mjs`, `hooks/check.py`. */
const SCRIPT_FILE = /^[\w./-]{1,80}\.[a-z]{1,4}$/;

/**
 * What is asked, for the log and for the model: `gate.may_start`, or the program, with the file it runs. Its further
 * arguments may hold secrets of the environment.
 */
export const nameOf = (hook: Hook): string =>
  'invoke' in hook ? `${hook.invoke}.${hook.method}` : programOf(hook.command);

function programOf([program = '', first]: readonly string[]): string {
  return clip(first !== undefined && SCRIPT_FILE.test(first) ? `${program} ${first}` : program, MAX_NAME);
}

/** Asks one hook. Rejects with the signal's reason, and with nothing else. */
export async function askHook(hook: Hook, question: HookQuestion, deps: AskDeps): Promise<HookReply> {
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
  { invoke, context }: AskDeps,
  since: () => number,
): Promise<HookReply> {
  if (invoke === undefined)
    return { answer: hook.fallback, fallback: 'artifacts cannot be asked here', ms: since() };
  const invocation = { ...hook, args: [payload, ...hook.args] };
  const wanted = { type: 'any' } as const;
  const invoked = await invoke({ where: `hook ${kind}`, invocation, wanted, context: context(), signal });
  const reason = invoked.fallback === undefined ? {} : { fallback: invoked.fallback.message };
  return { answer: invoked.result, ...reason, ms: since(), invoked };
}

async function askCommand(
  { command, cwd, env, timeout, fallback }: Extract<Hook, { readonly command: unknown }>,
  { kind, payload, key, signal }: HookQuestion,
  deps: AskDeps,
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
