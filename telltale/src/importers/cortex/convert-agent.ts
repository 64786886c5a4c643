import { posix } from 'node:path';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { isModelRef } from '../../manifest/schema/model-ref.ts';
import { nameOf } from '../names.ts';
import type { SourceFields } from '../report.ts';
import { metadataOf } from './convert-metadata.ts';
import { intervalOf, variablesOf } from './convert-tool.ts';
import {
  aboutOf,
  type Converted,
  type Cortex,
  commonOf,
  type ImportList,
  type Needs,
  noNeeds,
  type Unit,
} from './import-cortex.ts';
import { environmentText, listOf, literal, mapOf, mapTexts, setIf, textOf } from './texts.ts';

const LISTS: readonly ImportList[] = ['tools', 'relics', 'agents', 'workflows'];

export async function convertAgent(unit: Unit, context: Cortex): Promise<Converted> {
  const { fields, name } = unit;
  const about = [...aboutOf(fields)];
  const common = commonOf(fields);
  const engine = engineOf(fields, context);
  const imports = fields.map('import');
  const needs = noNeeds();
  const feeds: JsonObject[] = [];
  const metadata: Unit[] = [];
  for (const list of LISTS) importList(list, unit, context, needs, imports);
  for (const each of listOf(imports?.take('feeds'))) {
    const feed = feedOf(String(each), unit, context, needs);
    imports?.note(
      'feeds',
      feed === undefined ? 'left' : 'changed',
      feed?.how ?? `${String(each)} is not among the imported files`,
    );
    if (feed?.feed !== undefined) feeds.push(feed.feed);
  }
  for (const each of listOf(imports?.take('metadata'))) {
    const found = context.find('Metadata', String(each), unit);
    imports?.note(
      'metadata',
      found === undefined ? 'left' : 'kept',
      found === undefined
        ? `${String(each)} is not among the imported files`
        : `${found.name}: its fields, and its hooks as workflows`,
    );
    if (found !== undefined) metadata.push(found);
  }
  const texts = await promptOf(unit, context, imports);
  const names = listOf(imports?.take('env')).map((each) => String(each).split('=')[0] ?? '');
  if (names.length > 0)
    imports?.note('env', 'changed', 'permissions.environment; set the values in the environment');
  else imports?.kept('env', 'empty');
  for (const key of ['amulets', 'monuments'])
    if (listOf(imports?.value[key] as Json).length === 0) imports?.kept(key, 'empty');
    else imports?.left(key, 'nothing here corresponds to it: import its agents, relics and workflows');
  imports?.rest();
  for (const found of metadata)
    for (const path of context.hookWorkflows.get(found) ?? []) needs.workflows.add(path);
  closeOver(needs, metadata, context);
  const given = fields.kept('context_feeds');
  for (const [index, each] of listOf(given).entries()) {
    const feed = contextFeed(mapOf(each), index, unit, context, needs);
    if (feed !== undefined) feeds.push(feed);
  }
  const variables = fields.value.environment === undefined ? undefined : variablesOf(fields);
  if (variables !== undefined) {
    fields.note('environment', 'changed', 'permissions.environment; set the values in the environment');
    for (const [key, value] of Object.entries(variables)) about.push(`environment: ${key}=${String(value)}`);
  }
  const limits = limitsOf(fields);
  const permissions = permissionsOf(unit, context, [...names, ...Object.keys(variables ?? {})]);
  fields.left('metrics', 'the log has calls, tokens and times');
  fields.map('prompt_building')?.rest('the prompt teaches each tool with its parameters');
  const declared = metadataOf(metadata);
  return {
    manifests: [
      {
        path: unit.out,
        manifest: {
          kind: 'Agent',
          name,
          ...common,
          ...engine,
          ...limits.window,
          instructions: texts.length === 0 ? '' : `${literal(texts.join('\n\n'))}\n`,
          ...setIf('limits', limits.limits),
          ...setIf('metadata', declared),
          ...setIf('context_feeds', unique(feeds)),
          ...setIf('import', importOf(needs, unit.out)),
          ...setIf('permissions', permissions),
        },
      },
    ],
    about,
  };
}

