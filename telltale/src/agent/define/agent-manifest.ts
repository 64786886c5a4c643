import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Finding, IssuePath } from '../../manifest/diagnostic.ts';
import type { ImportList } from '../../manifest/project/project.ts';
import type { CodeImport, CodeManifest } from '../../manifest/project/project-document.ts';
import type { ManifestKind } from '../../manifest/schema/kinds.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { checkUserSchema } from '../../manifest/schema/user-schemas/check-user-schema.ts';
import { checkPattern } from '../../manifest/schema/values.ts';
import { badFigure } from '../../models/bad-figure.ts';
import type { Model } from '../../models/model.ts';
import { isModelObject, modelOf } from '../../models/model-object.ts';
import type { CodeOperation, CodeRelic, CodeTool } from '../../tools/code/code-tool.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { AgentCode, WorkflowCode } from './agent-code.ts';
import {
  artifactManifest,
  type DefinitionFinding,
  defaultUnknown,
  importsInCode,
  nameReserved,
  noOperations,
  notAFigure,
  notAFunction,
  notAList,
  notAModel,
  notFlat,
  notImportable,
} from './artifact-manifest.ts';
import {
  type DefinedArtifact,
  type DefinedRelic,
  type DefinedTool,
  type DefinedWorkflow,
  isStandardSchema,
  type KeptOperation,
  standardOf,
} from './definitions.ts';

type RawDefinition = Readonly<Record<string, unknown>>;

/**
 * An agent in code as a manifest for checking, with everything that it imports. Reports findings instead of
 * throwing.
 */
export async function agentManifest(definition: RawDefinition, folder: string): Promise<CodeManifest> {
  const { tools, relics, agents, workflows, artifacts, model, models, output, ...more } = definition;
  const { fallback_models, ...settings } = more;
  const findings: DefinitionFinding[] = [];
  if ('import' in settings) findings.push({ path: ['import'], finding: importsInCode() });
  const imports = await readImports({ tools, relics, agents, workflows, artifacts }, folder, findings);
  const named = readModels({ model, models, fallback_models }, findings);
  const results = await readOutput(output, findings);
  const code: AgentCode = { models: named.objects, output: results.standard, folder };
  return {
    label: agentLabel(definition.name),
    folder,
    value: {
      ...settings,
      kind: 'Agent',
      ...named.document,
      ...(results.document === undefined ? {} : { output: results.document }),
      import: imports.document,
    },
    identity: code,
    code,
    pinned: {},
    writtenAt: ([section, list, index, ...rest]) => {
      const places = imports.places.get(String(list));
      if (section !== 'import' || places === undefined)
        return [section, list, index, ...rest].filter((step) => step !== undefined);
      return typeof index === 'number' ? [String(list), places[index] ?? index, ...rest] : [String(list)];
    },
    findings,
    imports: imports.fromCode,
  };
}

const agentLabel = (name: unknown): string => `defineAgent(${JSON.stringify(name) ?? ''})`;

const MADE: Readonly<Record<ImportList, string>> = {
  tools: 'a tool (defineTool), a path, "builtin:NAME" or { mcp: { … } }',
  relics: 'a relic (defineRelic) or a path',
  agents: 'an agent (defineAgent, loadAgent) or a path',
  workflows: 'a workflow (defineWorkflow) or a path',
  artifacts: 'an artifact (defineArtifact) or a path',
};

interface ReadImports {
  readonly document: RawDefinition;
  readonly fromCode: readonly CodeImport[];
  /** The original indexes of the entries of each list. */
  readonly places: ReadonlyMap<string, readonly number[]>;
}

