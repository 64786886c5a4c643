import { dirname } from 'node:path';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { envOf, hideEnv } from '../../manifest/env/hide-env.ts';
import type { LoadedManifest } from '../../manifest/project/project.ts';
import type { AgentManifest, Manifest } from '../../manifest/schema/kinds.ts';
import type { Target } from '../../targets/target.ts';
import type { Io } from '../io.ts';
import { operationsOf, type ShownOperation } from './operations.ts';

export const THING_KINDS = ['Agent', 'Tool', 'Relic', 'Artifact', 'Workflow', 'Prompt'] as const;
export type ThingKind = (typeof THING_KINDS)[number];

/** Something that a manifest or the runtime itself gives a name to. */
export interface Thing {
  readonly kind: ThingKind;
  readonly name: string;
  /** Where it stands; absent for what is built in. */
  readonly file?: string;
  readonly line?: number;
  readonly hash?: string;
  /** As it is checked, with all defaults; absent for what is built in. */
  readonly manifest?: Manifest;
  /** What an action that calls it is checked by. */
  readonly parameters?: JsonObject;
  /** Each with its own parameters, where it has operations. */
  readonly operations?: readonly ShownOperation[];
  readonly description?: string;
  /** Of an agent: what stands in its own file, which it has without importing it. */
  readonly beside?: readonly Pick<Thing, 'kind' | 'name'>[];
  /** Agents that import it, or have it in their own file. */
  readonly usedBy: readonly string[];
  /** Why more cannot be said, as for a driver that is not there. */
  readonly problem?: string;
}

export interface KnownThings {
  readonly things: readonly Thing[];
  /** Mistakes in the manifests that were read. */
  readonly mistakes: number;
}

/** Everything that has a name below a folder or in a manifest, and all that is built in. Nothing is run or connected. */
export async function knownThings(path: string, io: Io): Promise<KnownThings> {
  const { validateManifests } = await import('../../manifest/validate-manifests.ts');
  const { cwd, signal } = io;
  const env = withoutSecrets(io.env);
  const { projects, diagnostics } = await validateManifests([path], { env, cwd, signal });
  const loaded = projects.flatMap(({ manifests }) => manifests);
  const things: Thing[] = [];
  const fromEnv = envOf(loaded).filter(({ name, value }) => value !== `<${name}>`);
  const hidden = <T>(part: T): T =>
    part === undefined ? part : (hideEnv(JSON.parse(JSON.stringify(part)) as Json, fromEnv) as T);
  const shown = ({ manifest, parameters, operations, description, ...thing }: Thing): Thing => ({
    ...thing,
    ...(manifest === undefined ? {} : { manifest: hidden(manifest) }),
    ...(parameters === undefined ? {} : { parameters: hidden(parameters) }),
    ...(operations === undefined ? {} : { operations: hidden(operations) }),
    ...(description === undefined ? {} : { description: hidden(description) }),
  });
  for (const each of loaded) things.push(shown(await thingOf(each, loaded, io)));
  for (const { manifest, file, line } of loaded)
    if (manifest.kind === 'Agent') things.push(...promptsOf(manifest, file, line).map(shown));
  return {
    things: [...things, ...(await builtIn(loaded, io))],
    mistakes: diagnostics.filter(({ severity }) => severity === 'error').length,
  };
}

async function thingOf(each: LoadedManifest, all: readonly LoadedManifest[], io: Io): Promise<Thing> {
  const { kind, name, file, line, hash, manifest } = each;
  const { description } = manifest;
  const besides = all.filter((other) => other.file === file && other !== each);
  const usedBy = all.flatMap((other) => {
    const isImported = other.imports.some(
      (entry) => entry.type === 'files' && entry.manifests.includes(each.id),
    );
    return isImported || (other.kind === 'Agent' && besides.includes(other)) ? [other.name] : [];
  });
  const thing = {
    kind,
    name,
    file,
    line,
    hash,
    manifest,
    usedBy,
    ...(kind === 'Agent' ? { beside: besides.map((other) => ({ kind: other.kind, name: other.name })) } : {}),
    ...(description === undefined ? {} : { description }),
  };
  if (kind === 'Tool' && manifest.kind === 'Tool')
    return { ...thing, parameters: manifest.parameters as JsonObject };
  if (kind !== 'Relic') return thing;
  return { ...thing, ...(await relicTarget(file, name, io)) };
}

