import type { FallbackReason } from '../../lib/calls.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';

export const artifactUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('artifact_unknown', `No artifact is named "${name}".`, {
    hint:
      known.length === 0
        ? 'There are none in this store yet.'
        : suggest(name, known, 'Artifacts of this store'),
  });

export const versionUnknown = (name: string, version: number, newest: number) =>
  new RuntimeError('artifact_unknown', `The artifact "${name}" has no version ${version}.`, {
    hint: newest === 1 ? 'It has one version: 1.' : `Its versions are 1 to ${newest}.`,
  });

export const genesisFixed = (name: string) =>
  new RuntimeError('not_permitted', `The artifact "${name}" is read-only.`, {
    hint: `Names that begin with "${GENESIS_PREFIX}" are reserved for the runtime. Use another name.`,
  });

export const badArtifactName = (name: string) =>
  new RuntimeError('bad_artifact', `"${name.slice(0, 200)}" is not a valid artifact name.`, {
    hint: 'Use letters, digits, "_" and "-", start with a letter or "_", and use at most 128 characters.',
  });

export const sourceTooLarge = (name: string, chars: number, most: number) =>
  new RuntimeError('bad_artifact', `The source of "${name}" has ${chars} characters; ${most} are allowed.`, {
    hint: 'Keep decisions small: pass data in the context or the arguments.',
  });

export const tooManyMethods = (name: string, most: number) =>
  new RuntimeError('bad_artifact', `"${name}" names more than ${most} methods.`, {
    hint: 'Split it into several artifacts.',
  });

export const methodMissing = (name: string, method: string, found: readonly string[]) =>
  new RuntimeError('bad_artifact', `The source of "${name}" defines no function "${method}".`, {
    hint: `${found.length === 0 ? '' : `It defines: ${found.join(', ')}. `}Write "export function ${method}(argument, context) { … }".`,
  });

export const badMethodName = (name: string, method: string) =>
  new RuntimeError(
    'bad_artifact',
    `"${method.slice(0, 200)}" is not a valid name for a method of "${name}".`,
    {
      hint: 'Use letters, digits and "_". Reserved words and names that every object has are not allowed.',
    },
  );

export const badSource = (name: string, cause: RuntimeError) =>
  new RuntimeError('bad_artifact', `The source of "${name}" cannot be used. ${cause.message}`, {
    hint: cause.hint ?? 'Correct the source, and write it again.',
    cause,
  });

export const tooManyVersions = (name: string, most: number) =>
  new RuntimeError('bad_artifact', `The artifact "${name}" already has ${most} versions.`, {
    hint: 'Write it under another name.',
  });

export const writtenMeanwhile = (name: string) =>
  new RuntimeError(
    'conflict',
    `The artifact "${name}" is being written by too many others at the same time.`,
    {
      hint: 'Read it again, then write.',
      retryable: true,
    },
  );

const GENESIS_PREFIX = 'genesis_';

/** Whether it is one of the runtime's own artifacts, which are read-only and free. */
export const isGenesis = (name: string): boolean => name.startsWith(GENESIS_PREFIX);

/** Its answers are never cached, whatever the invocation says. */
export const NEVER_CACHED = 'genesis_random_decider';

const genesis = (
  name: string,
  description: string,
  methods: readonly string[],
  source: string,
): readonly [string, ArtifactVersion] => [
  name,
  { name, version: 1, language: 'js', source, methods, description, author: 'genesis', at: 0 },
];

/**
 * The context is the last argument, so in a call without arguments it comes first. That is why a setting is looked up
 * by its key, never by its position alone.
 */
