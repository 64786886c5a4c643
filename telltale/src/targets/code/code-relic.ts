import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { RelicManifest } from '../../manifest/schema/kinds.ts';
import { behindApproval } from '../access/need.ts';
import { definitionHash } from '../definition/definition-hash.ts';
import { defineOperations, type Operation } from '../operations.ts';
import { DEFAULT_OUTPUT_BYTES } from '../output/output-limits.ts';
import type { Target } from '../target.ts';
import { type Run, runUserCode } from '../user-code.ts';
import { badParameters, validate } from './validate.ts';

export interface CodeOperation {
  readonly description: string;
  readonly schema?: StandardSchemaV1 | undefined;
  readonly run: Run;
  readonly idempotent: boolean;
}

/** What `defineRelic` keeps beside the manifest. */
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
  return approval === 'always' ? behindApproval(target) : target;
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
