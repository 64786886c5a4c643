import { posix } from 'node:path';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { isModelRef } from '../../manifest/schema/model-ref.ts';
import { nameOf } from '../names.ts';
import type { SourceFields } from '../report.ts';
import { given, listOf, literal, mapOf, mapTexts, textOf } from '../values.ts';
import { metadataOf } from './convert-metadata.ts';
import { environmentText, variablesOf } from './convert-tool.ts';
import { bareName } from './convert-workflow.ts';
import {
  addNeeds,
  type Converted,
  type Cortex,
  headOf,
  type ImportList,
  LISTS,
  type Needs,
  noNeeds,
  type Unit,
} from './import-cortex.ts';

const ENVIRONMENT = 'permissions.environment; set the values in the environment';
const COMPACTION = 'the runtime compacts by the tokens that the provider reports';

export async function convertAgent(unit: Unit, context: Cortex): Promise<Converted> {
  const { fields, name } = unit;
  const { about, version, description } = headOf(fields);
  const imports = fields.map('import');
  const needs = noNeeds();
  for (const list of LISTS) context.resolve(list, imports, unit, needs);
  const metadata = listOf(imports.take('metadata')).flatMap((each) => {
    const found = context.find('Metadata', String(each), unit);
    const how =
      found === undefined
        ? `${String(each)} is not among the imported files`
        : `${found.name}: its fields, and its hooks as workflows`;
    imports.note('metadata', found === undefined ? 'left' : 'kept', how);
    return found ?? [];
  });
  for (const each of metadata) addNeeds(needs, context.needs.get(each));
  const feeds = [
    ...listOf(imports.take('feeds')).flatMap((each) => importedFeed(String(each), unit, context, needs)),
    ...listOf(fields.kept('context_feeds')).flatMap((each, index) =>
      contextFeed(mapOf(each), index, unit, context, needs),
    ),
  ];
  const instructions = (await promptOf(unit, context)).join('\n\n');
  const env = listOf(imports.changed('env', ENVIRONMENT)).map((each) => String(each).split('=', 1)[0] ?? '');
  const variables = variablesOf(fields, ENVIRONMENT);
  for (const [key, value] of Object.entries(variables)) about.push(`environment: ${key}=${value}`);
  imports.leave('import its agents, relics and workflows', 'amulets', 'monuments');
  imports.rest();
  fields.left('metrics', 'the log has calls, tokens and times');
  const permissions = permissionsOf(unit, context, [...env, ...Object.keys(variables)]);
  const manifest = {
    kind: 'Agent',
    name,
    ...given({ version, description }),
    ...modelsOf(fields, context),
    ...limitsOf(fields),
    instructions: instructions === '' ? '' : `${literal(instructions)}\n`,
    // Agents of Cortex act inside of responses, too.
    protocol: { actions_in: ['outside', 'thought', 'response'] },
    ...given({
      metadata: metadataOf(metadata),
      context_feeds: feeds.filter(({ id }, index) => feeds.findIndex((each) => each.id === id) === index),
      import: importOf(needs, unit.out, context),
      permissions,
    }),
  };
  return { manifests: [{ path: unit.out, manifest }], about };
}

const PROVIDERS: Readonly<Record<string, string>> = { 'x-ai': 'xai', gemini: 'google', claude: 'anthropic' };