/** A relic's operations are those of its driver: asked of the target that an agent would get. */
async function relicTarget(
  file: string,
  name: string,
  io: Io,
): Promise<Pick<Thing, 'parameters' | 'operations' | 'description' | 'problem'>> {
  try {
    const found = await targetsOf(`import: { relics: [${JSON.stringify(file)}] }`, dirname(file), io);
    const target = found.find((each) => each.kind === 'relic' && each.name === name);
    return target === undefined ? {} : { description: target.description, ...parametersOf(target) };
  } catch (thrown) {
    return { problem: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

function parametersOf(target: Target): Pick<Thing, 'parameters' | 'operations'> {
  const operations = operationsOf(target);
  return { parameters: target.parameters, ...(operations === undefined ? {} : { operations }) };
}

async function builtIn(loaded: readonly LoadedManifest[], io: Io): Promise<readonly Thing[]> {
  const { BUILTIN_TOOLS } = await import('../../manifest/schema/imports.ts');
  const tools = BUILTIN_TOOLS.map((name) => `"builtin:${name}"`).join(', ');
  const found = await targetsOf(`import: { tools: [${tools}] }`, io.cwd, io);
  return found.flatMap((target): readonly Thing[] => {
    const { kind, name, description } = target;
    if (kind !== 'tool' && kind !== 'llm') return [];
    const usedBy = loaded.flatMap((each) =>
      each.imports.some((entry) => entry.type === 'builtin' && entry.name === name) ? [each.name] : [],
    );
    return [
      { kind: kind === 'tool' ? 'Tool' : 'Prompt', name, description, ...parametersOf(target), usedBy },
    ];
  });
}

/** What an agent with these imports could call. It is no session's, so nothing is opened for it. */
async function targetsOf(imports: string, folder: string, io: Io): Promise<readonly Target[]> {
  const [{ loadManifests }, { createTargets }, { createMemoryStore }] = await Promise.all([
    import('../../manifest/load-manifests.ts'),
    import('../../targets/create-targets.ts'),
    import('../../store/memory/memory-store.ts'),
  ]);
  const { cwd, clock } = io;
  const env = withoutSecrets(io.env);
  const bytes = Buffer.from(`kind: Agent\nname: inspected\nmodel: scripted:none\n${imports}\n`);
  const { projects } = await loadManifests([{ label: 'inspect', bytes, folder }], { env, cwd });
  const [project] = projects;
  const agent = project?.manifests.find(({ name }) => name === 'inspected')?.manifest;
  if (project === undefined || agent?.kind !== 'Agent') return [];
  const store = createMemoryStore({ clock });
  const openModel = () => Promise.reject(new Error('Nothing is asked of a model here.'));
  const table = await createTargets({ agent, project, folder, clock, env, store, openModel });
  try {
    return table.all;
  } finally {
    await table.close();
    await store.close();
  }
}

const SECRET = /key|token|secret|passw|credential|auth/i;

/** What is shown may be pasted into an issue: of variables that hold secrets only the names are put in. */
const withoutSecrets = (env: Io['env']): Io['env'] =>
  Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, SECRET.test(name) && value ? `<${name}>` : value]),
  );

const promptsOf = (agent: AgentManifest, file: string, line: number): readonly Thing[] =>
  Object.entries(agent.prompts).map(([name, { description, template }]) => ({
    kind: 'Prompt',
    name,
    file,
    line,
    description: description ?? template,
    usedBy: [agent.name],
  }));
