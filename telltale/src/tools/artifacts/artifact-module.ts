import { err, ok, type Result, RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { isFunctionName } from '../../manifest/schema/function-name.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import type { SandboxLimits } from '../sandbox/sandbox.ts';
import type { ArtifactVersion } from './artifacts.ts';

/** The global that holds the methods once the module has been evaluated. */
const METHODS = '__artifact_methods';

/**
 * Turns the source into a module that exposes its methods, exported or not. The added code comes last, so line numbers
 * in messages stay right.
 */
export const artifactModule = ({ source, methods }: Pick<ArtifactVersion, 'source' | 'methods'>): string =>
  `${source}\n;globalThis.${METHODS} = { ${methods
    .filter(isFunctionName)
    .map((name) => `${name}: typeof ${name} === 'function' ? ${name} : undefined`)
    .join(', ')} };`;

/** What the script below returns. */
export type ScriptReply =
  | { readonly no_method: true }
  /** It calls another artifact, and has to run again with the answer. */
  | {
      readonly wanted: {
        readonly artifact: string;
        readonly method: string;
        readonly args: readonly Json[];
      };
    }
  /** Without `value`, the method returned nothing. */
  | { readonly value?: Json };

/**
 * Runs after the module. Other artifacts are called outside, each in its own sandbox. When the script needs an answer
 * that does not exist yet, it stops, and the run is repeated with that answer. Scripts are deterministic, so the
 * repeated run reaches the same point.
 */
export const CALL_METHOD = `const { method, args, answers } = call;
let asked = 0;
let wanted;
globalThis.invoke = (artifact, method, ...args) => {
  const answer = wanted === undefined ? answers[asked++] : undefined;
  if (answer === undefined) {
    wanted ??= { artifact: String(artifact), method: String(method), args };
    throw new Error('the answer is not there yet');
  }
  if (answer.error !== undefined) {
    const error = new Error(answer.error);
    error.stack = error.stack.slice(error.stack.indexOf('\\n') + 1); // point at the caller, not at this line
    throw error;
  }
  return answer.value;
};
const found = ${METHODS}[method];
if (typeof found !== 'function') return { no_method: true };
let value;
try {
  value = found(...args);
} catch (thrown) {
  if (wanted === undefined) throw thrown;
}
return wanted === undefined ? { value } : { wanted };`;

/**
 * A script can change how its sandbox writes JSON (`Object.prototype.toJSON`), so the shape is checked. Throws
 * `bad_output`.
 */
export function parseReply(json: string): ScriptReply {
  const said = JSON.parse(json) as Json;
  if (!isMap(said)) throw invalidReply();
  const { wanted } = said;
  if (wanted === undefined) return said as ScriptReply;
  if (!isMap(wanted)) throw invalidReply();
  const { artifact, method, args } = wanted;
  if (typeof artifact !== 'string' || typeof method !== 'string' || !Array.isArray(args))
    throw invalidReply();
  return { wanted: { artifact, method, args } };
}

const invalidReply = () =>
  new RuntimeError(
    'bad_output',
    'The script changed how its answer is written as JSON, so the answer cannot be read.',
    {
      hint: 'Leave "toJSON" and "String" of the built-in objects as they are.',
    },
  );

/** Lists the methods of a source that are functions, to check the source. */
export const LIST_METHODS = `return Object.keys(${METHODS}).filter((name) => ${METHODS}[name] !== undefined);`;

/** The limits of one decision, including the artifacts it calls. */
export const ARTIFACT_LIMITS: SandboxLimits = {
  timeMs: 100,
  memoryBytes: 16 * 1024 * 1024,
  outputBytes: 256 * 1024,
};

/** How deep artifacts may call one another. */
export const MAX_ARTIFACT_DEPTH = 3;

/** How many other artifacts one decision may call, at all depths together. */
export const MAX_ARTIFACT_QUESTIONS = 16;

/** How long a decision waits for the sandbox while other scripts use it. After that, its fallback counts. */
export const MAX_ARTIFACT_WAIT_MS = 5_000;

/** Nested wrappers: `{success, data: {decision}}`. */
const MAX_WRAPPERS = 4;

/**
 * Unwraps an answer: `{success, data}` and `{decision, …}` stand for their content. `{success: false}` is a failure,
 * and `err` says why. `{decision: false}` is false.
 */
export function unwrapAnswer(value: Json): Result<Json, string> {
  let inner = value;
  for (let depth = 0; depth < MAX_WRAPPERS; depth++) {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return ok(inner);
    const wrapper = inner as JsonObject;
    if (typeof wrapper.success === 'boolean') {
      if (!wrapper.success) return err(reasonIn(wrapper));
      const held = ['data', 'decision'].find((key) => Object.hasOwn(wrapper, key));
      inner = held === undefined ? true : (wrapper[held] ?? null);
    } else if (Object.hasOwn(wrapper, 'decision')) inner = wrapper.decision ?? null;
    else return ok(inner);
  }
  return err('its answer is wrapped too often');
}

function reasonIn({ error, message, reason }: JsonObject): string {
  const said = [error, message, reason].find((each) => typeof each === 'string' && each !== '');
  return said === undefined ? 'it answered {success: false}' : `it answered {success: false}: ${said}`;
}
