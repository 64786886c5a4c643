import type { StandardSchemaV1 } from '@standard-schema/spec';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { RelicManifest } from '../../manifest/schema/kinds.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { abortError } from '../abort.ts';
import { withApproval } from '../access/approval-need.ts';
import type { Check } from '../check-parameters.ts';
import { definitionHash } from '../definition/definition-hash.ts';
import { defineOperations, type Operation } from '../operations.ts';
import { causeWithPlace, DEFAULT_OUTPUT_BYTES, plainJson, thrownMessage } from '../output/output.ts';
import type { Target, TargetCall } from '../target.ts';
import type { ImplementationContext, RunTool } from '../tools/implementation.ts';

/** What `defineTool` stores next to the manifest. */
export interface CodeTool {
  readonly run: CodeToolRun;
  /** The schema that validates and transforms its parameters. Without it, the manifest's JSON Schema checks them. */
  readonly parameters?: StandardSchemaV1 | undefined;
  readonly output?: StandardSchemaV1 | undefined;
}

/** A tool implemented by a function of the program, with a check if it has its own schema. */
export function codeTool(
  { run, parameters, output }: CodeTool,
  context: ImplementationContext,
): { readonly implementation: RunTool; readonly check: Check | undefined } {
  const { what } = context;
  const judge = parameters === undefined ? undefined : createValidator(parameters, what);
  const judgeOutput = output === undefined ? undefined : outputValidator(output, what);
  const runValidated = async (validator: NonNullable<typeof judge>, call: TargetCall): Promise<Json> => {
    const judged = await validator.of(call.input);
    if (!judged.ok) throw badParameters(what, judged.problem);
    return runUserCode(run, judged.value, call, context, judgeOutput);
  };
  const implementation: RunTool = (input, call) =>
    judge === undefined ? runUserCode(run, input, call, context, judgeOutput) : runValidated(judge, call);
  return { implementation, check: judge?.check };
}

const outputValidator = (schema: StandardSchemaV1, what: string) => async (result: unknown) => {
  const fitting = await validate(schema, result);
  if (!fitting.ok) throw badOutput(what, fitting.problem);
  return fitting.value;
};

/** Validates each call once: the result of the check before the action starts is kept until the action runs. */
function createValidator(schema: StandardSchemaV1, what: string) {
  const answers = new WeakMap<JsonObject, ValidationResult | Promise<ValidationResult>>();
  return {
    check(input: JsonObject): RuntimeError | undefined {
      try {
        const answer = validate(schema, input);
        if (answer instanceof Promise)
          answer.catch(() => undefined); // heard of when it is waited for
        else if (!answer.ok) return badParameters(what, answer.problem);
        answers.set(input, answer);
        return undefined;
      } catch (thrown) {
        return toRuntimeError(thrown);
      }
    },
    of: (input: JsonObject) => answers.get(input) ?? validate(schema, input),
  };
}

export interface CodeOperation {
  readonly description: string;
  readonly schema?: StandardSchemaV1 | undefined;
  readonly run: CodeToolRun;
  readonly idempotent: boolean;
}

/** What `defineRelic` stores next to the manifest. */
export interface CodeRelic {
  readonly operations: Readonly<Record<string, CodeOperation>>;
  /** JSON Schemas of the operations' parameters, for the model. */
  readonly parameters: Readonly<Record<string, JsonObject>>;
  readonly byDefault?: string | undefined;
}

/** A relic whose operations are functions of the program. */
export function codeRelic(relic: RelicManifest, code: CodeRelic): Target {
  const { name, approval } = relic;
  const what = `relic "${name}"`;
  const operations = defineOperations(what, operationsOf(what, code), code.byDefault);
  const target: Target = {
    kind: 'relic',
    name,
    description: relic.description ?? '',
    parameters: operations.parameters,
    idempotent: relic.idempotent,
    idempotentFor: (input) => relic.idempotent || operations.idempotentFor(input),
    start: 'on_close',
    ...(relic.timeout === undefined ? {} : { timeoutMs: relic.timeout.ms }),
    check: operations.check,
    definition: () =>
      definitionHash({
        manifest: relic as unknown as Json,
        code: Object.fromEntries(
          Object.entries(code.operations).map(([operation, { run }]) => [operation, String(run)]),
        ),
      }),
    run: (call) => operations.run(call),
  };
  return approval === 'always' ? withApproval(target) : target;
}

