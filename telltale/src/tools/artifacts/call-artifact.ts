import { hash } from 'node:crypto';
import type { FallbackReason } from '../../lib/calls.ts';
import type { Clock } from '../../lib/clock.ts';
import { toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import {
  ARTIFACT_LIMITS,
  type ArtifactModuleSaid,
  artifactModule,
  CALL_METHOD,
  MAX_ARTIFACT_DEPTH,
  MAX_ARTIFACT_QUESTIONS,
  MAX_ARTIFACT_WAIT_MS,
  readSaid,
  unwrapAnswer,
} from './artifact-module.ts';
import type { ArtifactAnswer, ArtifactCall, Artifacts, ArtifactVersion, CallArtifact } from './artifacts.ts';

export interface CallDeps {
  readonly artifacts: Pick<Artifacts, 'read'>;
  readonly sandbox: Sandbox;
  readonly clock: Pick<Clock, 'monotonic'>;
}

type CallArtifactFailure = {
  readonly reason: FallbackReason;
  readonly message: string;
  readonly version?: number;
};
type CallArtifactAnswer =
  | { readonly ok: true; readonly value: Json; readonly version: number }
  | ({ readonly ok: false } & CallArtifactFailure);

/** What one decision has used up, with all that it asked others for. */
interface Tree {
  questions: number;
  leftMs: number;
  readonly asked: Map<string, number>;
}

/** Asks artifacts in the sandbox: no clock, no way out, chance from the seed alone. */
export function createCallArtifact({ artifacts, sandbox, clock }: CallDeps): CallArtifact {
  /** Modules by version: versions never change. */
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
    tree: Tree,
  ): Promise<ArtifactModuleSaid> => {
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
    return readSaid(json);
  };

  const ask = async (
    call: ArtifactCall,
    chain: readonly string[],
    tree: Tree,
  ): Promise<CallArtifactAnswer> => {
    const { artifact, method, signal } = call;
    const found = (chain.length === 1 ? call.newest : undefined) ?? (await artifacts.read(artifact));
    if (chain.length > 1) tree.asked.set(artifact, found?.version ?? 0);
    if (found === undefined)
      return { ok: false, reason: 'missing', message: `No artifact is named "${artifact}".` };
    const { version } = found;
    const failed = (reason: FallbackReason, message: string): CallArtifactAnswer => ({
      ok: false,
      reason,
      message,
      version,
    });
    if (!found.methods.includes(method)) return failed('no_method', noMethod(found, method));
    const answers: JsonObject[] = [];
    for (;;) {
      let said: ArtifactModuleSaid;
      try {
        said = await say(call, moduleOf(found), answers, tree);
      } catch (thrown) {
        signal.throwIfAborted();
        const error = toRuntimeError(thrown);
        return failed(REASONS[error.code] ?? 'unavailable', readable(error.message));
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
        return failed('failed', `It asks other artifacts more than ${MAX_ARTIFACT_QUESTIONS} times.`);
      if (tree.leftMs <= 0)
        return failed('timeout', `It took more than ${ARTIFACT_LIMITS.timeMs} ms with those it asked.`);
      const inner = await ask(
        { ...call, ...wanted, seed: `${call.seed}/${answers.length}` },
        [...chain, wanted.artifact],
        tree,
      );
      // Neither is a matter of what the artifact asks for: it cannot go on from there.
      if (!inner.ok && (inner.reason === 'cycle' || inner.reason === 'depth')) return { ...inner, version };
      answers.push(toAnswer(inner));
    }
  };

  return async (call) => {
    call.signal.throwIfAborted();
    const began = clock.monotonic();
    const tree: Tree = { questions: 0, leftMs: ARTIFACT_LIMITS.timeMs, asked: new Map() };
    const answer = await ask(call, [call.artifact], tree);
    const timed = {
      ...answer,
      ms: Math.round((clock.monotonic() - began) * 1000) / 1000,
    } satisfies ArtifactAnswer;
    if (!answer.ok || tree.asked.size === 0) return timed;
    return { ...timed, asked: [...tree.asked].map(([artifact, version]) => ({ artifact, version })) };
  };
}

function toAnswer(answer: CallArtifactAnswer): JsonObject {
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

/** The answer is handed out of the sandbox inside of an object; nobody has to know. */
const readable = (message: string): string => message.replace('"/value"', 'it').replace('"/value/', '"/');

const noMethod = ({ name, methods }: ArtifactVersion, method: string): string =>
  `The artifact "${name}" has no method "${method}". ${suggest(method, methods, 'It has')}`;

const notDefined = ({ name }: ArtifactVersion, method: string): string =>
  `The source of the artifact "${name}" defines no function "${method}".`;

/** A number of 48 bits: what the sandbox seeds `Math.random` with. */
const seedOf = (seed: string): number => Number.parseInt(hash('sha256', seed, 'hex').slice(0, 12), 16);
