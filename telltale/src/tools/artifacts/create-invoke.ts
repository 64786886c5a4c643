import { createHash } from 'node:crypto';
import { asText } from '../../expressions/values.ts';
import type { FallbackReason, InvokeRecord } from '../../lib/calls.ts';
import { toRuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { clip, showValue } from '../../manifest/schema/show-value.ts';
import { unwrapAnswer } from './artifact-module.ts';
import {
  type Artifacts,
  type CallArtifact,
  type DecisionContext,
  isGenesis,
  NEVER_CACHED,
} from './artifacts.ts';

export interface InvokeDeps {
  readonly call: CallArtifact;
  readonly artifacts: Pick<Artifacts, 'read'>;
  /** `budget.costs.artifact`. */
  readonly cost: number;
  /** Undefined where the agent has no budget: then nothing costs anything. */
  readonly balance: () => number | undefined;
  /** The id of the session or run: with the number of the call it is the seed. */
  readonly id: string;
  /** How many calls there were before: after a restart the numbers go on. */
  readonly calls?: number;
}

/** Answers that one session or run remembers; the oldest goes. */
const MAX_CACHED = 1_000;

interface InvokeKept {
  readonly value: Json;
  readonly version: number;
  readonly asked: readonly { readonly artifact: string; readonly version: number }[];
}

/** See `Invoke`: one for each session and each run. */
export function createInvoke({ call, artifacts, cost, balance, id, calls = 0 }: InvokeDeps): Invoke {
  const cache = new Map<string, InvokeKept>();
  let number = calls;
  /** Calls that run and are not paid yet: two at once must not spend the same money. */
  let promised = 0;

  const stillHolds = async ({ asked }: InvokeKept): Promise<boolean> => {
    for (const { artifact, version } of asked)
      if (((await artifacts.read(artifact))?.version ?? 0) !== version) return false;
    return true;
  };
  const remembered = async (key: string | undefined): Promise<InvokeKept | undefined> => {
    const kept = key === undefined ? undefined : cache.get(key);
    return kept !== undefined && (await stillHolds(kept)) ? kept : undefined;
  };
  const remember = (key: string, kept: InvokeKept) => {
    cache.delete(key);
    const [oldest] = cache.keys();
    if (cache.size >= MAX_CACHED && oldest !== undefined) cache.delete(oldest);
    cache.set(key, kept);
  };

  const ask = async (question: Question): Promise<InvokeRecord> => {
    const { where, invocation, wanted, context, signal } = question;
    const { invoke: artifact, method, args, cache: mayCache } = invocation;
    const seed = `${id}#${number++}`;
    const record = { where, artifact, method, args };
    const fallback = (
      reason: FallbackReason,
      message: string,
      spent: InvokeSpent = NOTHING,
    ): InvokeRecord => ({
      ...record,
      ...(spent.version === undefined ? {} : { version: spent.version }),
      result: invocation.fallback,
      fallback: { reason, message },
      cached: false,
      ms: spent.ms,
      cost: spent.cost,
    });
    if (question.unasked !== undefined) return fallback('unavailable', question.unasked);
    const newest = await artifacts.read(artifact);
    const isCached = mayCache && artifact !== NEVER_CACHED && newest !== undefined;
    const about = () => hash([artifact, newest?.version, method, args, context]);
    const key = isCached ? about() : undefined;
    const kept = await remembered(key);
    const judged = (value: Json, spent: InvokeSpent, cached: boolean): InvokeRecord => {
      const meant = unwrapAnswer(value);
      if (!meant.ok) return fallback('failed', `The artifact "${artifact}" failed: ${meant.error}.`, spent);
      const wrong = unfit(meant.value, wanted);
      if (wrong !== undefined) return fallback('wrong_type', wrongAnswer(artifact, method, wrong), spent);
      const { version = 0, ms, cost: paid } = spent;
      return { ...record, version, result: meant.value, cached, ms, cost: paid };
    };
    if (kept !== undefined) return judged(kept.value, { version: kept.version, ms: 0, cost: 0 }, true);

    const left = balance();
    const price = left === undefined || isGenesis(artifact) ? 0 : cost;
    if (left !== undefined && price > 0 && left - promised < price)
      return fallback('unaffordable', `A call costs ${price}, and the balance is ${left - promised}.`);
    promised += price;
    try {
      const answer = await call({ artifact, method, args, context, seed, signal, newest });
      const ran = answer.ok || !NOT_RUN.has(answer.reason);
      const spent: InvokeSpent = { version: answer.version, ms: answer.ms, cost: ran ? price : 0 };
      if (!answer.ok) return fallback(answer.reason, answer.message, spent);
      const asked = answer.asked ?? [];
      if (
        key !== undefined &&
        answer.version === newest?.version &&
        !asked.some((each) => each.artifact === NEVER_CACHED)
      )
        remember(key, { value: answer.value, version: answer.version, asked });
      return judged(answer.value, spent, false);
    } finally {
      promised -= price;
    }
  };

  return async (question) => {
    const { invocation, where, signal } = question;
    signal.throwIfAborted();
    try {
      return await ask(question);
    } catch (thrown) {
      signal.throwIfAborted();
      const { invoke: artifact, method, args, fallback: result } = invocation;
      const { message } = toRuntimeError(thrown);
      const fallback = { reason: 'unavailable', message } as const;
      return { where, artifact, method, args, result, fallback, cached: false, ms: 0, cost: 0 };
    }
  };
}

interface InvokeSpent {
  readonly version?: number | undefined;
  readonly ms: number;
  readonly cost: number;
}

const NOTHING: InvokeSpent = { ms: 0, cost: 0 };
/** Nothing was run, so nothing is paid. */
const NOT_RUN: ReadonlySet<FallbackReason> = new Set(['missing', 'no_method', 'unavailable']);

const MAX_NAMES = 1_000;

/** What is wanted, and what came instead; undefined where it fits. */
function unfit(value: Json, wanted: Wanted): string | undefined {
  const instead = (words: string) => `${clip(showValue(value), 200)}, and ${words} is needed`;
  switch (wanted.type) {
    case 'any':
      return undefined;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : instead('true or false');
    case 'string':
      return typeof value === 'string' && value !== '' ? undefined : instead('text');
    case 'names':
      return Array.isArray(value) &&
        value.length <= MAX_NAMES &&
        value.every((each) => typeof each === 'string')
        ? undefined
        : instead('a list of names');
    case 'verdict':
      return isVerdict(value) ? undefined : instead(`${ASSESSMENTS.join(', ')}, true or false`);
    case 'one_of':
      return wanted.values.includes(asText(value))
        ? undefined
        : instead(`one of ${wanted.values.slice(0, 20).join(', ')}`);
  }
}

const ASSESSMENTS: readonly Json[] = ['pass', 'retry', 'escalate'];

function isVerdict(value: Json): boolean {
  if (typeof value === 'boolean' || ASSESSMENTS.includes(value)) return true;
  if (!isMap(value) || !ASSESSMENTS.includes((value.assessment ?? null) as Json)) return false;
  return [value.reasoning, value.instruction].every((said) => said === undefined || typeof said === 'string');
}

const wrongAnswer = (artifact: string, method: string, wrong: string): string =>
  `The method "${method}" of "${artifact}" answered ${wrong}.`;

const hash = (about: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(about)).digest('base64');

/** A decision that an artifact takes, as manifests write it. */
export interface Invocation<Fallback = Json> {
  readonly invoke: string;
  readonly method: string;
  readonly args: readonly Json[];
  readonly cache: boolean;
  readonly fallback: Fallback;
}

/** What a place takes for an answer; anything else is the fallback. */
export type Wanted =
  | { readonly type: 'boolean' | 'string' | 'names' | 'any' }
  /** Of work: true, false, or an assessment, alone or as `{assessment, reasoning?, instruction?}`. */
  | { readonly type: 'verdict' }
  /** Of these texts: `true` stands for true, `3` for 3. */
  | { readonly type: 'one_of'; readonly values: readonly string[] };

export interface Question {
  /** What is decided, for the log: `step build: condition`. */
  readonly where: string;
  readonly invocation: Invocation;
  /** Why it cannot be asked at all, where the caller knows already: the fallback counts. */
  readonly unasked?: string;
  readonly wanted: Wanted;
  readonly context: DecisionContext;
  readonly signal: AbortSignal;
}

/**
 * Asks artifacts for one session or one run: with its cache, its balance and its seed. What is returned is to be put on
 * the log, and its cost charged, by whoever asks; the answer is `result`. Never rejects but with the signal's reason.
 */
export type Invoke = (question: Question) => Promise<InvokeRecord>;
