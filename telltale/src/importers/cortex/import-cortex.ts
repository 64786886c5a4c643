import { dirname, join, posix, relative, sep } from 'node:path';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Diagnostic } from '../../manifest/diagnostic.ts';
import { type ModelOptionsManifest, modelOptions } from '../../manifest/schema/model-options.ts';
import { isModelRef } from '../../manifest/schema/model-ref.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import type { ImportedFile, Importer, ImportOptions, MadeFile, SourceFile } from '../importer.ts';
import { yamlOf } from '../made.ts';
import { createNames, type Names, nameOf } from '../names.ts';
import { createReport, remarksOf } from '../report.ts';
import { SourceMap } from '../source-map.ts';
import { commonFolder, problem, readDocuments } from '../sources.ts';
import {
  environmentText,
  filled,
  listOf,
  mapOf,
  mapTexts,
  paragraphs,
  plainText,
  trimmedText,
} from '../values.ts';
import { convertRelic, convertTool, variablesOf } from './convert-tool.ts';
import { convertMetadata, convertWorkflow, metadataOf } from './convert-workflow.ts';
import {
  BUILTIN_TOOLS,
  bareName,
  type Converted,
  Cortex,
  type CortexImportList,
  isRunnable,
  LISTS,
  MISSING,
  Needs,
  type Unit,
} from './cortex.ts';

const ENVIRONMENT = 'permissions.environment; set the values in the environment';
const SAMPLING = 'model_options has no such option';
const THINKING = 'the provider decides how much its model thinks';
const COMPACTION = 'the runtime compacts by the tokens that the provider reports';

async function convertAgent(unit: Unit, context: Cortex): Promise<Converted> {
  const { fields } = unit;
  const imports = fields.map('import');
  const needs = new Needs();
  for (const list of LISTS) context.resolve(list, imports, unit, needs);
  const metadata = listOf(imports.take('metadata')).flatMap((each) => {
    const found = context.find('Metadata', String(each), unit);
    const how = `${String(each)}: ${found === undefined ? MISSING : 'fields, and hooks as workflows'}`;
    imports.either('metadata', found !== undefined, how, how);
    return found ?? [];
  });
  for (const each of metadata) needs.add(context.needs.get(each));
  const imported = listOf(imports.take('feeds')).map((each) => importedFeed(String(each), unit));
  const own = listOf(fields.kept('context_feeds')).map(mapOf);
  const feeds = feedsOf([...own, ...imported.filter(({ id }) => id !== undefined)], unit, context, needs);
  const instructions = (await promptOf(unit, context)).join('\n\n');
  const env = listOf(imports.changed('env', ENVIRONMENT)).map((each) => String(each).split('=', 1)[0] ?? '');
  const variables = variablesOf(fields, ENVIRONMENT);
  const about = Object.entries(variables).map(([key, value]) => `environment: ${key}=${value}`);
  imports.leave('amulets monuments', 'import its agents, relics and workflows');
  fields.left('metrics', 'the log has calls, tokens and times');
  const permissions = permissionsOf(unit, context, [...env, ...Object.keys(variables)]);
  const body = {
    ...modelsOf(fields, context),
    ...limitsOf(fields),
    instructions: instructions === '' ? '' : `${plainText(instructions)}\n`,
    // Agents of Cortex act inside of responses, too.
    protocol: { actions_in: ['outside', 'thought', 'response'] },
    ...filled({
      metadata: metadataOf(metadata),
      context_feeds: feeds.filter(({ id }, index) => feeds.findIndex((each) => each.id === id) === index),
      import: importOf(needs, unit.out, context),
      permissions,
    }),
  };
  return { body, about };
}

const PROVIDERS: Readonly<Record<string, string>> = { 'x-ai': 'xai', gemini: 'google', claude: 'anthropic' };

