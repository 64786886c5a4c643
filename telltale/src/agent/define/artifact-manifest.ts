import { Script } from 'node:vm';
import type { Finding, IssuePath } from '../../manifest/diagnostic.ts';
import type { CodeManifest } from '../../manifest/project/project-document.ts';
import { isFunctionName } from '../../manifest/schema/function-name.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import type { BadFigure } from '../../models/bad-figure.ts';
import { MODEL_HINT } from '../../models/model-object.ts';
import type { DefinedArtifact } from './definitions.ts';

/** An artifact in code as a manifest for checking, with functions converted to source text. */
export function artifactManifest(artifact: DefinedArtifact, folder: string): CodeManifest {
  const { source, module, methods, ...settings } = artifact.definition as Readonly<Record<string, unknown>>;
  const findings: DefinitionFinding[] = [];
  if (module !== undefined) findings.push({ path: ['module'], finding: moduleInCode() });
  const given = isMap(methods) ? Object.entries(methods) : [];
  for (const [name, method] of given)
    if (source !== undefined && functionOf(method) !== undefined)
      findings.push({ path: ['methods', name], finding: functionWithSource() });
  if (source === undefined && given.length === 0) findings.push({ path: [], finding: noSource() });
  const made = source === undefined ? sourceOf(given, findings) : source;
  return {
    label: `defineArtifact(${JSON.stringify(artifact.name) ?? ''})`,
    folder,
    value: {
      ...settings,
      kind: 'Artifact',
      source: made,
      ...(methods === undefined ? {} : { methods: isMap(methods) ? described(given) : methods }),
    },
    identity: artifact,
    code: artifact,
    pinned: {},
    writtenAt: (path) => path,
    findings,
    imports: [],
  };
}

type Method = (...args: never[]) => unknown;

function functionOf(method: unknown): Method | undefined {
  const found = isMap(method) ? method.run : method;
  return typeof found === 'function' ? (found as Method) : undefined;
}

function sourceOf(methods: readonly (readonly [string, unknown])[], findings: DefinitionFinding[]): string {
  const lines: string[] = [];
  for (const [name, method] of methods) {
    const path = ['methods', name];
    const made = functionOf(method);
    if (made === undefined) findings.push({ path, finding: notAMethod(method) });
    else if (!isFunctionName(name)) findings.push({ path, finding: badMethodName(name) });
    else {
      const text = functionText(made);
      if (text.ok) lines.push(`export const ${name} = ${text.expression};`);
      else findings.push({ path, finding: text.finding });
    }
  }
  // tsx uses esbuild's keepNames, which wraps inner functions.
  if (lines.some((line) => line.includes('__name('))) lines.unshift('const __name = (made) => made;');
  // The source must not be empty. The missing methods are reported already.
  return lines.length === 0 ? '// no methods' : lines.join('\n');
}

const described = (methods: readonly (readonly [string, unknown])[]) =>
  Object.fromEntries(
    methods.map(([name, method]) => {
      if (typeof method === 'function') return [name, {}];
      const { run: _, ...rest } = isMap(method) ? method : { run: undefined };
      return [name, isMap(method) ? rest : {}];
    }),
  );

export type FunctionText =
  | { readonly ok: true; readonly expression: string }
  | { readonly ok: false; readonly finding: Finding };

/** The text of a function as an expression. Values that it closes over are not included. */
function functionText(made: (...args: never[]) => unknown): FunctionText {
  const text = Function.prototype.toString.call(made);
  const refused = (why: string): FunctionText => ({ ok: false, finding: notPlain(why) });
  if (/\{\s*\[native code\]\s*\}$/.test(text)) return refused('is native or bound: it has no text');
  if (/^class\b/.test(text)) return refused('is a class');
  if (Object.getPrototypeOf(made) !== Function.prototype)
    return refused('is asynchronous or a generator: a decision is taken at once');
  if (isExpression(text)) return { ok: true, expression: text };
  // A method in short form, `name() { … }`, is only valid inside an object.
  const inObject = `Object.values({ ${text} })[0]`;
  return isExpression(inObject)
    ? { ok: true, expression: inObject }
    : refused('has a text that is no JavaScript by itself');
}