function operationsOf(what: string, { operations, parameters }: CodeRelic): Record<string, Operation> {
  return Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => [
      name,
      toOperation(`${what}, operation "${name}",`, operation, parameters[name] ?? {}),
    ]),
  );
}

function toOperation(what: string, code: CodeOperation, { properties, required }: JsonObject): Operation {
  const context = { what, maxBytes: DEFAULT_OUTPUT_BYTES, stream: true };
  return {
    description: code.description,
    parameters: (isMap(properties) ? properties : {}) as Readonly<Record<string, JsonObject>>,
    required: Array.isArray(required) ? required.map(String) : [],
    idempotent: code.idempotent,
    async run({ operation: _, ...given }, call) {
      const validated =
        code.schema === undefined
          ? ({ ok: true, value: given } as const)
          : await validate(code.schema, given);
      if (!validated.ok) throw badParameters(what, validated.problem);
      return runUserCode(code.run, validated.value, call, context);
    },
  };
}

/** The value a schema returns, or what is wrong with the input. */
export type ValidationResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/**
 * Validates with any Standard Schema. Returns a promise only if the schema does. An exception becomes `schema_failed`.
 */
export function validate(
  schema: StandardSchemaV1,
  value: unknown,
): ValidationResult | Promise<ValidationResult> {
  let result: ReturnType<StandardSchemaV1['~standard']['validate']>;
  try {
    result = schema['~standard'].validate(value);
  } catch (thrown) {
    throw schemaFailed(thrown);
  }
  if (!(result instanceof Promise)) return validated(result);
  return result.then(validated, (thrown: unknown) => {
    throw schemaFailed(thrown);
  });
}

/** As `validate`, for places that cannot wait: throws `waits` if the schema answers with a promise. */
export function validateNow(
  schema: StandardSchemaV1,
  value: unknown,
  waits: () => RuntimeError,
): ValidationResult {
  const answer = validate(schema, value);
  if (!(answer instanceof Promise)) return answer;
  answer.catch(() => undefined); // the answer is not used
  throw waits();
}

const validated = (result: StandardSchemaV1.Result<unknown>): ValidationResult =>
  result.issues ? { ok: false, problem: describeIssues(result.issues) } : { ok: true, value: result.value };

const MAX_ISSUES = 3;
const MAX_MESSAGE = 500;

/** Lists at most three issues: `"/items/0/price": Expected a number`. */
function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  const shown = issues.slice(0, MAX_ISSUES).map(describeIssue);
  const left = issues.length - shown.length;
  if (shown.length === 0) return 'it does not satisfy the schema.';
  return left === 0 ? shown.join(' ') : `${shown.join(' ')} And ${left} more.`;
}