/** Models and their parameters. */
function engineOf(fields: SourceFields, context: Cortex): JsonObject {
  const engine = fields.map('cognitive_engine');
  const models: Record<string, string> = {};
  const read = (key: string): string | undefined => {
    const given = engine?.map(key);
    const provider = textOf(given?.take('provider'));
    const model = textOf(given?.take('model'));
    if (given === undefined || model === undefined) return undefined;
    const reference = `${PROVIDERS[provider ?? ''] ?? provider ?? ''}/${model}`.replace(/^\//, '');
    const isKept = isModelRef(reference);
    for (const part of ['provider', 'model'])
      given.note(part, isKept ? 'kept' : 'left', isKept ? reference : `${reference} is no model`);
    parameters(given);
    given.rest('a provider decides how much its model thinks');
    return isKept ? reference : undefined;
  };
  const parameters = (from: SourceFields | undefined) => {
    from?.map('parameters')?.rest('sampling options are not set in a manifest: set them at the provider');
  };
  const primary = read('primary');
  const fallback = read('fallback');
  if (fallback !== undefined) models.fallback = fallback;
  parameters(engine);
  engine?.rest('a provider decides how much its model thinks');
  const model = context.options.model ?? primary;
  if (context.options.model !== undefined)
    fields.note('cognitive_engine.primary', 'changed', `--model ${context.options.model}`);
  return { ...setIf('model', model), ...(Object.keys(models).length === 0 ? {} : { models }) };
}

const PROVIDERS: Readonly<Record<string, string>> = { 'x-ai': 'xai', gemini: 'google', claude: 'anthropic' };

function importList(
  list: ImportList,
  unit: Unit,
  context: Cortex,
  needs: Needs,
  imports: SourceFields | undefined,
): void {
  const given = listOf(imports?.take(list));
  if (given.length === 0 && imports?.value[list] !== undefined) imports.kept(list, 'empty');
  for (const each of given) {
    const reference = String(each);
    const found = context.target(list, reference, unit);
    if (found === undefined)
      imports?.note(
        list,
        'left',
        isContext(reference)
          ? `${reference}: the runtime keeps the context itself`
          : `${reference} is not among the imported files`,
      );
    else {
      needs[list].add(found.entry);
      imports?.note(
        list,
        found.unit === undefined ? 'changed' : 'kept',
        found.unit === undefined ? `${reference} is ${found.entry}` : found.entry,
      );
    }
  }
}

const isContext = (reference: string): boolean =>
  /^(builtin\/)?context_(peek|pin|unpin|manage)$/.test(reference);

/** Workflows bring in what their steps call. */
function closeOver(needs: Needs, metadata: readonly Unit[], context: Cortex): void {
  const add = (from: Needs | undefined) => {
    for (const list of LISTS) for (const entry of from?.[list] ?? []) needs[list].add(entry);
  };
  for (const each of metadata) add(context.needs.get(each));
  const seen = new Set<string>();
  for (let more = true; more; ) {
    more = false;
    for (const entry of [...needs.workflows]) {
      if (seen.has(entry)) continue;
      seen.add(entry);
      more = true;
      const unit = context.units.find(({ out }) => out === entry);
      if (unit !== undefined) add(context.needs.get(unit));
    }
  }
}

function importOf(needs: Needs, from: string): JsonObject | undefined {
  const lists = LISTS.flatMap((list) => {
    const entries = [...needs[list]].filter((entry) => entry !== from);
    return entries.length === 0 ? [] : [[list, entries.map((entry) => relativeTo(entry, from))] as const];
  });
  return lists.length === 0 ? undefined : Object.fromEntries(lists);
}

function relativeTo(entry: string, from: string): string {
  if (entry.startsWith('builtin:')) return entry;
  const path = posix.relative(posix.dirname(from), entry);
  return path.startsWith('.') ? path : `./${path}`;
}

/** The files that make up the system prompt. Cortex's own protocol, the harness, is not among them. */
async function promptOf(
  unit: Unit,
  context: Cortex,
  imports: SourceFields | undefined,
): Promise<readonly string[]> {
  const texts: string[] = [];
  const seen = new Set<string>();
  const add = async (fields: SourceFields, key: string, path: string, tries: readonly string[]) => {
    for (const each of tries) {
      const text = await context.text(unit, each);
      if (text === undefined) continue;
      fields.note(key, 'kept', `${path}, a part of the instructions`);
      if (!seen.has(text)) texts.push(text);
      seen.add(text);
      return;
    }
    const isText = /\s/.test(path.trim());
    fields.note(
      key,
      isText ? 'kept' : 'left',
      isText ? 'a part of the instructions' : `the file ${path} cannot be read`,
    );
    if (isText) texts.push(path.trim());
  };
  const prompt = unit.fields.map('context');
  for (const fields of [prompt, unit.fields.map('persona')])
    for (const key of ['system', 'persona', 'agent', 'user', 'knowledge']) {
      const path = textOf(fields?.take(key));
      if (fields !== undefined && path !== undefined) await add(fields, key, path, [path]);
    }
  const persona = textOf(unit.fields.take('persona'));
  if (persona !== undefined) await add(unit.fields, 'persona', persona, [persona]);
  prompt?.left('harness', 'it teaches the protocol of Cortex; the prompt teaches ours');
  for (const key of ['files', 'skills'])
    for (const each of listOf(imports?.take(key))) {
      const path = String(each);
      const folders = [
        '',
        '.',
        './skills',
        '../skills',
        '../../skills',
        '../../../skills',
        '../../../manifests/skills',
      ];
      const tries =
        key === 'files'
          ? [path]
          : folders.flatMap((folder) =>
              ['', '.md', '/SKILL.md', '/skill.md'].map(
                (end) => `${folder === '' ? path : `${folder}/${path}`}${end}`,
              ),
            );
      if (imports !== undefined) await add(imports, key, path, tries);
    }
  for (const key of ['files', 'skills'])
    if (imports?.value[key] !== undefined && listOf(imports.value[key] as Json).length === 0)
      imports.kept(key, 'empty');
  return texts;
}

interface FeedImport {
  readonly how: string;
  readonly feed?: JsonObject;
}

/** A feed that is imported by its path or its name. */
function feedOf(reference: string, unit: Unit, context: Cortex, needs: Needs): FeedImport | undefined {
  const bare = reference.replace(/^builtin\//, '');
  if (bare === 'working_directory')
    return { how: `${reference}: the prompt names the working folder anyway` };
  const internal = INTERNAL[bare];
  if (internal !== undefined)
    return {
      how: `${reference}: ${internal.how}`,
      feed: { id: nameOf(bare), source: internal.source(needs, {}) },
    };
  const found = context.target('tools', reference, unit);
  if (found?.unit?.kind !== 'Feed') return undefined;
  needs.tools.add(found.entry);
  const interval = intervalOf(found.unit);
  return {
    how: `${reference}: a feed that calls the tool ${found.target}`,
    feed: {
      id: found.target,
      ...(interval === undefined ? {} : { type: 'periodic', interval }),
      source: { type: 'tool', name: found.target },
    },
  };
}

interface Internal {
  readonly how: string;
  readonly source: (needs: Needs, params: JsonObject) => JsonObject;
}

const clock: Internal = {
  how: 'internal system_clock',
  source: (_, params) => ({
    type: 'internal',
    action: 'system_clock',
    ...(typeof params.timezone === 'string' ? { params: { timezone: params.timezone } } : {}),
  }),
};
const system: Internal = {
  how: 'the tool system_monitor',
  source: (needs) => {
    needs.tools.add('builtin:system_monitor');
    return { type: 'tool', name: 'system_monitor' };
  },
};
const INTERNAL: Readonly<Record<string, Internal>> = {
  system_clock: clock,
  get_datetime: clock,
  current_datetime: clock,
  system_stats: system,
  system_metrics: system,
  get_system_status: system,
  agent_metadata: { how: 'the metadata', source: () => ({ type: 'metadata' }) },
};

function contextFeed(
  value: JsonObject,
  index: number,
  unit: Unit,
  context: Cortex,
  needs: Needs,
): JsonObject | undefined {
  const id = textOf(value.id as Json) ?? `feed-${index + 1}`;
  const source = mapOf(value.source as Json);
  const note = (key: string, outcome: 'kept' | 'changed' | 'left', how: string) =>
    unit.report.note({ step: id, path: ['context_feeds', index] }, key, outcome, how);
  for (const key of Object.keys(value))
    if (!['id', 'type', 'interval', 'source', 'cache_ttl', 'max_tokens'].includes(key))
      note(key, 'left', 'a feed has no such key');
  const params = mapTexts(mapOf(source.params as Json), environmentText) as JsonObject;
  const rest = {
    id: nameOf(id),
    ...(Number(value.interval) > 0 ? { type: 'periodic', interval: value.interval as Json } : {}),
    ...setIf('cache_ttl', value.cache_ttl as Json | undefined),
    ...setIf('max_tokens', value.max_tokens as Json | undefined),
  };
  if (source.type === 'internal') {
    const internal = INTERNAL[String(source.action)];
    if (internal === undefined) {
      note(
        'source',
        'left',
        `nothing corresponds to the internal source ${String(source.action)}: the feed is left out`,
      );
      return undefined;
    }
    note('source', 'changed', internal.how);
    return { ...rest, source: internal.source(needs, params) };
  }
  const kind = String(source.type);
  const list = `${kind}s` as ImportList;
  const found = LISTS.includes(list) ? context.target(list, String(source.name), unit) : undefined;
  if (found === undefined) {
    note(
      'source',
      'left',
      `no ${kind} "${String(source.name)}" is among the imported files: the feed is left out`,
    );
    return undefined;
  }
  needs[list].add(found.entry);
  note('source', 'kept', `${kind} ${found.target}`);
  const asked = source.action === undefined ? params : { operation: source.action as Json, ...params };
  return {
    ...rest,
    source: { type: kind, name: found.target, ...(Object.keys(asked).length === 0 ? {} : { params: asked }) },
  };
}

/** The first feed of each id. */
const unique = (feeds: readonly JsonObject[]): readonly JsonObject[] =>
  feeds.filter(({ id }, index) => feeds.findIndex((each) => each.id === id) === index);

function limitsOf(fields: SourceFields): { readonly limits?: JsonObject; readonly window: JsonObject } {
  const runtime = fields.map('runtime');
  const prompt = fields.map('context');
  const turns =
    fields.kept('iteration_cap', 'limits.turns') ??
    runtime?.kept('max_iterations', 'limits.turns') ??
    prompt?.kept('max_iterations', 'limits.turns');
  const action = runtime?.kept('action_timeout_sec', 'limits.action_timeout');
  const wall = runtime?.kept('timeout', 'limits.wall');
  const limits = {
    ...(Number(turns) > 0 ? { turns: Number(turns) } : {}),
    ...(Number(action) > 0 ? { action_timeout: Number(action) } : {}),
    ...(Number(wall) > 0 ? { wall: Number(wall) } : {}),
  };
  let window: JsonObject = {};
  for (const compaction of [fields.map('compaction'), runtime?.map('compaction'), runtime?.map('trim')]) {
    const trigger = compaction?.map('trigger');
    const tokens = Number(trigger?.kept('model_context_tokens', 'context_window'));
    if (tokens > 0) window = { context_window: tokens };
    trigger?.rest(COMPACTION);
    compaction?.rest(COMPACTION);
  }
  for (const each of [runtime, prompt]) each?.left('history_cap', COMPACTION);
  runtime?.map('prompt_building')?.rest('the prompt teaches each tool with its parameters');
  runtime?.rest('sessions, sub-agents and turns are kept on the log');
  return { ...(Object.keys(limits).length === 0 ? {} : { limits }), window };
}

const COMPACTION = 'the runtime compacts by the tokens that the provider reports';

/** Scripts and files of Cortex lie in the folder of the sources, which commands have to reach. */
function permissionsOf(unit: Unit, context: Cortex, environment: readonly string[]): JsonObject {
  const sandbox = unit.fields.map('sandbox');
  const mode = sandbox?.take('mode');
  if (mode !== undefined)
    sandbox?.note(
      'mode',
      mode === 'process' ? 'kept' : 'changed',
      mode === 'process' ? 'permissions.sandbox: auto' : 'permissions.sandbox: require',
    );
  const texts = (key: string, how: string) => listOf(sandbox?.kept(key, how)).map((each) => String(each));
  const commands = texts('allowed_commands', 'permissions.shell');
  const hosts = texts('allowed_hosts', 'permissions.network');
  const network = sandbox?.kept('network', 'permissions.network');
  const folders = texts('allowed_paths', 'permissions.paths, in the folder of the sources');
  sandbox?.rest('bubblewrap needs no image; what may be written is permissions.paths');
  const paths = folders.map((path) => context.sourcePath(unit, path));
  return {
    paths: [
      '.',
      `\${CORTEX_ROOT:-${context.base}}`,
      ...paths.filter((path) => path.startsWith('${CORTEX_ROOT') && !path.includes('/..')),
    ].slice(0, paths.length > 0 ? undefined : 2),
    ...(hosts.length > 0 || network === 'out'
      ? { network: network === 'out' && hosts.length === 0 ? ['*'] : hosts }
      : {}),
    ...(commands.length > 0 ? { shell: commands.map((each) => `${each} *`) } : {}),
    ...(mode !== undefined && mode !== 'process' ? { sandbox: 'require' } : {}),
    ...setIf('environment', [...new Set(environment)].filter((each) => each !== '') as Json),
  };
}

/** A monument is several services with agents and workflows: an agent that can call them. */
export function convertMonument(unit: Unit, context: Cortex): Converted {
  const { fields, name } = unit;
  const about = aboutOf(fields);
  const common = commonOf(fields);
  fields.note('kind', 'changed', 'an agent that can call its agents, relics, tools and workflows');
  const needs = noNeeds();
  const parts: readonly (readonly [SourceFields | undefined, string, ImportList])[] = [
    [fields.map('infrastructure'), 'relics', 'relics'],
    [fields.map('intelligence'), 'agents', 'agents'],
    [fields.map('automation'), 'workflows', 'workflows'],
    [fields, 'tools', 'tools'],
  ];
  for (const [part, key, list] of parts) {
    for (const each of listOf(part?.take(key))) {
      const { name: given, path, ...settings } = mapOf(each);
      const reference = String(path ?? given);
      const found = context.target(list, reference, unit);
      if (found !== undefined) needs[list].add(found.entry);
      part?.note(
        key,
        found === undefined ? 'left' : 'changed',
        found === undefined ? `${reference} is not among the imported files` : `${found.target} is imported`,
      );
      for (const [setting, value] of Object.entries(settings))
        part?.note(
          `${key}.${setting}`,
          'left',
          `${String(given)}: ${setting === 'schedule' || setting === 'trigger' ? 'write a trigger into the workflow' : 'a setting of the deployment'} (${JSON.stringify(value)})`,
        );
    }
    if (part !== fields) part?.rest();
  }
  closeOver(needs, [], context);
  for (const [index, each] of listOf(fields.changed('context_feeds', 'feeds of the agent')).entries())
    contextFeed(mapOf(each), index, unit, context, needs);
  for (const key of ['interface', 'deployment', 'config', 'observability', 'metadata', 'specialization'])
    fields.left(key, 'a setting of its services: Telltale starts no services');
  const instructions = `You run ${name}. Do what you are asked to with your agents, relics, tools and workflows.\n`;
  return {
    manifests: [
      {
        path: unit.out,
        manifest: {
          kind: 'Agent',
          name,
          ...common,
          ...setIf('model', context.options.model),
          instructions,
          ...setIf('import', importOf(needs, unit.out)),
        },
      },
    ],
    about,
  };
}
