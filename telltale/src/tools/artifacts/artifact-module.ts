import { err, ok, type Result, RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { isFunctionName } from '../../manifest/schema/function-name.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import type { SandboxLimits } from '../sandbox/sandbox.ts';
import type { ArtifactVersion } from './artifacts.ts';

/** The global that holds the methods once the module has been evaluated. */
const METHODS = '__artifact_methods';

/**
 * The source as a module that hands out its methods: functions that it exports, and plain ones. What is put behind it
 * leaves the lines of messages as they are.
 */
export const artifactModule = ({ source, methods }: Pick<ArtifactVersion, 'source' | 'methods'>): string =>
  `${source}\n;globalThis.${METHODS} = { ${methods
    .filter(isFunctionName)
    .map((name) => `${name}: typeof ${name} === 'function' ? ${name} : undefined`)
    .join(', ')} };`;

/** What the script below says. */
export type ArtifactModuleSaid =
  | { readonly no_method: true }
  /** It asks another artifact: to be run again once that one has answered. */
  | {
      readonly wanted: {
        readonly artifact: string;
        readonly method: string;
        readonly args: readonly Json[];
      };
    }
  /** Without `value`: it returned nothing. */
  | { readonly value?: Json };

/**
 * Runs behind the module. Other artifacts are asked outside, each in a world of its own: at the first question that has
 * no answer yet the run is over, and it is made again with the answer. Scripts are pure, so it comes to the same place.
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
    error.stack = error.stack.slice(error.stack.indexOf('\\n') + 1); // the place of the question, not of this line
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
 * A script can change how its world writes JSON (`Object.prototype.toJSON`): what comes out is taken for nothing that it
 * is not. Throws `bad_output`.
 */
export function readSaid(json: string): ArtifactModuleSaid {
  const said = JSON.parse(json) as Json;
  if (!isMap(said)) throw garbled();
  const { wanted } = said;
  if (wanted === undefined) return said as ArtifactModuleSaid;
  if (!isMap(wanted)) throw garbled();
  const { artifact, method, args } = wanted;
  if (typeof artifact !== 'string' || typeof method !== 'string' || !Array.isArray(args)) throw garbled();
  return { wanted: { artifact, method, args } };
}

const garbled = () =>
  new RuntimeError('bad_output', 'It changed how its answer is written as JSON, which is of no use now.', {
    hint: 'Leave "toJSON" and "String" of the built-in objects as they are.',
  });

/** For a check of a source: which of its methods are functions. */
export const LIST_METHODS = `return Object.keys(${METHODS}).filter((name) => ${METHODS}[name] !== undefined);`;

/** Of one decision, those that it asks others for included. */
export const ARTIFACT_LIMITS: SandboxLimits = {
  timeMs: 100,
  memoryBytes: 16 * 1024 * 1024,
  outputBytes: 256 * 1024,
};

/** An artifact may ask another one, which asks another one, which asks another one. */
export const MAX_ARTIFACT_DEPTH = 3;

/** Questions that one decision may ask other artifacts, at every depth together. */
export const MAX_ARTIFACT_QUESTIONS = 16;

/** How long a decision waits while the scripts of others hold the sandbox; then its fallback counts. */
export const MAX_ARTIFACT_WAIT_MS = 5_000;

/** Wrappers inside one another: `{success, data: {decision}}`. */
const MAX_WRAPPERS = 4;

/**
 * What an artifact means: `{success, data}` and `{decision, …}` stand for what is in them. `{success: false}` is a
 * failure, and err says why; `{decision: false}` is false. Neither is ever the object that it was written as.
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
