import { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { suggest } from '../lib/nearest.ts';
import { showValue } from '../manifest/schema/show-value.ts';
import { type Check, compileCheck } from './check-parameters.ts';
import type { Target, TargetCall, TargetOperation } from './target.ts';

/** An operation with its implementation. */
export interface Operation extends TargetOperation {
  run(input: JsonObject, call: TargetCall): Promise<Json>;
}

export interface TargetOperations {
  readonly parameters: JsonObject;
  readonly operations: Readonly<Record<string, Operation>>;
  readonly byDefault: string | undefined;
  readonly check: Check;
  inFull(input: JsonObject): JsonObject;
  idempotentFor(input: JsonObject): boolean;
  run(call: TargetCall): Promise<Json>;
}

/**
 * Defines several operations under one name. A native call gets one flat schema, whose "operation" describes what each
 * operation takes. A call is checked against its own operation's schema, so that errors concern that operation alone. A
 * call without an operation uses `byDefault`, or the input that `unnamed` returns for it.
 */
export function defineOperations(
  what: string,
  operations: Readonly<Record<string, Operation>>,
  byDefault?: string,
  unnamed?: (input: JsonObject) => JsonObject,
): TargetOperations {
  const names = Object.keys(operations);
  const checks = new Map<string, Check>();
  const inFull = (input: JsonObject): JsonObject => {
    if (unnamed === undefined || (input.operation ?? null) !== null) return input;
    const { operation: _, ...given } = input;
    return unnamed(given);
  };
  const nameOf = (input: JsonObject): Json | undefined => input.operation ?? byDefault;
  const operationOf = (input: JsonObject): Operation | undefined => {
    const name = nameOf(input);
    return typeof name === 'string' && Object.hasOwn(operations, name) ? operations[name] : undefined;
  };
  const checkOf = (name: string, operation: Operation): Check => {
    const known = checks.get(name) ?? compileCheck(closedSchema(operation), `${what}, operation "${name}",`);
    checks.set(name, known);
    return known;
  };
  return {
    parameters: flatSchema(operations, byDefault),
    operations,
    byDefault,
    inFull,
    check(given) {
      const input = inFull(given);
      const operation = operationOf(input);
      const name = nameOf(input);
      if (operation === undefined) return operationUnknown(what, name, names);
      return checkOf(String(name), operation)(input);
    },
    idempotentFor(given) {
      const input = inFull(given);
      const idempotent = operationOf(input)?.idempotent ?? false;
      return typeof idempotent === 'boolean' ? idempotent : idempotent(input);
    },
    async run(call) {
      const input = inFull(call.input);
      const operation = operationOf(input);
      if (operation === undefined) throw operationUnknown(what, nameOf(input), names);
      return operation.run(input, call);
    },
  };
}

/** The members of a Target that its operations determine. */
export const operationMembers = ({
  parameters,
  operations,
  byDefault,
  check,
  idempotentFor,
}: TargetOperations): Pick<Target, 'parameters' | 'operations' | 'byDefault' | 'check' | 'idempotent'> &
  Required<Pick<Target, 'idempotentFor'>> => ({
  parameters,
  operations,
  byDefault,
  check,
  idempotent: false,
  idempotentFor,
});

const closedSchema = ({ parameters, required = [] }: Operation): JsonObject => ({
  type: 'object',
  properties: { operation: {}, ...parameters },
  required,
  additionalProperties: false,
});

function flatSchema(
  operations: Readonly<Record<string, Operation>>,
  byDefault: string | undefined,
): JsonObject {
  const properties: Record<string, JsonObject> = {};
  for (const { parameters } of Object.values(operations))
    for (const key of Object.keys(parameters)) properties[key] ??= sharedSchema(key, operations);
  const all = Object.values(operations);
  const isCommon = (key: string) =>
    all.length > 2 && all.every((each) => Object.hasOwn(each.parameters, key));
  const lines = Object.entries(operations).map(([name, { description, parameters, required = [] }]) => {
    const keys = Object.keys(parameters)
      .filter((key) => required.includes(key) || !isCommon(key))
      .map((key) => (required.includes(key) ? key : `${key}?`));
    return `${name}${keys.length === 0 ? '' : ` {${keys.join(', ')}}`}: ${description}`;
  });
  return {
    type: 'object',
    properties: {
      operation: {
        enum: Object.keys(operations),
        description: `${lines.join('. ')}.`,
        ...(byDefault === undefined ? {} : { default: byDefault }),
      },
      ...properties,
    },
    required: byDefault === undefined ? ['operation'] : [],
    additionalProperties: false,
  };
}

/** The first schema of a parameter. If operations describe it differently, the description lists each meaning. */
function sharedSchema(key: string, operations: Readonly<Record<string, Operation>>): JsonObject {
  const users = Object.entries(operations).flatMap(([name, { parameters }]) =>
    Object.hasOwn(parameters, key) ? [[name, parameters[key] as JsonObject] as const] : [],
  );
  const [, first] = users[0] as (typeof users)[number];
  if (users.every(([, { description }]) => description === first.description)) return first;
  const words = users.map(([name, { description = '' }]) => `${name}: ${String(description)}`);
  return { ...first, description: words.join(' ') };
}

const operationUnknown = (what: string, found: Json | undefined, names: readonly string[]) =>
  new RuntimeError(
    'bad_parameters',
    found === undefined
      ? `The parameters of ${what} are wrong: "operation" is missing.`
      : `The parameters of ${what} are wrong: "/operation" is ${showValue(found)}.`,
    { hint: suggest(typeof found === 'string' ? found : '', names, 'Operations') },
  );