async function readImports(
  lists: Readonly<Record<ImportList, unknown>>,
  folder: string,
  findings: DefinitionFinding[],
): Promise<ReadImports> {
  const document: Record<string, unknown> = {};
  const fromCode: CodeImport[] = [];
  const places = new Map<string, number[]>();
  for (const [list, entries] of Object.entries(lists) as [ImportList, unknown][]) {
    if (entries === undefined) continue;
    if (!Array.isArray(entries)) {
      findings.push({ path: [list], finding: notAList(list, entries) });
      continue;
    }
    const kept: unknown[] = [];
    const at: number[] = [];
    for (const [index, entry] of entries.entries()) {
      const imported = await codeImport(list, entry, folder);
      if (imported === 'refused')
        findings.push({ path: [list, index], finding: notImportable(list, entry, MADE[list]) });
      else if (imported !== undefined) fromCode.push(imported);
      else {
        kept.push(entry);
        at.push(index);
      }
    }
    document[list] = kept;
    places.set(list, at);
  }
  return { document, fromCode, places };
}

/** Undefined for entries that a manifest can hold. */
export async function codeImport(
  list: ImportList,
  entry: unknown,
  folder: string,
): Promise<CodeImport | 'refused' | undefined> {
  if (typeof entry !== 'object' || entry === null) return typeof entry === 'string' ? undefined : 'refused';
  const { kind, source, mcp } = entry as {
    readonly kind?: ManifestKind;
    readonly source?: NonNullable<LoadedAgent['source']>;
    readonly mcp?: unknown;
  };
  if (list === 'tools' && kind === 'Tool')
    return { list, entry: await toolManifest(entry as DefinedTool, folder) };
  if (list === 'relics' && kind === 'Relic')
    return { list, entry: await relicManifest(entry as DefinedRelic, folder) };
  if (list === 'workflows' && kind === 'Workflow')
    return { list, entry: await workflowManifest(entry as DefinedWorkflow<unknown>, folder) };
  if (list === 'artifacts' && kind === 'Artifact')
    return { list, entry: artifactManifest(entry as DefinedArtifact, folder) };
  if (list === 'agents' && source !== undefined) return { list, entry: source };
  return list === 'tools' && mcp !== undefined ? undefined : 'refused';
}

const PROVIDER_MODEL = /^[A-Za-z0-9][A-Za-z0-9_.-]*\/\S+$/;

function readModels(
  { model, models, fallback_models: fallbacks }: RawDefinition,
  findings: DefinitionFinding[],
) {
  const objects = new Map<string, Model>();
  const refer = (found: unknown, path: readonly string[]): unknown => {
    if ((typeof found !== 'object' && typeof found !== 'function') || found === null) return found;
    if (!isModelObject(found)) {
      findings.push({ path, finding: notAModel(found) });
      return undefined;
    }
    const given = modelOf(found);
    const bad = badFigure(given);
    if (bad !== undefined) findings.push({ path: [...path, ...bad.path], finding: notAFigure(bad) });
    const id = PROVIDER_MODEL.test(given.id)
      ? given.id
      : `scripted:${encodeURIComponent(given.id.replace(/^scripted:/, '') || 'model')}`;
    const isTaken = objects.has(id) && objects.get(id) !== given;
    const reference = isTaken ? `${id}#${path.join('.')}` : id;
    objects.set(reference, given);
    return reference;
  };
  const own = refer(model, ['model']);
  const isMap = typeof models === 'object' && models !== null;
  const others = isMap
    ? Object.fromEntries(
        Object.entries(models).map(([name, each]) => [
          name,
          isOptioned(each)
            ? { ...each, model: refer(each.model, ['models', name, 'model']) }
            : refer(each, ['models', name]),
        ]),
      )
    : models;
  return {
    objects,
    document: {
      ...(own === undefined ? {} : { model: own }),
      ...(others === undefined ? {} : { models: others }),
      ...(fallbacks === undefined
        ? {}
        : {
            fallback_models: Array.isArray(fallbacks)
              ? fallbacks.map((each: unknown, index) => refer(each, ['fallback_models', String(index)]))
              : fallbacks,
          }),
    },
  };
}

