import type { Finding } from '../../manifest/diagnostic.ts';
import type { IssuePath } from '../../manifest/issue.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import type { BadFigure } from '../../models/bad-figure.ts';
import { MODEL_HINT } from '../../models/model-object.ts';

/** What is wrong with a value that a program gave, and where. */
export interface Found {
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

export const moduleInCode = () =>
  error(
    'unknown_key',
    'An artifact in code has no "module".',
    'Give its text: source: await readFile("./pacing.js", "utf8"). Or give functions in "methods".',
  );

export const noSource = () =>
  error(
    'missing',
    'The artifact has neither methods nor source.',
    'Give functions: methods: { should_continue: (rounds, context) => rounds < 3 }. Or give their text as "source".',
  );

export const functionWithSource = () =>
  error(
    'wrong_type',
    'Where there is "source", the methods are in it.',
    'Write methods: { name: { description } } beside "source", or leave "source" out and give functions.',
  );

export const notAMethod = (found: unknown) =>
  error(
    'wrong_type',
    `A method without "source" must be a function; found ${showValue(found)}.`,
    'Give it: should_continue: (rounds, context) => rounds < 3. Or give the text of all methods as "source".',
  );

export const badMethodName = (name: string) =>
  error(
    'not_allowed',
    `No function can be named ${showValue(name)}.`,
    'Use letters, digits and "_", and no word of the language.',
  );

export const notPlain = (why: string) =>
  error(
    'not_plain',
    `The function ${why}, so it cannot be taken into the sandbox.`,
    'Give a plain function that uses nothing but its arguments, or "source".',
  );
