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
  /** Undefined if the agent has no budget, so nothing costs anything. */
  readonly balance: () => number | undefined;
  /** The id of the session or run. Together with the call's number it is the seed. */
  readonly id: string;
  /** How many calls came before. After a restart the numbers continue. */
  readonly calls?: number;
}

/** The most cached answers of one session or run. The oldest is dropped first. */
const MAX_CACHED = 1_000;

interface CachedAnswer {
  readonly value: Json;
  readonly version: number;
  readonly asked: readonly { readonly artifact: string; readonly version: number }[];
}

/** Creates an `Invoke`, one for each session and each run. */
export function createInvoke({ call, artifacts, cost, balance, id, calls = 0 }: InvokeDeps): Invoke {
  const cache = new Map<string, CachedAnswer>();
  let number = calls;
  /** The cost of running calls that are not paid yet, so that two at once cannot spend the same money. */
  let reserved = 0;

  const stillHolds = async ({ asked }: CachedAnswer): Promise<boolean> => {
    for (const { artifact, version } of asked)
      if (((await artifacts.read(artifact))?.version ?? 0) !== version) return false;
    return true;
  };
  const remembered = async (key: string | undefined): Promise<CachedAnswer | undefined> => {
    const kept = key === undefined ? undefined : cache.get(key);
    return kept !== undefined && (await stillHolds(kept)) ? kept : undefined;
  };
  const remember = (key: string, kept: CachedAnswer) => {
    cache.delete(key);
    const [oldest] = cache.keys();
    if (cache.size >= MAX_CACHED && oldest !== undefined) cache.delete(oldest);
    cache.set(key, kept);
  };

  const ask = async (question: InvokeRequest): Promise<InvokeRecord> => {
    const { where, invocation, expected: wanted, context, signal } = question;
    const { invoke: artifact, method, args, cache: mayCache } = invocation;
    const seed = `${id}#${number++}`;
    const record = { where, artifact, method, args };
    const fallback = (
      reason: FallbackReason,
      message: string,
      spent: AnswerCost = NOTHING,
    ): InvokeRecord => ({
      ...record,
      ...(spent.version === undefined ? {} : { version: spent.version }),
      result: invocation.fallback,
      fallback: { reason, message },
      cached: false,
      ms: spent.ms,
      cost: spent.cost,
    });
    if (question.unavailable !== undefined) return fallback('unavailable', question.unavailable);
    const newest = await artifacts.read(artifact);
    const isCached = mayCache && artifact !== NEVER_CACHED && newest !== undefined;
    const about = () => hash([artifact, newest?.version, method, args, context]);
    const key = isCached ? about() : undefined;
    const kept = await remembered(key);
    const judged = (value: Json, spent: AnswerCost, cached: boolean): InvokeRecord => {
      const meant = unwrapAnswer(value);
      if (!meant.ok) return fallback('failed', `The artifact "${artifact}" failed: ${meant.error}.`, spent);
      const wrong = mismatch(meant.value, wanted);
      if (wrong !== undefined) return fallback('wrong_type', wrongAnswer(artifact, method, wrong), spent);
      const { version = 0, ms, cost: paid } = spent;
      return { ...record, version, result: meant.value, cached, ms, cost: paid };
    };
    if (kept !== undefined) return judged(kept.value, { version: kept.version, ms: 0, cost: 0 }, true);

    const left = balance();
    const price = left === undefined || isGenesis(artifact) ? 0 : cost;
    if (left !== undefined && price > 0 && left - reserved < price)
      return fallback('unaffordable', `A call costs ${price}, and the balance is ${left - reserved}.`);
    reserved += price;
    try {
      const answer = await call({ artifact, method, args, context, seed, signal, newest });
      const ran = answer.ok || !NOT_RUN.has(answer.reason);
      const spent: AnswerCost = { version: answer.version, ms: answer.ms, cost: ran ? price : 0 };
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
      reserved -= price;
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

interface AnswerCost {
  readonly version?: number | undefined;
  readonly ms: number;
  readonly cost: number;
}

const NOTHING: AnswerCost = { ms: 0, cost: 0 };
/** The reasons for which nothing ran, so nothing is charged. */
const NOT_RUN: ReadonlySet<FallbackReason> = new Set(['missing', 'no_method', 'unavailable']);

const MAX_NAMES = 1_000;

/** Describes how an answer differs from what was expected. Undefined if it fits. */
function mismatch(value: Json, wanted: ExpectedAnswer): string | undefined {
  const instead = (words: string) => `${clip(showValue(value), 200)}, but ${words} is needed`;
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

/** A decision that an artifact makes, as manifests write it. */
export interface Invocation<Fallback = Json> {
  readonly invoke: string;
  readonly method: string;
  readonly args: readonly Json[];
  readonly cache: boolean;
  readonly fallback: Fallback;
}

/** The answers that the caller accepts. Anything else counts as the fallback. */
export type ExpectedAnswer =
  | { readonly type: 'boolean' | 'string' | 'names' | 'any' }
  /** A verdict on work: true, false, or an assessment, alone or as `{assessment, reasoning?, instruction?}`. */
  | { readonly type: 'verdict' }
  /** One of these texts: `true` matches true, `3` matches 3. */
  | { readonly type: 'one_of'; readonly values: readonly string[] };

export interface InvokeRequest {
  /** What is being decided, for the log: `step build: condition`. */
  readonly where: string;
  readonly invocation: Invocation;
  /** Why it cannot be called at all, if the caller already knows. The fallback counts. */
  readonly unavailable?: string;
  readonly expected: ExpectedAnswer;
  readonly context: DecisionContext;
  readonly signal: AbortSignal;
}

/**
 * Calls artifacts for one session or run, with its cache, balance and seed. The caller puts the returned record on the
 * log and charges its cost; the answer is `result`. Rejects only with the signal's reason.
 */
export type Invoke = (question: InvokeRequest) => Promise<InvokeRecord>;
