import type { InvokeRecord } from '../../kernel/invoke-record.ts';
import type { Json } from '../../kernel/json.ts';
import type { DecisionContext } from './artifacts.ts';

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