/** A model with its own sampling options. */
const isOptioned = (entry: unknown): entry is RawDefinition & { readonly model: unknown } =>
  typeof entry === 'object' && entry !== null && 'model' in entry && !isModelObject(entry);

async function readOutput(output: unknown, findings: DefinitionFinding[]) {
  const { schema, jsonSchema, ...rest } = (output ?? {}) as RawDefinition;
  if (!isStandardSchema(schema)) return { standard: undefined, document: output };
  const made =
    jsonSchema === undefined
      ? await jsonSchemaOf(schema, 'input')
      : ({ ok: true, schema: jsonSchema as JsonObject } as const);
  if (!made.ok) findings.push({ path: ['output', 'schema'], finding: made.finding });
  return { standard: schema, document: made.ok ? { ...rest, schema: made.schema } : undefined };
}

/** A workflow in code as a manifest for checking. */
async function workflowManifest(workflow: DefinedWorkflow<unknown>, folder: string): Promise<CodeManifest> {
  const { input, jsonSchema, ...settings } = workflow.definition as Readonly<Record<string, unknown>>;
  const findings: DefinitionFinding[] = [];
  const shown = await shownSchema(input, jsonSchema, ['input'], findings);
  const code: WorkflowCode = { input: standardOf(input) };
  return {
    label: `defineWorkflow(${JSON.stringify(workflow.name) ?? ''})`,
    folder,
    value: { ...settings, kind: 'Workflow', ...(shown === undefined ? {} : { input: shown }) },
    identity: workflow,
    code,
    pinned: {},
    writtenAt: (path) =>
      path[0] === 'input' && jsonSchema !== undefined ? ['jsonSchema', ...path.slice(1)] : path,
    findings,
    imports: [],
  };
}

/** A tool in code as a manifest for checking. */
async function toolManifest(tool: DefinedTool, folder: string): Promise<CodeManifest> {
  const { parameters, jsonSchema, output, run, ...settings } = tool.definition as Readonly<
    Record<string, unknown>
  >;
  const label = `defineTool(${JSON.stringify(tool.name) ?? ''})`;
  const findings: DefinitionFinding[] = [];
  if (typeof run !== 'function') findings.push({ path: ['run'], finding: notAFunction(run) });
  const results = await checkedOutput(output);
  const shown = await shownSchema(parameters, jsonSchema, ['parameters'], findings);
  const code: CodeTool = {
    run: run as CodeTool['run'],
    parameters: standardOf(parameters),
    output: results.standard,
  };
  return {
    label,
    folder,
    value: {
      kind: 'Tool',
      ...settings,
      ...(shown === undefined ? {} : { parameters: shown }),
      ...(results.document === undefined ? {} : { output: results.document }),
      implementation: { module: label }, // required by the schema, unused for tools in code
    },
    identity: tool,
    code,
    pinned: {},
    writtenAt: (path) => {
      if (path[0] === 'parameters' && jsonSchema !== undefined) return ['jsonSchema', ...path.slice(1)];
      return path[0] === 'output' && isStandardSchema(output) ? ['output'] : path;
    },
    findings,
    imports: [],
  };
}

/**
 * A schema, or `{ schema, max_bytes }`. A schema that cannot be converted to JSON Schema is left out of the
 * document.
 */
async function checkedOutput(output: unknown) {
  const parts = (isStandardSchema(output) ? { schema: output } : output) as
    | Readonly<Record<string, unknown>>
    | undefined;
  const standard = standardOf(parts?.schema);
  if (standard === undefined || parts === undefined) return { standard: undefined, document: output };
  const { schema: _, ...rest } = parts;
  const made = await jsonSchemaOf(standard, 'output');
  return { standard, document: made.ok ? { ...rest, schema: made.schema } : rest };
}

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {}, additionalProperties: false };

