import { dirname, relative } from 'node:path';
import { sourceText } from '../../feeds/create-keeper.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { envOf, hideEnv } from '../../manifest/environment.ts';
import { KIND_OF_LIST, type LoadedManifest } from '../../manifest/project/project.ts';
import type { AgentManifest, Manifest } from '../../manifest/schema/kinds.ts';

import { type ModelOptionsManifest, namedOptions, namedRef } from '../../manifest/schema/model-options.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import type { Target } from '../../tools/target.ts';

import type { Io } from '../io.ts';
import { countText, spanText } from '../view/figures.ts';

type LocalThing = NonNullable<Thing['beside']>;

/** A label and the lines below it. */
export type ThingFact = readonly [label: string, lines: readonly string[]];

/** The facts about a thing, for people. Empty facts are omitted. */
export function factsOf(thing: Thing, cwd: string): readonly ThingFact[] {
  const facts: ThingFact[] = [
    ['', thing.description === undefined ? [] : thing.description.trim().split('\n')],
    ['file', thing.file === undefined ? ['built in'] : [`${near(thing.file, cwd)}:${thing.line ?? 1}`]],
    ...(thing.manifest === undefined ? [] : ownFacts(thing.manifest, thing.beside ?? [])),
    ...parameterFacts(thing),
    ['used by', thing.usedBy.length === 0 ? [] : [thing.usedBy.join(', ')]],
    ['problem', thing.problem === undefined ? [] : [thing.problem]],
  ];
  return facts.filter(([, lines]) => lines.length > 0);
}

/** A path as the user would type it here. */
export const near = (file: string, cwd: string): string => {
  const path = relative(cwd, file);
  return path === '' || path.startsWith('..') ? file : path;
};

function parameterFacts({ parameters, operations, kind }: Thing): readonly ThingFact[] {
  if (parameters === undefined) return [];
  if (operations === undefined) {
    const lines = parametersIn(parameters).map(parameterLine);
    return [['parameters', lines.length === 0 && kind === 'Tool' ? ['none'] : lines]];
  }
  const lines = operations.flatMap(({ name, description, isDefault, parameters: own }) => [
    `${name}${isDefault ? ' (default)' : ''}: ${description}`,
    ...own.map((parameter) => `  ${parameterLine(parameter)}`),
  ]);
  return [['operations', lines]];
}

const parameterLine = ({ name, type, required, description }: ShownParameter): string =>
  `${name}${required ? '' : '?'}: ${type}${description === '' ? '' : ` – ${description}`}`;

function ownFacts(manifest: Manifest, beside: LocalThing): readonly ThingFact[] {
  switch (manifest.kind) {
    case 'Agent':
      return agentFacts(manifest, beside);
    case 'Tool':
      return [
        ['runs', [implementationText(manifest.implementation)]],
        ['needs', needsOf(manifest.implementation)],
        ['approval', manifest.approval === 'always' ? ['a person approves each call'] : []],
        ['start', manifest.start === 'on_turn_end' ? ['when the response has ended well'] : []],
        ['again', [manifest.idempotent ? 'may run again after a crash' : 'never runs again after a crash']],
        ['time-out', manifest.timeout === undefined ? [] : [`${manifest.timeout.ms / 1000} s`]],
      ];
    case 'Relic':
      return [
        ['driver', [manifest.driver]],
        ['approval', manifest.approval === 'always' ? ['a person approves each call'] : []],
      ];
    case 'Artifact':
      return [
        [
          'source',
          [
            manifest.module ??
              `in the manifest, ${countText((manifest.source ?? '').split('\n').length, 'line')}`,
          ],
        ],
        ['methods', namedLines(manifest.methods ?? {})],
      ];
    case 'Workflow':
      return workflowFacts(manifest);
  }
}