function modelsOf(fields: SourceFields, { options }: Cortex): JsonObject {
  const engine = fields.map('cognitive_engine');
  const [model, fallback] = ['primary', 'fallback'].map((key) => {
    const given = engine.map(key);
    const provider = textOf(given.take('provider')) ?? '';
    const name = textOf(given.take('model'));
    const reference = `${PROVIDERS[provider] ?? provider}/${name ?? ''}`.replace(/^\//, '');
    const isKept = isModelRef(reference);
    for (const part of ['provider', 'model'])
      if (given.value[part] !== undefined)
        given.note(part, isKept ? 'kept' : 'left', isKept ? reference : `${reference} is no model`);
    given.map('parameters').rest('sampling options are not set in a manifest: set them at the provider');
    given.rest('the provider decides how much its model thinks');
    return isKept ? reference : undefined;
  });
  engine.map('parameters').rest('sampling options are not set in a manifest: set them at the provider');
  engine.rest('the provider decides how much its model thinks');
  if (options.model !== undefined) engine.note('primary', 'changed', `--model ${options.model}`);
  return given({ model: options.model ?? model, models: given({ fallback }) });
}

function limitsOf(fields: SourceFields): JsonObject {
  const runtime = fields.map('runtime');
  const prompt = fields.map('context');
  const turns = [
    fields.kept('iteration_cap', 'limits.turns'),
    runtime.kept('max_iterations', 'limits.turns'),
    prompt.kept('max_iterations', 'limits.turns'),
  ];
  const action = runtime.kept('action_timeout_sec', 'limits.action_timeout');
  const wall = runtime.kept('timeout', 'limits.wall');
  const windows = [fields.map('compaction'), runtime.map('compaction'), runtime.map('trim')].map(
    (compaction) => {
      const trigger = compaction.map('trigger');
      const tokens = trigger.kept('model_context_tokens', 'context_window');
      trigger.rest(COMPACTION);
      compaction.rest(COMPACTION);
      return tokens;
    },
  );
  for (const each of [runtime, prompt]) each.left('history_cap', COMPACTION);
  for (const each of [runtime, fields])
    each.map('prompt_building').rest('the prompt teaches each tool with its parameters');
  runtime.rest('sessions, sub-agents and turns are kept on the log');
  const count = (values: readonly (Json | undefined)[]) => values.map(Number).find((value) => value > 0);
  return given({
    context_window: count(windows),
    limits: given({ turns: count(turns), action_timeout: count([action]), wall: count([wall]) }),
  });
}

/** The files that make up the system prompt. Cortex's own protocol, the harness, is not among them. */
async function promptOf(unit: Unit, context: Cortex): Promise<readonly string[]> {
  const { fields } = unit;
  const texts = new Set<string>();
  const add = async (
    from: SourceFields,
    key: string,
    folders: readonly string[],
    ends: readonly string[],
  ) => {
    for (const each of listOf(from.take(key))) {
      const name = String(each).trim();
      const paths = folders.flatMap((folder) => ends.map((end) => `${folder}${name}${end}`));
      // A text in place of a file has white space in it.
      const text = /\s/.test(name) ? name : await context.text(unit, paths);
      from.note(
        key,
        text === undefined ? 'left' : 'kept',
        text === undefined ? `${name} cannot be read` : `${name}: a part of the instructions`,
      );
      if (text !== undefined) texts.add(text);
    }
  };
  const prompt = fields.map('context');
  for (const from of [prompt, fields.map('persona')])
    for (const key of ['system', 'persona', 'agent', 'user', 'knowledge']) await add(from, key, [''], ['']);
  if (typeof fields.value.persona === 'string') await add(fields, 'persona', [''], ['']);
  prompt.left('harness', 'it teaches the protocol of Cortex; the prompt teaches ours');
  const imports = fields.map('import');
  await add(imports, 'files', [''], ['']);
  const above = [
    '',
    './skills/',
    '../skills/',
    '../../skills/',
    '../../../skills/',
    '../../../manifests/skills/',
  ];
  await add(imports, 'skills', above, ['', '.md', '/SKILL.md']);
  return [...texts];
}

/** Sources of feeds that the runtime of Cortex has itself. */
const SYSTEM: JsonObject = { type: 'tool', name: 'system_monitor' };
const CLOCK: JsonObject = { type: 'internal', action: 'system_clock' };
const INTERNAL: Readonly<Record<string, JsonObject>> = {
  ...{ system_clock: CLOCK, get_datetime: CLOCK, current_datetime: CLOCK },
  ...{ system_stats: SYSTEM, system_metrics: SYSTEM, get_system_status: SYSTEM },
  agent_metadata: { type: 'metadata' },
};

function internalSource(action: string, needs: Needs): JsonObject | undefined {
  const source = INTERNAL[action];
  if (source === SYSTEM) needs.tools.add('builtin:system_monitor');
  return source;
}

/** A feed that is imported by its path or its name. */
function importedFeed(reference: string, unit: Unit, context: Cortex, needs: Needs): readonly JsonObject[] {
  const imports = unit.fields.map('import');
  const bare = bareName(reference);
  const internal = internalSource(bare, needs);
  const found = internal === undefined ? context.target('tools', reference, unit) : undefined;
  const isKnown = internal !== undefined || found !== undefined;
  const missing =
    bare === 'working_directory'
      ? 'the prompt names the working folder anyway'
      : 'not among the imported files';
  imports.note(
    'feeds',
    isKnown ? 'changed' : 'left',
    `${reference}: ${isKnown ? 'a context feed' : missing}`,
  );
  if (internal !== undefined) return [{ id: nameOf(bare), source: internal }];
  if (found === undefined) return [];
  needs.tools.add(found.entry);
  const seconds = Number(found.unit?.value.interval_secs ?? found.unit?.value.refresh_seconds);
  const rhythm = seconds > 0 ? { type: 'periodic', interval: seconds } : {};
  return [{ id: found.target, ...rhythm, source: { type: 'tool', name: found.target } }];
}

function contextFeed(
  value: JsonObject,
  index: number,
  unit: Unit,
  context: Cortex,
  needs: Needs,
): readonly JsonObject[] {
  const { id = `feed-${index + 1}`, type: _, interval, source, cache_ttl, max_tokens, ...others } = value;
  const { type, name, action, params } = mapOf(source);
  const note = (key: string, outcome: 'kept' | 'left', how: string) =>
    unit.report.note({ step: String(id), path: ['context_feeds', index] }, key, outcome, how);
  for (const key of Object.keys(others)) note(key, 'left', 'a feed has no such key');
  const list = `${String(type)}s` as ImportList;
  const internal = type === 'internal' ? internalSource(String(action), needs) : undefined;
  const found = LISTS.includes(list) ? context.target(list, String(name), unit) : undefined;
  if (found === undefined && internal === undefined) {
    note('source', 'left', `there is no ${String(type)} "${String(name ?? action)}": the feed is left out`);
    return [];
  }
  note('source', 'kept', found?.target ?? JSON.stringify(internal));
  if (found !== undefined) needs[list].add(found.entry);
  const asked = mapOf(mapTexts({ ...given({ operation: action }), ...mapOf(params) }, environmentText));
  if (internal !== undefined && params !== undefined)
    note('params', 'left', `the source takes none: ${JSON.stringify(params)}`);
  const rhythm = Number(interval) > 0 ? { type: 'periodic', interval: interval as Json } : {};
  const from = internal ?? { type: String(type), name: found?.target ?? '', ...given({ params: asked }) };
  return [{ id: nameOf(String(id)), ...rhythm, ...given({ cache_ttl, max_tokens }), source: from }];
}

/** Scripts of Cortex lie in the folder of the sources, which commands have to reach. */
function permissionsOf(unit: Unit, context: Cortex, environment: readonly string[]): JsonObject {
  const sandbox = unit.fields.map('sandbox');
  const texts = (key: string, how: string) => listOf(sandbox.kept(key, how)).map(String);
  const mode = sandbox.kept('mode', 'permissions.sandbox');
  const shell = texts('allowed_commands', 'permissions.shell').map((each) => `${each} *`);
  const hosts = texts('allowed_hosts', 'permissions.network');
  const isOpen = sandbox.kept('network', 'permissions.network') === 'out' && hosts.length === 0;
  sandbox.changed('allowed_paths', 'permissions.paths: the folder of the agent, and that of the sources');
  sandbox.rest('bubblewrap needs no image; what may be written is permissions.paths');
  return given({
    paths: ['.', context.sourceRoot],
    network: isOpen ? ['*'] : hosts,
    shell,
    sandbox: mode === undefined || mode === 'process' ? undefined : 'require',
    environment: [...new Set(environment)].filter((each) => each !== ''),
  });
}

/** Imports as paths from the agent, with what its workflows bring in. */
function importOf(needs: Needs, from: string, context: Cortex): JsonObject {
  for (const entry of needs.workflows) {
    const unit = context.units.find(({ out }) => out === entry);
    // A set that grows while it is walked shows what was added, too.
    if (unit !== undefined) addNeeds(needs, context.needs.get(unit));
  }
  const pathTo = (entry: string) => {
    const path = posix.relative(posix.dirname(from), entry);
    return path.startsWith('.') ? path : `./${path}`;
  };
  const entriesOf = (list: ImportList) => [...needs[list]].filter((entry) => entry !== from);
  return given(
    Object.fromEntries(
      LISTS.map((list) => [
        list,
        entriesOf(list).map((entry) => (entry.startsWith('builtin:') ? entry : pathTo(entry))),
      ]),
    ),
  );
}

/** A monument is several services with agents and workflows: an agent that can call them. */
export function convertMonument(unit: Unit, context: Cortex): Converted {
  const { fields, name } = unit;
  const { about, version, description } = headOf(fields);
  fields.note('kind', 'changed', 'an agent that can call its agents, relics, tools and workflows');
  const needs = noNeeds();
  const parts = {
    relics: fields.map('infrastructure'),
    agents: fields.map('intelligence'),
    workflows: fields.map('automation'),
    tools: fields,
  };
  for (const list of LISTS) {
    const part = parts[list];
    for (const each of listOf(part.value[list])) {
      const { name: own, path: _, ...settings } = mapOf(each);
      for (const [key, value] of Object.entries(settings))
        part.note(
          `${list}.${key}`,
          'left',
          `${String(own)}: ${JSON.stringify(value)} is a setting of the deployment`,
        );
    }
    context.resolve(list, part, unit, needs);
    if (part !== fields) part.rest();
  }
  const context_feeds = listOf(fields.kept('context_feeds')).flatMap((each, index) =>
    contextFeed(mapOf(each), index, unit, context, needs),
  );
  fields.leave(
    'a setting of its services: Telltale starts none',
    'interface',
    'deployment',
    'config',
    'observability',
    'metadata',
    'specialization',
  );
  const manifest = {
    kind: 'Agent',
    name,
    ...given({ version, description, model: context.options.model }),
    instructions: `You run ${name}. Do what you are asked to with your agents, relics, tools and workflows.\n`,
    ...given({ context_feeds, import: importOf(needs, unit.out, context) }),
  };
  return { manifests: [{ path: unit.out, manifest }], about };
}