/** A relic in code as a manifest for checking. Its driver is required by the schema and unused. */
async function relicManifest(relic: DefinedRelic, folder: string): Promise<CodeManifest> {
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
  const findings: DefinitionFinding[] = [];
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
  findings: DefinitionFinding[],
): Promise<JsonObject> {
  const place = jsonSchema === undefined ? 'parameters' : 'jsonSchema';
  const fail = (finding: DefinitionFinding['finding']) => {
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

/** The parts of operations that sessions are pinned to: what the model sees, and what recovery uses. */
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

/**
 * The JSON Schema for the document: the schema itself, `jsonSchema`, or what the schema library converts it
 * to.
 */
async function shownSchema(
  schema: unknown,
  jsonSchema: unknown,
  path: IssuePath,
  findings: DefinitionFinding[],
): Promise<unknown> {
  if (!isStandardSchema(schema)) return schema;
  if (jsonSchema !== undefined) return jsonSchema;
  const made = await jsonSchemaOf(schema, 'input');
  if (made.ok) return made.schema;
  findings.push({ path, finding: made.finding });
  return undefined;
}

const TARGET = 'draft-2020-12';

export type JsonSchemaOf =
  | { readonly ok: true; readonly schema: JsonObject }
  | { readonly ok: false; readonly finding: Finding };

/**
 * The JSON Schema of the input or output of a Standard Schema. The model reads it. The schema itself checks
 * values.
 */
async function jsonSchemaOf(schema: StandardSchemaV1, side: 'input' | 'output'): Promise<JsonSchemaOf> {
  const { vendor } = schema['~standard'];
  try {
    const made = await convert(schema, side);
    if (made === undefined) return { ok: false, finding: noJsonSchema(vendor) };
    const { $schema: _, ...plain } = JSON.parse(JSON.stringify(made)) as JsonObject;
    return { ok: true, schema: withoutSlowPatterns(plain) as JsonObject };
  } catch (thrown) {
    return { ok: false, finding: notConvertible(vendor, toRuntimeError(thrown).message) };
  }
}

async function convert(schema: StandardSchemaV1, side: 'input' | 'output'): Promise<unknown> {
  const { jsonSchema, vendor } = schema['~standard'] as Partial<StandardJSONSchemaV1.Props>;
  if (jsonSchema !== undefined) return jsonSchema[side]({ target: TARGET });
  if (vendor === 'zod' && '_zod' in schema) {
    const { z } = await import('zod'); // older Zod 4 without the extension
    return z.toJSONSchema(schema as unknown as import('zod').ZodType, { io: side, target: TARGET });
  }
  const { toJsonSchema } = schema as { readonly toJsonSchema?: unknown }; // older ArkType without the extension
  return typeof toJsonSchema === 'function' ? toJsonSchema.call(schema) : undefined;
}

/**
 * Removes patterns with look-ahead (such as e-mail addresses), which linear regex engines cannot match and
 * manifests may not contain. The schema itself still checks the value.
 */
function withoutSlowPatterns(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutSlowPatterns);
  if (typeof value !== 'object' || value === null) return value;
  const isSlow = (key: string, item: Json) =>
    key === 'pattern' && typeof item === 'string' && checkPattern(item) !== undefined;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      isSlow(key, item) ? [] : [[key, withoutSlowPatterns(item)]],
    ),
  );
}

const GIVE = 'Give it yourself beside the schema, as "jsonSchema".';

const noJsonSchema = (vendor: string): Finding => ({
  severity: 'error',
  code: 'no_json_schema',
  message: `This schema of ${vendor} cannot say what it is as JSON Schema, which the model has to read.`,
  hint:
    vendor === 'valibot'
      ? `Give it beside the schema: jsonSchema: toJsonSchema(schema, { target: "${TARGET}" }), from @valibot/to-json-schema.`
      : GIVE,
});

const notConvertible = (vendor: string, why: string): Finding => ({
  severity: 'error',
  code: 'no_json_schema',
  message: `${vendor} cannot write this schema as JSON Schema, which the model has to read: ${why}`,
  hint: GIVE,
});