function describeIssue({ message, path = [] }: StandardSchemaV1.Issue): string {
  const steps = path.map((step) => (typeof step === 'object' ? step.key : step));
  const pointer = steps
    .map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`;
  const words = clip(sentence, MAX_MESSAGE);
  return pointer === '' ? words : `"${clip(pointer, 200)}": ${words}`;
}

const schemaFailed = (thrown: unknown) =>
  new RuntimeError('schema_failed', `The schema threw an error: ${thrownMessage(thrown)}`, {
    hint: 'One of its checks or transforms throws. Report an issue with the value instead.',
    cause: causeWithPlace(thrown),
  });

const badParameters = (what: string, problem: string) =>
  new RuntimeError('bad_parameters', `The parameters of ${what} are wrong: ${problem}`, {
    hint: 'Give parameters that match its schema.',
  });

const badOutput = (what: string, problem: string) =>
  new RuntimeError('bad_output', `The result of ${what} does not fit its "output": ${problem}`, {
    hint: 'Fix what it returns, or its schema.',
  });

/** A user's function: a tool's `run(parameters, {agent, signal, idempotencyKey, progress})`. */
export type CodeToolRun = (parameters: unknown, context: unknown) => unknown;

export interface UserCode {
  /** For messages: `tool "search"`. */
  readonly what: string;
  readonly maxBytes: number;
  /** Whether its progress is shown. */
  readonly stream: boolean;
}

/**
 * Calls a user's function for one try of an action. Rejects with a RuntimeError, whatever the function throws. The result
 * is JSON, of what `judge` makes of it. What comes without a promise is not waited for: an instant tool's step has none
 * to spare.
 */
export function runUserCode(
  run: CodeToolRun,
  parameters: unknown,
  call: TargetCall,
  code: UserCode,
  judge?: (result: unknown) => unknown,
): Promise<Json> {
  const { signal } = call;
  const { what, maxBytes } = code;
  if (signal.aborted) return Promise.reject(abortError(what, signal)); // its code would wait for an abort that has been
  const context = new UserContext(call, code);
  let result: unknown;
  try {
    result = run(parameters, context);
    if (judge !== undefined || isThenable(result)) return finished(result, context, call, code, judge);
  } catch (thrown) {
    UserContext.end(context);
    return Promise.reject(failure(what, signal, thrown));
  }
  UserContext.end(context);
  try {
    return Promise.resolve(plainJson(result, what, maxBytes));
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

async function finished(
  running: unknown,
  context: UserContext,
  { signal }: TargetCall,
  { what, maxBytes }: UserCode,
  judge: ((result: unknown) => unknown) | undefined,
): Promise<Json> {
  let result: unknown;
  try {
    result = await running;
  } catch (thrown) {
    throw failure(what, signal, thrown);
  } finally {
    UserContext.end(context);
  }
  return plainJson(judge === undefined ? result : await judge(result), what, maxBytes);
}

const isThenable = (value: unknown): boolean =>
  (typeof value === 'object' || typeof value === 'function') && value !== null && 'then' in value;

function failure(what: string, signal: AbortSignal, thrown: unknown): RuntimeError {
  if (signal.aborted) return abortError(what, signal);
  // `instanceof` would throw for some proxies.
  const error = toRuntimeError(thrown);
  return error === thrown ? error : codeFailed(what, thrown);
}

/**
 * What a user's function gets beside its parameters. A class, because what few look at is made only if it is looked at,
 * and a getter in a literal would be made anew for each call: that took a tenth of the time of a step.
 */
class UserContext {
  readonly #call: TargetCall;
  readonly #code: UserCode;
  #ended = false;
  readonly signal: AbortSignal;
  readonly idempotencyKey: string;
  // Its own: whoever spreads the context has it. No assignment, as the engine makes functions that are assigned to a
  // property in the old generation, where one that is over keeps its whole session until that is collected.
  readonly progress = (data: unknown): void => this.#show(data);

  constructor(call: TargetCall, code: UserCode) {
    this.#call = call;
    this.#code = code;
    this.signal = call.signal;
    this.idempotencyKey = call.idempotencyKey;
  }

  get agent() {
    return this.#call.agent();
  }

  #show(data: unknown): void {
    const { what, maxBytes, stream } = this.#code;
    if (!this.#ended && stream) this.#call.progress(plainJson(data, `the progress of ${what}`, maxBytes));
  }

  /** From here on its progress is not shown any more. Not a method: it is not for the user's code. */
  static end(context: UserContext): void {
    context.#ended = true;
  }
}

const codeFailed = (what: string, thrown: unknown) =>
  new RuntimeError('tool_failed', `The code of ${what} failed: ${thrownMessage(thrown)}`, {
    cause: causeWithPlace(thrown),
  });
