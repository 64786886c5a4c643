import { hash } from 'node:crypto';
import type { FallbackReason } from '../../lib/calls.ts';
import type { Clock } from '../../lib/clock.ts';
import { toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import {
  ARTIFACT_LIMITS,
  artifactModule,
  CALL_METHOD,
  MAX_ARTIFACT_DEPTH,
  MAX_ARTIFACT_QUESTIONS,
  MAX_ARTIFACT_WAIT_MS,
  parseReply,
  type ScriptReply,
  unwrapAnswer,
} from './artifact-module.ts';
import type { ArtifactAnswer, ArtifactCall, Artifacts, ArtifactVersion, CallArtifact } from './artifacts.ts';

export interface CallArtifactDeps {
  readonly artifacts: Pick<Artifacts, 'read'>;
  readonly sandbox: Sandbox;
  readonly clock: Pick<Clock, 'monotonic'>;
}

type CallArtifactFailure = {
  readonly reason: FallbackReason;
  readonly message: string;
  readonly version?: number;
};
type UntimedAnswer =
  | { readonly ok: true; readonly value: Json; readonly version: number }
  | ({ readonly ok: false } & CallArtifactFailure);

/** What one decision has used up, including the artifacts it called. */
interface DecisionUsage {
  questions: number;
  leftMs: number;
  readonly asked: Map<string, number>;
}

/**
 * Calls artifacts in the sandbox, without a clock or any access to the outside. Randomness comes only from the seed.
 */
export function createCallArtifact({ artifacts, sandbox, clock }: CallArtifactDeps): CallArtifact {
  /** Modules by version. Versions never change. */
  const modules = new WeakMap<ArtifactVersion, string>();
  const moduleOf = (version: ArtifactVersion): string => {
    const known = modules.get(version);
    if (known !== undefined) return known;
    const made = artifactModule(version);
    modules.set(version, made);
    return made;
  };

  const say = async (
    { artifact, method, args, context, seed, signal }: ArtifactCall,
    module: string,
    answers: readonly JsonObject[],
    tree: DecisionUsage,
  ): Promise<ScriptReply> => {
    const json = await sandbox.run({
      what: `artifact "${artifact}"`,
      module,
      source: CALL_METHOD,
      globals: { call: { method, args: [...args, context], answers: [...answers] } },
      limits: { ...ARTIFACT_LIMITS, timeMs: Math.max(1, Math.ceil(tree.leftMs)) },
      now: 0,
      seed: seedOf(seed),
      signal,
      waitMs: MAX_ARTIFACT_WAIT_MS,
      onTime(ms) {
        tree.leftMs -= ms;
      },
    });
    return parseReply(json);
  };

  const ask = async (
    call: ArtifactCall,
    chain: readonly string[],
    tree: DecisionUsage,
  ): Promise<UntimedAnswer> => {
    const { artifact, method, signal } = call;
    const found = (chain.length === 1 ? call.newest : undefined) ?? (await artifacts.read(artifact));
    if (chain.length > 1) tree.asked.set(artifact, found?.version ?? 0);
    if (found === undefined)
      return { ok: false, reason: 'missing', message: `No artifact is named "${artifact}".` };
    const { version } = found;
    const failed = (reason: FallbackReason, message: string): UntimedAnswer => ({
      ok: false,
      reason,
      message,
      version,
    });
    if (!found.methods.includes(method)) return failed('no_method', noMethod(found, method));
    const answers: JsonObject[] = [];
    for (;;) {
      let said: ScriptReply;
      try {
        said = await say(call, moduleOf(found), answers, tree);
      } catch (thrown) {
        signal.throwIfAborted();
        const error = toRuntimeError(thrown);
        return failed(REASONS[error.code] ?? 'unavailable', readableMessage(error.message));
      }
      if ('no_method' in said) return failed('no_method', notDefined(found, method));
      if (!('wanted' in said))
        return said.value === undefined
          ? failed('wrong_type', `The method "${method}" of "${artifact}" returned nothing.`)
          : { ok: true, value: said.value, version };
      const { wanted } = said;
      if (chain.includes(wanted.artifact))
        return failed(
          'cycle',
          `Artifacts ask one another in a circle: ${[...chain, wanted.artifact].join(' → ')}.`,
        );
      if (chain.length > MAX_ARTIFACT_DEPTH)
        return failed(
          'depth',
          `Artifacts ask one another too deep: ${[...chain, wanted.artifact].join(' → ')}.`,
        );
      if (tree.questions++ >= MAX_ARTIFACT_QUESTIONS)
        return failed('failed', `It calls other artifacts more than ${MAX_ARTIFACT_QUESTIONS} times.`);
      if (tree.leftMs <= 0)
        return failed(
          'timeout',
          `It took more than ${ARTIFACT_LIMITS.timeMs} ms , including the artifacts it called.`,
        );
      const inner = await ask(
        { ...call, ...wanted, seed: `${call.seed}/${answers.length}` },
        [...chain, wanted.artifact],
        tree,
      );
      // A cycle or too deep a chain cannot be handled by the calling artifact, so the whole call fails.
      if (!inner.ok && (inner.reason === 'cycle' || inner.reason === 'depth')) return { ...inner, version };
      answers.push(answerForCaller(inner));
    }
  };

  return async (call) => {
    call.signal.throwIfAborted();
    const began = clock.monotonic();
    const tree: DecisionUsage = { questions: 0, leftMs: ARTIFACT_LIMITS.timeMs, asked: new Map() };
    const answer = await ask(call, [call.artifact], tree);
    const timed = {
      ...answer,
      ms: Math.round((clock.monotonic() - began) * 1000) / 1000,
    } satisfies ArtifactAnswer;
    if (!answer.ok || tree.asked.size === 0) return timed;
    return { ...timed, asked: [...tree.asked].map(([artifact, version]) => ({ artifact, version })) };
  };
}

function answerForCaller(answer: UntimedAnswer): JsonObject {
  if (!answer.ok) return { error: answer.message };
  const unwrapped = unwrapAnswer(answer.value);
  return unwrapped.ok ? { value: unwrapped.value } : { error: unwrapped.error };
}

const REASONS: Readonly<Record<string, FallbackReason>> = {
  script_error: 'threw',
  script_timeout: 'timeout',
  script_memory: 'memory',
  output_too_large: 'too_large',
  bad_output: 'wrong_type',
};

/** The sandbox returns the answer inside an object, which messages must not reveal. */
const readableMessage = (message: string): string =>
  message.replace('"/value"', 'it').replace('"/value/', '"/');

const noMethod = ({ name, methods }: ArtifactVersion, method: string): string =>
  `The artifact "${name}" has no method "${method}". ${suggest(method, methods, 'It has')}`;

const notDefined = ({ name }: ArtifactVersion, method: string): string =>
  `The source of the artifact "${name}" defines no function "${method}".`;

/** A 48-bit number that seeds `Math.random` in the sandbox. */
const seedOf = (seed: string): number => Number.parseInt(hash('sha256', seed, 'hex').slice(0, 12), 16);
