import type { JsonObject } from '../../kernel/json.ts';
import type { CodeImport, CodeManifest } from '../../manifest/project/code-manifest.ts';
import type { ImportList } from '../../manifest/project/project.ts';
import type { ManifestKind } from '../../manifest/schema/kinds.ts';
import { badFigure } from '../../models/bad-figure.ts';
import type { Model } from '../../models/model.ts';
import { isModelObject, modelOf } from '../../models/model-object.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { AgentCode } from './agent-code.ts';
import { artifactManifest } from './artifact-manifest.ts';
import {
  type Found,
  importsInCode,
  notAFigure,
  notAList,
  notAModel,
  notImportable,
} from './code-findings.ts';
import type { DefinedArtifact } from './define-artifact.ts';
import type { DefinedRelic } from './define-relic.ts';
import type { DefinedTool } from './define-tool.ts';
import type { DefinedWorkflow } from './define-workflow.ts';
import { jsonSchemaOf } from './json-schema-of.ts';
import { relicManifest } from './relic-manifest.ts';
import { isStandardSchema } from './schema.ts';
import { toolManifest } from './tool-manifest.ts';
import { workflowManifest } from './workflow-manifest.ts';

type Given = Readonly<Record<string, unknown>>;

/** An agent as the checks of manifests see it, with all that it imports from code. Findings, never throws. */
export async function agentManifest(definition: Given, folder: string): Promise<CodeManifest> {
  const { tools, relics, agents, workflows, artifacts, model, models, output, ...settings } = definition;
  const findings: Found[] = [];
  if ('import' in settings) findings.push({ path: ['import'], finding: importsInCode() });
  const imports = await readImports({ tools, relics, agents, workflows, artifacts }, folder, findings);
  const named = readModels(model, models, findings);
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
  readonly document: Given;
  readonly fromCode: readonly CodeImport[];
  /** Where the entries of each list of the document stand in what was written. */
  readonly places: ReadonlyMap<string, readonly number[]>;
}

async function readImports(
  lists: Readonly<Record<ImportList, unknown>>,
  folder: string,
  findings: Found[],
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

/** Undefined for what a manifest can hold itself. */
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

function readModels(model: unknown, models: unknown, findings: Found[]) {
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
    ? Object.fromEntries(Object.entries(models).map(([name, each]) => [name, refer(each, ['models', name])]))
    : models;
  return {
    objects,
    document: {
      ...(own === undefined ? {} : { model: own }),
      ...(others === undefined ? {} : { models: others }),
    },
  };
}

async function readOutput(output: unknown, findings: Found[]) {
  const { schema, jsonSchema, ...rest } = (output ?? {}) as Given;
  if (!isStandardSchema(schema)) return { standard: undefined, document: output };
  const made =
    jsonSchema === undefined
      ? await jsonSchemaOf(schema, 'input')
      : ({ ok: true, schema: jsonSchema as JsonObject } as const);
  if (!made.ok) findings.push({ path: ['output', 'schema'], finding: made.finding });
  return { standard: schema, document: made.ok ? { ...rest, schema: made.schema } : undefined };
}