function agentFacts(agent: AgentManifest, beside: LocalThing): readonly ThingFact[] {
  const { limits, metadata, permissions } = agent;
  const { import: imports } = agent;
  const fields = Object.entries(metadata.fields).map(([name, field]) => {
    const values = 'values' in field ? ` ${field.values.join(' | ')}` : '';
    const start = field.default === undefined ? '' : `; default ${JSON.stringify(field.default)}`;
    return `${name}: ${field.type}${values}${start}${field.description === undefined ? '' : ` – ${field.description}`}`;
  });
  const imported = (['tools', 'relics', 'agents', 'workflows', 'artifacts'] as const).map(
    (list): ThingFact => [
      list,
      [
        ...imports[list].map((entry) => (typeof entry === 'string' ? entry : JSON.stringify(entry))),
        ...beside.filter(({ kind }) => kind === KIND_OF_LIST[list]).map(({ name }) => `${name}, in its file`),
      ],
    ],
  );
  return [
    ['model', [agent.model ?? 'none of its own: that of its caller, or --model']],
    [
      'models',
      Object.entries(agent.models).map(
        ([name, entry]) => `${name}: ${[namedRef(entry), ...optionTexts(namedOptions(entry))].join(', ')}`,
      ),
    ],
    ['model options', optionTexts(agent.model_options)],
    ['dialect', [agent.dialect]],
    ['workflow', agent.workflow === null ? [] : [agent.workflow]],
    ...imported,
    ['prompts', Object.keys(agent.prompts)],
    ['limits', [limitText(limits)]],
    ['metadata', fields],
    ['feeds', agent.context_feeds.map(feedText)],
    ['memory', memoryText(agent.memory)],
    [
      'permissions',
      [
        `paths ${rulesText(permissions.paths)}`,
        `network ${rulesText(permissions.network)}`,
        `shell ${rulesText(permissions.shell)}`,
        ...(permissions.artifacts.length === 0 ? [] : [`artifacts ${permissions.artifacts.join(', ')}`]),
        ...(permissions.sandbox === 'auto' ? [] : [`sandbox ${permissions.sandbox}`]),
        ...(permissions.environment.length === 0
          ? []
          : [`environment ${permissions.environment.join(', ')}`]),
      ],
    ],
    ['output', agent.output?.schema === undefined ? [] : ['JSON of a schema']],
  ];
}

const optionTexts = (options: ModelOptionsManifest): readonly string[] =>
  Object.entries(options).map(
    ([name, value]) => `${name} ${Array.isArray(value) ? JSON.stringify(value) : value}`,
  );

function feedText(feed: AgentManifest['context_feeds'][number]): string {
  const notes = [
    ...('source' in feed
      ? [
          feed.interval === undefined ? feed.type : `every ${spanText(feed.interval.ms)}`,
          ...(feed.inject === 'on_change' ? [] : [feed.inject]),
        ]
      : []),
    ...(feed.max_tokens === undefined ? [] : [`at most ${countText(feed.max_tokens, 'token')}`]),
    ...(feed.enabled === 'true'
      ? []
      : [feed.enabled === 'false' ? 'disabled' : `enabled if ${feed.enabled}`]),
  ];
  const source = 'source' in feed ? `: ${sourceText(feed.source)}` : '';
  return `${feed.id}${source}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`;
}

function memoryText(memory: AgentManifest['memory']): readonly string[] {
  if (memory?.graph === undefined) return [];
  const { graph, inject = 0 } = memory;
  return [`the graph of ${graph}${inject === 0 ? '' : `, ${countText(inject, 'token')} of it at the start`}`];
}

/** `., ask ../shared`: the allowed paths, then the restricted ones. */
function rulesText({ allow, ask, deny }: AgentManifest['permissions']['paths']): string {
  const parts = [
    allow.join(', '),
    ...(ask.length === 0 ? [] : [`ask ${ask.join(', ')}`]),
    ...(deny.length === 0 ? [] : [`deny ${deny.join(', ')}`]),
  ];
  return parts.filter((part) => part !== '').join('; ') || 'none';
}

function limitText(limits: AgentManifest['limits']): string {
  const parts = [`${countText(limits.turns, 'turn')}`];
  if (limits.tokens !== undefined) parts.push(countText(limits.tokens, 'token'));
  if (limits.cost_usd !== undefined) parts.push(`$${limits.cost_usd}`);
  if (limits.wall !== undefined) parts.push(`${limits.wall.ms / 1000} s of wall time`);
  parts.push(`${limits.parallel_actions} actions at once`, `${limits.action_timeout.ms / 1000} s per action`);
  return parts.join(', ');
}

function workflowFacts(workflow: Extract<Manifest, { kind: 'Workflow' }>): readonly ThingFact[] {
  const { states, steps, triggers } = workflow as {
    readonly states?: Readonly<Record<string, unknown>> | readonly { readonly name?: string }[];
    readonly steps?: readonly { readonly name: string; readonly type: string }[];
    readonly triggers?: readonly unknown[];
  };
  const named = Array.isArray(states) ? states.map(({ name }) => String(name)) : Object.keys(states ?? {});
  return [
    [
      'triggers',
      triggers === undefined || triggers.length === 0 ? [] : [countText(triggers.length, 'trigger')],
    ],
    ['states', named.length === 0 ? [] : [named.join(', ')]],
    ['steps', (steps ?? []).map(({ name, type }) => `${name}: ${type}`)],
  ];
}

type ThingImplementation = Extract<Manifest, { kind: 'Tool' }>['implementation'];