export const GENESIS: ReadonlyMap<string, ArtifactVersion> = new Map([
  genesis(
    NEVER_CACHED,
    'Decides by chance: decide(probability), decide_option({options, weights}).',
    ['decide', 'decide_option'],
    `export function decide(setting) {
  const probability = typeof setting === 'number' ? setting : (setting?.probability ?? 0.5);
  if (typeof probability !== 'number' || !(probability >= 0 && probability <= 1))
    throw new RangeError('decide(probability) takes a number from 0 to 1.');
  return Math.random() < probability;
}
export function decide_option(setting) {
  const { options, weights } = setting ?? {};
  if (!Array.isArray(options) || options.length === 0)
    throw new TypeError('decide_option({options, weights}) takes a list of options that is not empty.');
  const shares = weights ?? options.map(() => 1);
  if (!Array.isArray(shares) || shares.length !== options.length || shares.some((share) => !(share >= 0)))
    throw new TypeError('"weights" is a list of numbers from 0 on, one for each option.');
  const total = shares.reduce((sum, share) => sum + share, 0);
  if (!(total > 0)) throw new RangeError('One of "weights" has to be above 0.');
  let left = Math.random() * total;
  for (let index = 0; index < options.length; index++) {
    left -= shares[index];
    if (left < 0) return options[index];
  }
  return options[shares.findLastIndex((share) => share > 0)];
}`,
  ),
  genesis(
    'genesis_balance_checker',
    'Looks at the balance: check({threshold}), compare({op, value}).',
    ['check', 'compare'],
    `const NONE = { success: false, error: 'the agent has no budget' };
export function check(setting, context) {
  const { threshold } = setting ?? {};
  const balance = (context ?? setting)?.balance;
  if (typeof threshold !== 'number') throw new TypeError('check({threshold}) takes a number.');
  return typeof balance === 'number' ? balance > threshold : NONE;
}
const OPS = {
  lt: (a, b) => a < b, lte: (a, b) => a <= b, gt: (a, b) => a > b, gte: (a, b) => a >= b, eq: (a, b) => a === b,
};
export function compare(setting, context) {
  const { op, value } = setting ?? {};
  const balance = (context ?? setting)?.balance;
  if (!Object.hasOwn(OPS, op) || typeof value !== 'number')
    throw new TypeError('compare({op, value}) takes op lt, lte, gt, gte or eq, and a number.');
  return typeof balance === 'number' ? OPS[op](balance, value) : NONE;
}`,
  ),
  genesis(
    'genesis_error_detector',
    'Looks for errors: check_recent({count: 3}), get_error_rate({count: 10, threshold: 0.5}).',
    ['check_recent', 'get_error_rate'],
    `const BAD = ['failed', 'interrupted'];
const last = (setting, context, otherwise) => {
  const count = (context === undefined ? undefined : setting?.count) ?? otherwise;
  if (!Number.isInteger(count) || count < 1) throw new RangeError('"count" is a whole number from 1 on.');
  const ended = ((context ?? setting)?.recent_actions ?? []).filter(
    ({ status }) => status === 'completed' || status === 'compensated' || BAD.includes(status),
  );
  return ended.slice(-count);
};
export function check_recent(setting, context) {
  return last(setting, context, 3).some(({ status }) => BAD.includes(status));
}
export function get_error_rate(setting, context) {
  const recent = last(setting, context, 10);
  const bad = recent.filter(({ status }) => BAD.includes(status)).length;
  const rate = recent.length === 0 ? 0 : bad / recent.length;
  const threshold = context === undefined ? undefined : setting?.threshold;
  return threshold === undefined ? rate : rate >= threshold;
}`,
  ),
  genesis(
    'genesis_majority',
    'A vote among artifacts: vote({artifacts, method, args}), choose({artifacts, method, args}).',
    ['vote', 'choose'],
    `const ballots = (setting) => {
  const { artifacts, method, args = [] } = setting ?? {};
  if (!Array.isArray(artifacts) || artifacts.length === 0)
    throw new TypeError('"artifacts" is a list of names, or of {artifact, method, args}, that is not empty.');
  return artifacts.map((voter) => {
    const own = typeof voter === 'string' ? { artifact: voter } : voter;
    const name = own.method ?? method;
    if (typeof name !== 'string') throw new TypeError('"method" says which method of the artifacts is asked.');
    try {
      return { given: invoke(own.artifact, name, ...(own.args ?? args)) };
    } catch {
      return {};
    }
  });
};
export function vote(setting) {
  const all = ballots(setting);
  return all.filter(({ given }) => given === true).length * 2 > all.length;
}
export function choose(setting) {
  const counts = new Map();
  for (const { given } of ballots(setting))
    if (typeof given === 'string') counts.set(given, (counts.get(given) ?? 0) + 1);
  let best;
  for (const [given, count] of counts) if (best === undefined || count > counts.get(best)) best = given;
  return best ?? { success: false, error: 'nobody gave an answer' };
}`,
  ),
]);

