import type { Json, JsonObject } from '../../kernel/json.ts';
import type { CodeManifest } from '../../manifest/project/code-manifest.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import { checkUserSchema } from '../../manifest/schema/user-schemas/check-user-schema.ts';
import type { CodeOperation, CodeRelic } from '../../targets/code/code-relic.ts';
import {
  defaultUnknown,
  type Found,
  nameReserved,
  noOperations,
  notAFunction,
  notFlat,
} from './code-findings.ts';
import type { DefinedRelic, KeptOperation } from './define-relic.ts';
import { jsonSchemaOf } from './json-schema-of.ts';
import { isStandardSchema, standardOf } from './schema.ts';

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {}, additionalProperties: false };

/** A relic as the checks of manifests see it. Every Relic has a driver; where there is code, nobody asks for it. */
export async function relicManifest(relic: DefinedRelic, folder: string): Promise<CodeManifest> {
  const {
    operations,
    health,
    default: byDefault,
    ...settings
  } = relic.definition as {
    readonly operations?: Readonly<Record<string, KeptOperation>>;
    readonly health?: (context: unknown) => unknown;
    readonly default?: string;
  };
  const label = `defineRelic(${JSON.stringify(relic.name) ?? ''})`;
  const findings: Found[] = [];
  const given = isMap(operations) ? Object.entries(operations as Record<string, KeptOperation>) : [];
  if (given.length === 0) findings.push({ path: ['operations'], finding: noOperations() });
  const parameters: Record<string, JsonObject> = { health: NO_PARAMETERS };
  const kept: Record<string, CodeOperation> = {};
  for (const [name, written] of given) {
    const path = ['operations', name];
    const operation: KeptOperation = isMap(written) ? written : {};
    if (name === 'health') findings.push({ path, finding: nameReserved(name) });
    if (typeof operation.run !== 'function')
      findings.push({ path: [...path, 'run'], finding: notAFunction(operation.run) });
    parameters[name] = await parametersOf(operation, path, findings);
    kept[name] = {
      description: operation.description ?? '',
      schema: standardOf(operation.parameters),
      run: operation.run as CodeOperation['run'],
      idempotent: operation.idempotent ?? false,
    };
  }
  if (byDefault !== undefined && !Object.hasOwn(kept, byDefault))
    findings.push({ path: ['default'], finding: defaultUnknown(byDefault, Object.keys(kept)) });
  kept.health = healthOf(label, health);
  const code: CodeRelic = { operations: kept, parameters, byDefault };
  return {
    label,
    folder,
    value: { kind: 'Relic', ...settings, driver: 'kv' },
    identity: relic,
    code,
    pinned: { operations: pinnedOperations(kept, parameters), default: byDefault ?? null },
    writtenAt: (path) => path,
    findings,
    imports: [],
  };
}

async function parametersOf(
  { parameters, jsonSchema }: KeptOperation,
  path: readonly string[],
  findings: Found[],
): Promise<JsonObject> {
  const place = jsonSchema === undefined ? 'parameters' : 'jsonSchema';
  const fail = (finding: Found['finding']) => {
    findings.push({ path: [...path, place], finding });
    return NO_PARAMETERS;
  };
  if (parameters === undefined) return NO_PARAMETERS;
  let shown = jsonSchema;
  if (shown === undefined && isStandardSchema(parameters)) {
    const made = await jsonSchemaOf(parameters, 'input');
    if (!made.ok) return fail(made.finding);
    shown = made.schema;
  }
  const schema = shown ?? (parameters as JsonObject);
  if (!isMap(schema) || schema.type !== 'object' || holdsReference(schema)) return fail(notFlat());
  for (const { path: inner, ...finding } of checkUserSchema(schema))
    findings.push({ path: [...path, place, ...inner], finding: { severity: 'error', ...finding } });
  return schema;
}

const holdsReference = (value: Json): boolean =>
  Array.isArray(value)
    ? value.some(holdsReference)
    : isMap(value) &&
      (typeof value.$ref === 'string' || Object.values(value).some((item) => holdsReference(item as Json)));

const healthOf = (label: string, ask: ((context: unknown) => unknown) | undefined): CodeOperation => ({
  description: 'whether it answers',
  idempotent: true,
  async run(_, context) {
    const answer = await ask?.(context);
    return answer ?? { ok: true, where: label };
  },
});

/** What the model is told of the operations, and what recovery makes of them. */
const pinnedOperations = (
  operations: Readonly<Record<string, CodeOperation>>,
  parameters: Readonly<Record<string, JsonObject>>,
): JsonObject =>
  Object.fromEntries(
    Object.entries(operations).map(([name, { description, idempotent }]) => [
      name,
      { description, idempotent, parameters: parameters[name] ?? {} },
    ]),
  );
