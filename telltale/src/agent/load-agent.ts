import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { RuntimeError } from '../lib/errors.ts';
import { suggest } from '../lib/nearest.ts';
import type { Diagnostic } from '../manifest/diagnostic.ts';
import { formatDiagnostic } from '../manifest/format-diagnostic.ts';
import { loadManifests } from '../manifest/load-manifests.ts';
import type { ImportList, LoadedManifest, Project } from '../manifest/project/project.ts';
import type { CodeImport, FileWithCode } from '../manifest/project/project-document.ts';
import { knownModels } from '../models/prices.ts';
import { KNOWN_PROVIDERS } from '../models/providers/known-providers.ts';
import { codeImport } from './define/agent-manifest.ts';
import type { DefinedArtifact, DefinedRelic, DefinedTool, DefinedWorkflow } from './define/definitions.ts';
import type { LoadedAgent } from './loaded-agent.ts';

export interface LoadAgentOptions {
  /** Where `${NAME}` is looked up: `process.env` by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Which agent, where the file holds several. */
  readonly name?: string;
  /** What the agents of the file import beyond what stands in it. */
  readonly tools?: readonly DefinedTool[];
  readonly relics?: readonly DefinedRelic[];
  readonly agents?: readonly LoadedAgent<unknown>[];
  readonly workflows?: readonly DefinedWorkflow<unknown>[];
  readonly artifacts?: readonly DefinedArtifact[];
  readonly signal?: AbortSignal;
}

/** Reads an agent's manifest and all it imports. Throws `bad_manifest`, with all that is wrong as `diagnostics`. */
export async function loadAgent(path: string, options: LoadAgentOptions = {}): Promise<LoadedAgent> {
  const file = resolve(options.cwd ?? '.', path);
  const source: FileWithCode = { path: file, beside: await importsOf(options, dirname(file)) };
  const loaded = await loadManifests([source], {
    env: options.env ?? {},
    signal: options.signal,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  if (!loaded.ok) throw badManifest(path, loaded.diagnostics);
  const [project] = loaded.projects;
  const found = project === undefined ? undefined : chooseAgent(project, file, path, options.name);
  if (project === undefined || found === undefined || found.manifest.kind !== 'Agent') throw noAgent(path);
  return {
    manifest: found.manifest,
    project,
    path: file,
    folder: dirname(found.file),
    hash: hashOf(project.manifests),
    source,
  };
}

async function importsOf(options: LoadAgentOptions, folder: string): Promise<readonly CodeImport[]> {
  const { tools = [], relics = [], agents = [], workflows = [], artifacts = [] } = options;
  const lists = { tools, relics, agents, workflows, artifacts };
  const imports: CodeImport[] = [];
  for (const [list, entries] of Object.entries(lists) as [ImportList, unknown[]][])
    for (const [index, entry] of entries.entries()) {
      const imported = await codeImport(list, entry, folder);
      if (typeof imported !== 'object') throw notFromCode(list, index);
      imports.push(imported);
    }
  return imports;
}

/** The agent that the file itself holds, not one it imports. */
function chooseAgent(
  project: Project,
  file: string,
  path: string,
  name: string | undefined,
): LoadedManifest | undefined {
  const agents = project.manifests.filter(({ kind }) => kind === 'Agent');
  const own = agents.filter((agent) => resolve(agent.file) === file);
  const candidates = own.length > 0 ? own : agents;
  if (name !== undefined) {
    const named = candidates.find((agent) => agent.name === name);
    if (named === undefined)
      throw agentUnknown(
        path,
        name,
        candidates.map((agent) => agent.name),
      );
    return named;
  }
  return candidates[0];
}

/** The same for the same manifests, wherever they lie and in whatever order they were read. */
export function hashOf(manifests: readonly LoadedManifest[]): string {
  const hash = createHash('sha256');
  for (const line of manifests.map(({ id, hash: own }) => `${id} ${own}\n`).sort()) hash.update(line);
  return hash.digest('hex');
}

const MAX_SHOWN = 3;

export function badManifest(
  path: string,
  diagnostics: readonly Diagnostic[],
  hint = `To see all errors: telltale validate ${path}`,
) {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const shown = errors.slice(0, MAX_SHOWN).map((each) => formatDiagnostic(each));
  const error = new RuntimeError(
    'bad_manifest',
    `${path} has ${errors.length} ${errors.length === 1 ? 'error' : 'errors'}:\n${shown.join('\n')}`,
    { hint },
  );
  return Object.assign(error, { diagnostics });
}

const noAgent = (path: string) =>
  new RuntimeError('no_agent', `${path} has no Agent.`, {
    hint: 'Name a file that contains "kind: Agent".',
  });

const notFromCode = (list: string, index: number) =>
  new RuntimeError('bad_option', `loadAgent: "/${list}/${index}" was not made by code.`, {
    hint: 'Give what defineTool, defineRelic, defineWorkflow, defineArtifact, defineAgent or loadAgent returned; a manifest is imported by another manifest.',
  });

const agentUnknown = (path: string, asked: string, known: readonly string[]) =>
  new RuntimeError('no_agent', `${path} holds no agent named "${asked}".`, {
    hint: suggest(asked, known, 'Agents in it'),
  });

/** The models of the providers whose keys are set, as `provider/model`, as far as they are known here. */
export const modelsWithKeys = (env: Readonly<Record<string, string | undefined>>): readonly string[] =>
  Object.entries(KNOWN_PROVIDERS).flatMap(([provider, { keyVariable, needsKey }]) =>
    needsKey && keyVariable !== undefined && env[keyVariable] ? knownModels(provider) : [],
  );
