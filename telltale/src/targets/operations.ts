import type { Json, JsonObject } from '../kernel/json.ts';
import { suggest } from '../kernel/nearest.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import { showValue } from '../manifest/schema/show-value.ts';
import { type Check, compileCheck } from './check-parameters.ts';
import type { Target, TargetCall } from './target.ts';

/** One of the things a target with an `operation` parameter can do. */
export interface Operation {
  /** The model reads it: half a sentence. */
  readonly description: string;
  /** JSON Schemas by name. */
  readonly parameters: Readonly<Record<string, JsonObject>>;
  readonly required?: readonly string[];
  /** Whether it may be made again after a crash; where that depends on the parameters, what they say. */
  readonly idempotent: boolean | ((input: JsonObject) => boolean);
  run(input: JsonObject, call: TargetCall): Promise<Json>;
}

export interface Operations {
  readonly parameters: JsonObject;
  readonly check: Check;
  idempotentFor(input: JsonObject): boolean;
  run(call: TargetCall): Promise<Json>;
}

/**
 * Operations under one name. The model reads one flat schema, in which each parameter says whose it is; a call is
 * checked against its own operation's, so that an error speaks of that one alone. `byDefault` counts where a call
 * names no operation.
 */
export function defineOperations(
  what: string,
  operations: Readonly<Record<string, Operation>>,
  byDefault?: string,
): Operations {
  const names = Object.keys(operations);
  const checks = new Map<string, Check>();
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
    check(input) {
      const operation = operationOf(input);
      const name = nameOf(input);
      if (operation === undefined) return operationUnknown(what, name, names);
      return checkOf(String(name), operation)(input);
    },
    idempotentFor(input) {
      const idempotent = operationOf(input)?.idempotent ?? false;
      return typeof idempotent === 'boolean' ? idempotent : idempotent(input);
    },
    async run(call) {
      const operation = operationOf(call.input);
      if (operation === undefined) throw operationUnknown(what, nameOf(call.input), names);
      return operation.run(call.input, call);
    },
  };
}

/** The members of a Target that operations decide. */
export const operationMembers = ({
  parameters,
  check,
  idempotentFor,
}: Operations): Pick<Target, 'parameters' | 'check' | 'idempotent'> &
  Required<Pick<Target, 'idempotentFor'>> => ({
  parameters,
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
  for (const [name, { parameters }] of Object.entries(operations))
    for (const [key, schema] of Object.entries(parameters)) {
      const users = Object.entries(operations).flatMap(([other, each]) =>
        Object.hasOwn(each.parameters, key) ? [other] : [],
      );
      const own = users[0] === name;
      if (own)
        properties[key] = {
          ...schema,
          description: `${String(schema.description ?? '')} (${users.join(', ')})`,
        };
    }
  const lines = Object.entries(operations).map(
    ([name, { description, required = [] }]) =>
      `${name}: ${description}${required.length === 0 ? '' : `; needs ${required.join(', ')}`}`,
  );
  return {
    type: 'object',
    properties: {
      operation: {
        enum: Object.keys(operations),
        description: lines.join('. '),
        ...(byDefault === undefined ? {} : { default: byDefault }),
      },
      ...properties,
    },
    required: byDefault === undefined ? ['operation'] : [],
    additionalProperties: false,
  };
}

const operationUnknown = (what: string, found: Json | undefined, names: readonly string[]) =>
  new RuntimeError(
    'bad_parameters',
    found === undefined
      ? `The parameters of ${what} are wrong: "operation" is missing.`
      : `The parameters of ${what} are wrong: "/operation" is ${showValue(found)}.`,
    { hint: suggest(typeof found === 'string' ? found : '', names, 'Operations') },
  );