/** One version of an artifact. Versions are immutable and never deleted. */
export interface ArtifactVersion {
  readonly name: string;
  /** Counts from 1. */
  readonly version: number;
  readonly language: 'js';
  readonly source: string;
  readonly methods: readonly string[];
  readonly description?: string;
  /** `manifest`, `genesis`, or its author: `agent:NAME`, `user`. */
  readonly author: string;
  /** The version it was made from. */
  readonly parent?: number;
  /** The old version it restores, if any. */
  readonly restores?: number;
  readonly at: number;
}

export interface ArtifactDraft {
  readonly name: string;
  readonly source: string;
  readonly methods: readonly string[];
  readonly description?: string;
}

/** The artifacts of a store, shared by everyone who uses it. */
export interface Artifacts {
  /** Reads the newest version, or the given one. */
  read(name: string, version?: number): Promise<ArtifactVersion | undefined>;
  /** All versions, oldest first. */
  versions(name: string): Promise<readonly ArtifactVersion[]>;
  names(): Promise<readonly string[]>;
  /** Writes a new version. Rejects with what is wrong with the source, or if `author` may not write. */
  write(draft: ArtifactDraft, author: string): Promise<ArtifactVersion>;
  /** Restores an old version, as a new one. */
  rollback(name: string, to: number, author: string): Promise<ArtifactVersion>;
  /**
   * Writes a manifest's artifact as version 1 if there is none yet. If the newest version came from a manifest, too, a
   * changed manifest becomes a new version. Changes that someone else has made since then stay. If they rolled back to
   * a manifest's version, only content that no manifest had before becomes a new version, so nobody gets back what they
   * rolled back from.
   */
  seed(draft: ArtifactDraft): Promise<void>;
}

/** The last argument of every decision. */
export interface DecisionContext extends JsonObject {
  readonly agent_id: string;
  readonly current_state: string | null;
  readonly step_name: string | null;
  readonly balance: number | null;
  /** The share of recent actions or steps that succeeded. 1 if there are none. */
  readonly success_rate: number;
  /** The last 10. */
  readonly recent_actions: JsonObject[];
  readonly last_result: Json;
  readonly metadata: JsonObject;
  readonly variables: JsonObject;
}

export interface ArtifactCall {
  readonly artifact: string;
  readonly method: string;
  readonly args: readonly Json[];
  readonly context: DecisionContext;
  /** Seeds `Math.random`: the same seed gives the same answer. */
  readonly seed: string;
  readonly signal: AbortSignal;
  /** Its newest version, if the caller has just read it. */
  readonly newest?: ArtifactVersion | undefined;
}

export type ArtifactAnswer =
  | {
      readonly ok: true;
      readonly value: Json;
      readonly version: number;
      readonly ms: number;
      /**
       * The artifacts it called, with their versions (0 for a missing one). The answer is valid as long as these are
       * the newest.
       */
      readonly asked?: readonly { readonly artifact: string; readonly version: number }[];
    }
  | {
      readonly ok: false;
      readonly reason: FallbackReason;
      readonly message: string;
      readonly version?: number;
      readonly ms: number;
    };

/** Calls an artifact in the sandbox. Rejects only with the signal's reason. */
export type CallArtifact = (call: ArtifactCall) => Promise<ArtifactAnswer>;