function implementationText(implementation: ThingImplementation): string {
  if ('module' in implementation) return `${implementation.export} of the module ${implementation.module}`;
  if ('command' in implementation) return `the command ${implementation.command.join(' ')}`;
  if ('http' in implementation) return `${implementation.http.method} ${implementation.http.url}`;
  if ('mcp' in implementation)
    return `${implementation.mcp.tool} of the MCP server ${implementation.mcp.server}`;
  return `a script of ${countText(implementation.script.split('\n').length, 'line')}`;
}

function needsOf(implementation: ThingImplementation): readonly string[] {
  if ('command' in implementation) return ['permissions: { shell: allow }, or approval by a person with ask'];
  if ('http' in implementation) return [`permissions: { network: [${hostOf(implementation.http.url)}] }`];
  return [];
}

const hostOf = (url: string): string => /^https?:\/\/([^/?#{]+)/.exec(url)?.[1] ?? 'HOST';

const namedLines = (named: Readonly<Record<string, { readonly description?: string | undefined }>>) =>
  Object.entries(named).map(([name, { description }]) =>
    description === undefined ? name : `${name}: ${description}`,
  );

const THING_KINDS = ['Agent', 'Tool', 'Relic', 'Artifact', 'Workflow', 'Prompt'] as const;
export type ThingKind = (typeof THING_KINDS)[number];

/** Anything with a name: from a manifest, or built in. */
export interface Thing {
  readonly kind: ThingKind;
  readonly name: string;
  /** Its file. Undefined for what is built in. */
  readonly file?: string;
  readonly line?: number;
  readonly hash?: string;
  /** The checked manifest with all defaults. Undefined for what is built in. */
  readonly manifest?: Manifest;
  /** The schema for the parameters of an action that calls it. */
  readonly parameters?: JsonObject;
  /** Its operations, each with its own parameters. */
  readonly operations?: readonly ShownOperation[];
  readonly description?: string;
  /** For an agent: what its own file defines, which it has without importing it. */
  readonly beside?: readonly Pick<Thing, 'kind' | 'name'>[];
  /** The agents that import it or define it in their own file. */
  readonly usedBy: readonly string[];
  /** Why nothing more is known, for example because a driver is missing. */
  readonly problem?: string;
}

export interface KnownThings {
  readonly things: readonly Thing[];
  /** How many mistakes the manifests contain. */
  readonly mistakes: number;
}

/** Everything with a name in a folder or a manifest, and everything that is built in. It runs and connects nothing. */
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

/** A relic's operations are those of its driver, as an agent would see them. */
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
  const { BUILTIN_TOOLS } = await import('../../manifest/schema/agent-input.ts');
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

/** The targets of an agent with these imports. It belongs to no session, so nothing is opened. */
async function targetsOf(imports: string, folder: string, io: Io): Promise<readonly Target[]> {
  const [{ loadManifests }, { createTargets }, { createMemoryStore }] = await Promise.all([
    import('../../manifest/load-manifests.ts'),
    import('../../tools/create-targets.ts'),
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

/** The output may be pasted into an issue, so secrets appear only as the names of their variables. */
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

export interface ShownParameter {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
}

export interface ShownOperation {
  readonly name: string;
  readonly description: string;
  readonly isDefault: boolean;
  readonly parameters: readonly ShownParameter[];
}

/** The operations of a target, each with its own parameters. Undefined if it has none. */
function operationsOf({
  operations,
  byDefault,
}: Pick<Target, 'operations' | 'byDefault'>): readonly ShownOperation[] | undefined {
  if (operations === undefined) return undefined;
  return Object.entries(operations).map(([name, { description, parameters, required }]) => ({
    name,
    description,
    isDefault: byDefault === name,
    parameters: parametersIn({ properties: parameters, required: [...(required ?? [])] }),
  }));
}

/** The parameters of a schema. */
function parametersIn(schema: JsonObject): readonly ShownParameter[] {
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(isMap(schema.properties) ? schema.properties : {}).map(([name, value]) => ({
    name,
    type: typeOf(value),
    required: required.includes(name),
    description: descriptionOf(value),
  }));
}

const descriptionOf = (value: unknown): string => (isMap(value) ? String(value.description ?? '') : '');

function typeOf(value: unknown): string {
  if (!isMap(value)) return 'any';
  if (Array.isArray(value.enum)) return value.enum.map((each) => JSON.stringify(each)).join(' | ');
  if (value.const !== undefined) return JSON.stringify(value.const);
  if (Array.isArray(value.type)) return value.type.join(' | ');
  return typeof value.type === 'string' ? value.type : 'any';
}