function modelsOf(fields: SourceMap, { options }: Cortex): JsonObject {
  const engine = fields.map('cognitive_engine');
  const [primary, fallback] = ['primary', 'fallback'].map((key) => {
    const given = engine.map(key);
    const provider = trimmedText(given.take('provider')) ?? '';
    const name = trimmedText(given.take('model'));
    const reference = `${PROVIDERS[provider] ?? provider}/${name ?? ''}`.replace(/^\//, '');
    const isKept = isModelRef(reference);
    for (const part of ['provider', 'model'])
      if (given.value[part] !== undefined) given.either(part, isKept, reference, `${reference} is no model`);
    const options = optionsOf(given.map('parameters'), isKept);
    return { model: isKept ? reference : undefined, options };
  });
  const shared = optionsOf(engine.map('parameters'), true);
  engine.rest(THINKING);
  if (options.model !== undefined) engine.note('primary', 'changed', `--model ${options.model}`);
  return filled({
    model: options.model ?? primary?.model,
    model_options: filled({ ...shared, ...primary?.options }),
    ...fallbackOf(fallback?.model, fallback?.options),
  });
}

/** A fallback model: by a name where it has options of its own. */
function fallbackOf(model: string | undefined, options: JsonObject = {}): JsonObject {
  if (model === undefined) return {};
  if (Object.keys(options).length === 0) return { fallback_models: [model] };
  return { models: { fallback: { model, ...options } }, fallback_models: ['fallback'] };
}

const OPTIONS: Readonly<Record<string, keyof ModelOptionsManifest>> = {
  temperature: 'temperature',
  top_p: 'top_p',
  top_k: 'top_k',
  max_tokens: 'max_output_tokens',
  max_output_tokens: 'max_output_tokens',
  seed: 'seed',
  presence_penalty: 'presence_penalty',
  frequency_penalty: 'frequency_penalty',
  stop: 'stop_sequences',
  stop_sequences: 'stop_sequences',
};

/** The parameters of a model as sampling options: those that the manifest takes. */
function optionsOf(parameters: SourceMap, isUsed: boolean): JsonObject {
  const found: Record<string, Json> = {};
  for (const [key, option] of Object.entries(OPTIONS)) {
    const value = parameters.take(key);
    if (value === undefined || value === null) continue;
    const written = option === 'stop_sequences' ? listOf(value) : value;
    const isKept = isUsed && modelOptions.safeParse({ [option]: written }).success;
    const why = isUsed ? `${JSON.stringify(value)} is out of range` : 'its model is left out';
    parameters.either(key, isKept, `model_options.${option}`, why);
    if (isKept) found[option] = written;
  }
  parameters.rest(SAMPLING);
  return found;
}

function limitsOf(fields: SourceMap): JsonObject {
  const runtime = fields.map('runtime');
  const prompt = fields.map('context');
  const turns = [
    fields.kept('iteration_cap', 'limits.turns'),
    runtime.kept('max_iterations', 'limits.turns'),
    prompt.kept('max_iterations', 'limits.turns'),
  ];
  const action = runtime.kept('action_timeout_sec', 'limits.action_timeout');
  const wall = runtime.kept('timeout', 'limits.wall');
  const compactions = [fields.map('compaction'), runtime.map('compaction'), runtime.map('trim')];
  const windows = compactions.map((compaction) => {
    const tokens = compaction.map('trigger').kept('model_context_tokens', 'context_window');
    compaction.rest(COMPACTION);
    return tokens;
  });
  for (const each of [runtime, prompt]) each.left('history_cap', COMPACTION);
  for (const each of [runtime, fields])
    each.map('prompt_building').rest('the prompt teaches each tool with its parameters');
  runtime.rest('sessions, sub-agents and turns are kept on the log');
  const count = (values: readonly (Json | undefined)[]) => values.map(Number).find((value) => value > 0);
  return filled({
    context_window: count(windows),
    limits: filled({ turns: count(turns), action_timeout: count([action]), wall: count([wall]) }),
  });
}

/** The files that make up the system prompt. Cortex's own protocol, the harness, is not among them. */
async function promptOf(unit: Unit, context: Cortex): Promise<readonly string[]> {
  const { fields } = unit;
  const texts = new Set<string>();
  const add = async (from: SourceMap, key: string, pathsOf = (name: string) => [name]) => {
    for (const each of listOf(from.take(key))) {
      const name = String(each).trim();
      // A text in place of a file has white space in it.
      const text = /\s/.test(name) ? name : await context.text(unit, pathsOf(name));
      from.either(key, text !== undefined, `${name}: part of the instructions`, `${name} cannot be read`);
      if (text !== undefined) texts.add(text);
    }
  };
  const prompt = fields.map('context');
  for (const from of [prompt, fields.map('persona')])
    for (const key of ['system', 'persona', 'agent', 'user', 'knowledge']) await add(from, key);
  if (typeof fields.value.persona === 'string') await add(fields, 'persona');
  prompt.left('harness', 'it teaches the protocol of Cortex; the prompt teaches ours');
  const imports = fields.map('import');
  await add(imports, 'files');
  const folders = '. ./skills ../skills ../../skills ../../../skills ../../../manifests/skills'.split(' ');
  await add(imports, 'skills', (name) =>
    folders.flatMap((each) => ['', '.md', '/SKILL.md'].map((end) => `${each}/${name}${end}`)),
  );
  return [...texts];
}

/** Sources of feeds that the runtime of Cortex has itself. */
const SYSTEM: JsonObject = { type: 'tool', name: 'system_monitor' };
const CLOCK: JsonObject = { type: 'internal', action: 'system_clock' };
const INTERNAL: Readonly<Record<string, JsonObject>> = {
  system_clock: CLOCK,
  get_datetime: CLOCK,
  current_datetime: CLOCK,
  system_stats: SYSTEM,
  system_metrics: SYSTEM,
  get_system_status: SYSTEM,
  agent_metadata: { type: 'metadata' },
};

/** A feed that is imported by its path or its name is one of the agent's own. */
function importedFeed(reference: string, { fields }: Unit): JsonObject {
  const bare = bareName(reference);
  const isOurs = bare === 'working_directory';
  fields
    .map('import')
    .either('feeds', !isOurs, `${reference}: a context feed`, `${reference}: the prompt names it anyway`);
  if (isOurs) return {};
  const source = bare in INTERNAL ? { type: 'internal', action: bare } : { type: 'tool', name: reference };
  return { id: posix.basename(bare.replace(/\/feed\.ya?ml$/, '')), source };
}

/** Feeds whose source is there, and a word in the report about the others. */
function feedsOf(
  values: readonly JsonObject[],
  unit: Unit,
  context: Cortex,
  needs: Needs,
): readonly JsonObject[] {
  return values.flatMap((value, index) => {
    const { id = `feed-${index + 1}`, type: _, interval, source, cache_ttl, max_tokens, ...others } = value;
    const { type = 'internal', name, action, params } = mapOf(source);
    unit.fields.leaveOthers('context_feeds', source, 'type name action params');
    const note = (key: string, outcome: 'kept' | 'left', how: string) =>
      unit.report.note(String(id), ['context_feeds', index], key, outcome, how);
    for (const key of Object.keys(others)) note(key, 'left', 'a feed has no such key');
    const list = `${String(type)}s` as CortexImportList;
    const internal = type === 'internal' ? INTERNAL[String(action)] : undefined;
    if (internal === SYSTEM) needs.tools.add('builtin:system_monitor');
    const found = LISTS.includes(list) ? context.target(list, String(name), unit) : undefined;
    if (found === undefined && internal === undefined) {
      note('source', 'left', `there is no ${String(type)} "${String(name ?? action)}": the feed is left out`);
      return [];
    }
    note('source', 'kept', found?.target ?? JSON.stringify(internal));
    if (found !== undefined) needs[list].add(found.entry);
    if (internal !== undefined && params !== undefined)
      note('params', 'left', `it takes none: ${JSON.stringify(params)}`);
    const asked = mapOf(mapTexts(filled({ operation: action, ...mapOf(params) }), environmentText));
    const own = found?.unit?.value;
    const seconds = Number(interval ?? own?.interval_secs ?? own?.refresh_seconds);
    const rhythm = seconds > 0 ? { type: 'periodic', interval: seconds } : {};
    const from = internal ?? { type: String(type), name: found?.target ?? '', ...filled({ params: asked }) };
    return [{ id: nameOf(String(id)), ...rhythm, ...filled({ cache_ttl, max_tokens }), source: from }];
  });
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
  return filled({
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
    if (unit !== undefined) needs.add(context.needs.get(unit));
  }
  const pathTo = (entry: string) => {
    const path = posix.relative(posix.dirname(from), entry);
    return path.startsWith('.') ? path : `./${path}`;
  };
  const lists = LISTS.map((list) => {
    const entries = [...needs[list]].filter((entry) => entry !== from);
    return [list, entries.map((entry) => (entry.startsWith('builtin:') ? entry : pathTo(entry)))] as const;
  });
  return filled(Object.fromEntries(lists));
}

/** A monument is several services with agents and workflows: an agent that can call them. */
function convertMonument(unit: Unit, context: Cortex): Converted {
  const { fields, name } = unit;
  fields.note('kind', 'changed', 'an agent that can call its agents, relics, tools and workflows');
  const needs = new Needs();
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
        part.note(`${list}.${key}`, 'left', `${String(own)}: ${JSON.stringify(value)}, for its deployment`);
    }
    context.resolve(list, part, unit, needs);
  }
  const context_feeds = feedsOf(listOf(fields.kept('context_feeds')).map(mapOf), unit, context, needs);
  const settings = 'interface deployment config observability metadata specialization';
  fields.leave(settings, 'a setting of its services: Telltale starts none');
  const body = {
    ...filled({ model: context.options.model }),
    instructions: `You run ${name}. Do what you are asked to with your agents, relics, tools and workflows.\n`,
    ...filled({ context_feeds, import: importOf(needs, unit.out, context) }),
  };
  return { body };
}

