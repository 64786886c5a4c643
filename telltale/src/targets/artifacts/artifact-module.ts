import type { ArtifactVersion } from './artifacts.ts';

/** The global that holds the methods once the module has been evaluated. */
const METHODS = '__artifact_methods';

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const RESERVED = new Set(
  'arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield'.split(
    ' ',
  ),
);

/** Whether a function can have that name. */
export const isMethodName = (name: string): boolean => IDENTIFIER.test(name) && !RESERVED.has(name);

/**
 * The source as a module that hands out its methods: functions that it exports, and plain ones. What is put behind it
 * leaves the lines of messages as they are.
 */
export const artifactModule = ({ source, methods }: Pick<ArtifactVersion, 'source' | 'methods'>): string =>
  `${source}\n;globalThis.${METHODS} = { ${methods
    .filter(isMethodName)
    .map((name) => `${name}: typeof ${name} === 'function' ? ${name} : undefined`)
    .join(', ')} };`;

/** What the script below says. */
export type Said =
  | { readonly no_method: true }
  /** It asks another artifact: to be run again once that one has answered. */
  | {
      readonly wanted: {
        readonly artifact: string;
        readonly method: string;
        readonly args: readonly never[];
      };
    }
  /** Without `value`: it returned nothing. */
  | { readonly value?: never };

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

/** For a check of a source: which of its methods are functions. */
export const LIST_METHODS = `return Object.keys(${METHODS}).filter((name) => ${METHODS}[name] !== undefined);`;