/** Compiles the text and never runs it. */
function isExpression(text: string): boolean {
  try {
    return new Script(`'use strict';(${text}\n)`) !== undefined;
  } catch {
    return false;
  }
}

/** A finding about a definition in code, and where it is. */
export interface DefinitionFinding {
  readonly path: IssuePath;
  readonly finding: Finding;
}

const error = (code: string, message: string, hint: string): Finding => ({
  severity: 'error',
  code,
  message,
  hint,
});

export const notAFunction = (found: unknown) =>
  error(
    found === undefined ? 'missing' : 'wrong_type',
    found === undefined ? 'There is no "run".' : `"run" must be a function; found ${showValue(found)}.`,
    'Give it: run: async (parameters, { agent, signal, idempotencyKey, progress }) => result.',
  );

export const noOperations = () =>
  error(
    'missing',
    'A relic needs at least one operation.',
    'Give it: operations: { get: { description, parameters, run } }.',
  );

export const nameReserved = (name: string) =>
  error(
    'name_taken',
    `"${name}" is an operation of every relic.`,
    'Give it as "health" of the relic itself.',
  );

export const defaultUnknown = (name: unknown, known: readonly string[]) =>
  error(
    'not_allowed',
    `There is no operation ${showValue(name)} to be the default.`,
    `Operations: ${known.join(', ')}.`,
  );

export const notFlat = () =>
  error(
    'bad_schema',
    "An operation's parameters are an object of named parameters, and nothing in it may refer to definitions.",
    'Give a schema of an object, without recursion, or "jsonSchema" with "type", "properties" and "required".',
  );

export const importsInCode = () =>
  error(
    'unknown_key',
    'An agent in code has no "import".',
    'What it imports stands in "tools", "relics", "agents", "workflows" and "artifacts" themselves.',
  );

export const notAList = (list: string, found: unknown) =>
  error('wrong_type', `"${list}" must be a list; found ${showValue(found)}.`, `Write ${list}: […].`);

export const notImportable = (list: string, found: unknown, made: string) =>
  error(
    'wrong_type',
    `What stands in "${list}" must be ${made}; found ${showValue(found)}.`,
    found instanceof Promise ? 'Await it first.' : 'Paths are relative to the folder of the agent.',
  );

export const notAModel = (found: unknown) =>
  error('wrong_type', `This is no model: ${showValue(found)}.`, MODEL_HINT);

export const notAFigure = ({ path, found, hint }: BadFigure) =>
  error(
    'wrong_type',
    `"${path.join('.')}" of a model is ${typeof found === 'number' ? found : showValue(found)}.`,
    hint,
  );

const moduleInCode = () =>
  error(
    'unknown_key',
    'An artifact in code has no "module".',
    'Give its text: source: await readFile("./pacing.js", "utf8"). Or give functions in "methods".',
  );

const noSource = () =>
  error(
    'missing',
    'The artifact has neither methods nor source.',
    'Give functions: methods: { should_continue: (rounds, context) => rounds < 3 }. Or give their text as "source".',
  );

const functionWithSource = () =>
  error(
    'wrong_type',
    'Where there is "source", the methods are in it.',
    'Write methods: { name: { description } } beside "source", or leave "source" out and give functions.',
  );

const notAMethod = (found: unknown) =>
  error(
    'wrong_type',
    `A method without "source" must be a function; found ${showValue(found)}.`,
    'Give it: should_continue: (rounds, context) => rounds < 3. Or give the text of all methods as "source".',
  );

const badMethodName = (name: string) =>
  error(
    'not_allowed',
    `No function can be named ${showValue(name)}.`,
    'Use letters, digits and "_", and no word of the language.',
  );

const notPlain = (why: string) =>
  error(
    'not_plain',
    `The function ${why}, so it cannot be taken into the sandbox.`,
    'Give a plain function that uses nothing but its arguments, or "source".',
  );