const KIND = /^\s*"?kind"?:\s*["']?(Agent|Tool|Relic|Workflow|Metadata|Feed|Monument)\b/m;

export const cortex: Importer = {
  pattern: '**/*.{yml,yaml}',
  detect: ({ source }) => KIND.test(source.text),
  import: importCortex,
};

async function importCortex(
  files: readonly SourceFile[],
  options: ImportOptions,
): Promise<readonly ImportedFile[]> {
  const base = commonFolder(files.map(({ path }) => dirname(path)));
  const failed: ImportedFile[] = [];
  const names = new Map<string, Names>();
  const units = files.flatMap((source) => unitsOf(source, base, names, failed));
  const context = new Cortex(units, base, options);
  const imported: ImportedFile[] = [];
  // Agents come last: they import what the workflows and metadata need.
  const kinds = Object.keys(CONVERTERS);
  for (const unit of units.toSorted((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind))) {
    options.signal.throwIfAborted();
    imported.push(await importUnit(unit, context));
  }
  return [...failed, ...imported];
}

function unitsOf(
  source: SourceFile,
  base: string,
  names: Map<string, Names>,
  failed: ImportedFile[],
): readonly Unit[] {
  const { documents, diagnostics } = readDocuments(source.source);
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const fail = (found: readonly Diagnostic[]) => {
    failed.push({ file: source.file, diagnostics: found });
    return [];
  };
  if (errors.length > 0) return fail(errors);
  const units = documents.flatMap(({ value, lineOf }, index): readonly Unit[] => {
    if (!isMap(value) || typeof value.kind !== 'string') return [];
    const report = createReport(lineOf);
    const below = relative(base, source.path)
      .split(sep)
      .join('/')
      .replace(/\.ya?ml$/, '');
    const written = trimmedText(value.name as Json) ?? below.split('/').at(-2) ?? below;
    const kind = KIND_HERE[value.kind] ?? value.kind;
    const taken = names.get(kind) ?? createNames();
    names.set(kind, taken);
    const name = taken.take(nameOf(written));
    const out = `${below}${index === 0 ? '' : `-${index + 1}`}.yml`;
    const fields = new SourceMap(value as JsonObject, null, [], report);
    return [{ kind: value.kind, name, written, source, out, value: value as JsonObject, fields, report }];
  });
  return units.length > 0
    ? units
    : fail([problem(source.file, 'not_cortex', 'The file has no "kind".', 'Name a manifest of Cortex.')]);
}

/** What all kinds have. Keys without a place in ours are lines at the head of the file. */
function headOf(fields: SourceMap) {
  const about = ['author', 'state', 'grade', 'agency_level', 'category', 'tags'].flatMap((key) => {
    const value = fields.changed(key, 'a comment at the head of the file');
    return value === undefined ? [] : [`${key}: ${listOf(value).join(', ')}`];
  });
  const summary = trimmedText(fields.kept('summary', 'description'));
  const text = paragraphs(summary, trimmedText(fields.kept('description')));
  return { about, version: trimmedText(fields.kept('version')), description: text && plainText(text) };
}

/** Kinds that become another one share its names. */
const KIND_HERE: Readonly<Record<string, string>> = { Feed: 'Tool', Monument: 'Agent' };

type Convert = (unit: Unit, context: Cortex) => Converted | Promise<Converted>;
const CONVERTERS: Readonly<Record<string, Convert>> = {
  Tool: convertTool,
  Feed: convertTool,
  Relic: convertRelic,
  Workflow: convertWorkflow,
  Metadata: convertMetadata,
  Agent: convertAgent,
  Monument: convertMonument,
};

async function importUnit(unit: Unit, context: Cortex): Promise<ImportedFile> {
  const { kind, name, written, out, source, report, fields } = unit;
  const { file, path: from } = source;
  const fail = (...words: readonly [code: string, message: string, hint: string]) => ({
    file,
    diagnostics: [problem(file, ...words)],
  });
  const convert = CONVERTERS[kind];
  if (convert === undefined)
    return fail('unknown_kind', `Cortex has no kind "${kind}".`, 'Correct the kind.');
  if (join(context.options.out, out) === from)
    return fail('same_folder', 'The manifest would replace its source.', 'Name another folder with --out.');
  const tool = BUILTIN_TOOLS[written]?.tool;
  const instead =
    tool === undefined ? 'Nothing takes its place.' : `What imports it imports builtin:${tool} now.`;
  if (!isRunnable(unit))
    return fail('built_in', `"${written}" is compiled into Cortex: there is nothing to run.`, instead);
  fields.take('kind');
  fields.renamed('name', name);
  const head = headOf(fields);
  const { body, details, about = [], others = {} } = await convert(unit, context);
  fields.rest();
  const { version } = head;
  const description = paragraphs(head.description, details);
  const manifest = { kind: KIND_HERE[kind] ?? kind, name, ...filled({ version, description }), ...body };
  const manifests = Object.entries(body === undefined ? others : { [out]: manifest, ...others });
  const origin = `Imported from ${file}, ${kind} of Cortex.`;
  // What has no manifest of its own is described where its first part is.
  const lines = body === undefined && head.description !== undefined ? [head.description] : [];
  lines.push(...head.about, ...about, origin, ...remarksOf(report.entries()));
  const files = manifests.map(
    ([path, each], index): MadeFile => ({ path, text: yamlOf(each, index === 0 ? lines : [origin]) }),
  );
  const made = { kind: kind.toLowerCase(), name, files, entries: report.entries() };
  return { file, diagnostics: [], made };
}
