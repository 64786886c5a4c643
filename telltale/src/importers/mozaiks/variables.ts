import type { Json, JsonObject } from '../../lib/json.ts';
import { identifierOf } from '../names.ts';
import { jsonTypeOf } from '../python.ts';
import type { SourceMap } from '../source-map.ts';
import { defined, filled, plainText, plainValue, textOf, textsOf } from '../values.ts';
import { type AgentNames, inner, type MozaiksDefinition, specialTarget } from './read-mozaiks.ts';

export interface VariableNames {
  readonly agent: AgentNames;
  /** The tool as it is called here; undefined if the workflow does not have it. */
  tool(name: string): string | undefined;
  /** The artifact that reads what tools of the user interface returned. */
  readonly artifact: string;
}

/** Older forms keep the variables of each source in a list of their own, whose name begins with the source. */
const LISTS =
  'definitions variables context_variables base_variables declarative_variables static_variables runtime_variables environment_variables config_variables database_variables defined_variables state_variables derived_variables';

/** What becomes of a variable of each source; of others, a runtime variable that tools or steps set. */
const SOURCES: Readonly<Record<string, string>> = {
  runtime: 'a runtime variable',
  static: 'a runtime variable with a default',
  declarative: 'a runtime variable with a default',
  environment: 'a runtime variable that the model may not set',
  config: 'a runtime variable that the model may not set',
  derived: 'a derived variable',
  state: 'a derived variable',
};

/** Sources that are kept in the store here. */
const KEPT = ['database', 'defined', 'data_reference', 'data_entity'];

/** What to do about the rest of a source that nothing reads here. */
const TO_PORT: Readonly<Record<string, string>> = {
  computed: 'nothing computes it: have a tool or a workflow step set it',
  external: 'nothing asks the service: use a feed, or a tool that sets it',
  file: 'the file is not read: use a feed of type "file"',
};

const DEFAULT_KEYS = ['default', 'value', 'init', 'initial', 'initial_value'] as const;

/** One variable while it is read. `source` is the map that says where it comes from, `item` itself in older forms. */
interface VariablesReading {
  readonly item: SourceMap;
  readonly source: SourceMap;
  readonly name: string;
  readonly type: string | undefined;
}

/** The variables of a workflow, as the lists of an agent's `context_variables`. */
export class Variables {
  readonly defined: JsonObject[] = [];
  readonly runtime: JsonObject[] = [];
  readonly derived: JsonObject[] = [];
  /** Names as Mozaiks has them, with the names they have here. */
  readonly names = new Map<string, string>();
  readonly booleans = new Set<string>();
  /** Variables that take a value out of what a tool of the user interface returned. */
  readonly responses: { readonly variable: string; readonly tool: string; readonly key: string }[] = [];
  readonly artifact: string;
  readonly #known: VariableNames;

  constructor(definition: MozaiksDefinition, known: VariableNames) {
    this.#known = known;
    this.artifact = known.artifact;
    for (const root of definition.sections.get('context_variables') ?? []) {
      const part = inner(root, 'context_variables', 'ContextVariablesPlan');
      // In a file with several sections `agents` and `variables` mean something else at the top.
      const isOwn = definition.isFolder || part !== root;
      const views = isOwn ? this.#viewsOf(part) : undefined;
      if (isOwn) part.left('workflow_name', 'the workflow is named by its orchestrator file');
      for (const key of LISTS.split(' ')) {
        const kind = key === 'context_variables' ? '' : (/^(\w+)_variables$/.exec(key)?.[1] ?? '');
        if (isOwn || key !== 'variables')
          part.each(key, 'variable', (item, name) => this.#read(item, name, kind, views));
      }
    }
  }

  /** A variable that a condition reads. It has a value, as in Mozaiks, where it is None until something sets it. */
  reference(written: string): { readonly name: string; readonly isDeclared: boolean } {
    const name = this.names.get(written) ?? identifierOf(written);
    const isDeclared = this.names.has(written);
    if (!isDeclared) this.runtime.push({ name, type: 'any', default: null });
    this.names.set(written, name);
    for (const list of [this.runtime, this.defined])
      for (const [at, variable] of list.entries())
        if (variable.name === name && variable.default === undefined)
          list[at] = { ...variable, type: 'any', default: null };
    return { name, isDeclared };
  }

  /** The lists for an agent with these tools: it sees no results of others. */
  listsFor(tools: readonly string[]): JsonObject | undefined {
    const runtime = [...this.runtime];
    const derived: JsonObject[] = [];
    for (const { triggers, ...rest } of this.derived) {
      const own = (triggers as readonly JsonObject[]).filter(
        ({ tool }) => tool === undefined || tools.includes(String(tool)),
      );
      if (own.length > 0) derived.push({ ...rest, triggers: own });
      else runtime.push({ ...rest, writers: ['user'] });
    }
    return filled({ defined: this.defined, runtime, derived });
  }

  /** Which agents see a variable, from `agents`; undefined where the file does not say. */
  #viewsOf(part: SourceMap): ReadonlyMap<string, string[]> | undefined {
    if (part.value.agents === undefined || part.value.agents === null) return undefined;
    const views = new Map<string, string[]>();
    part.each('agents', 'agent', (item, name) => {
      for (const key of ['agent', 'agent_name', 'name']) item.take(key);
      const agent = this.#known.agent(name);
      const variables = textsOf(item.take('variables'));
      const why = `the workflow has no agent ${name}`;
      item.either('variables', agent !== undefined, '"expose" of these variables names it', why);
      for (const each of variables) views.set(each, [...(views.get(each) ?? []), ...(agent ? [agent] : [])]);
    });
    return views;
  }

  #read(
    item: SourceMap,
    name: string,
    listed: string,
    views: ReadonlyMap<string, string[]> | undefined,
  ): void {
    const called = identifierOf(name);
    const nameKey = item.value.name === undefined ? 'key' : 'name';
    if (item.take(nameKey) !== undefined) item.renamed(nameKey, called);
    if (this.names.has(name)) {
      item.rest(`${name} is declared above, and the first declaration counts`);
      return;
    }
    this.names.set(name, called);
    const source = item.part('source') ?? item.part('database') ?? item.part('environment') ?? item;
    const typeKey = item.value.type === undefined ? 'var_type' : 'type';
    const written = item.text(typeKey);
    const json = jsonTypeOf(written?.toLowerCase().replace('optional_', '') ?? '');
    const type = json === 'integer' ? 'number' : json;
    if (type !== undefined) item.renamed(typeKey, type);
    else if (written !== undefined)
      item.note(typeKey, 'changed', `${written} is no type of a value: it may hold anything`);
    if (type === 'boolean') this.booleans.add(name);
    const kind =
      (source === item ? undefined : source.text('type')) ??
      (listed || (type ? 'runtime' : written) || 'runtime');
    const variable = KEPT.includes(kind) ? 'a defined variable' : 'a runtime variable';
    if (source !== item) source.changed('type', SOURCES[kind] ?? `${kind}: ${variable}`);
    const reading: VariablesReading = { item, source, name: called, type };
    const initial = defaultOf(reading);
    const description =
      textOf(item.kept('description')) ?? textOf(item.changed('purpose', 'it is "description"'));
    const common = {
      name: called,
      description: description === undefined ? undefined : plainText(description),
      expose: this.#exposeOf(item, name, views),
    };
    const triggers = this.#triggersOf(reading);
    if (triggers.length > 0) this.derived.push(defined({ ...common, default: initial, triggers }));
    else this.#declare(reading, kind, defined({ ...common, type: type ?? 'any' }), initial);
  }

  #exposeOf(
    item: SourceMap,
    name: string,
    views: ReadonlyMap<string, string[]> | undefined,
  ): readonly string[] | undefined {
    for (const key of ['used_by_agents', 'exposed_to']) {
      const used = item.changed(key, 'it is "expose"');
      if (used !== undefined) return textsOf(used).flatMap((each) => this.#known.agent(each) ?? []);
    }
    return views === undefined ? undefined : (views.get(name) ?? []);
  }

  /** A variable that is set by hand: kept in the store, or as long as the session. */
  #declare(
    { item, source, name, type }: VariablesReading,
    kind: string,
    typed: JsonObject,
    initial: Json | undefined,
  ): void {
    const searched = textOf(source.value.search_by) ?? '';
    const key = /user/.test(searched) ? 'user' : /app|agent/.test(searched) ? 'agent' : 'session';
    const variable = kind === 'config' || kind === 'environment' ? source.text('env_var') : undefined;
    source.changed('search_by', `"key: ${key}" keeps one value for each`);
    const isKept = KEPT.includes(kind);
    const database = isKept
      ? 'the database is neither read nor written: let a tool set the variable'
      : undefined;
    if (source !== item) source.rest(database ?? TO_PORT[kind] ?? 'have an agent or a tool set the variable');
    item.left('sources_from_agents', 'every agent of the workflow may set it');
    if (isKept) {
      this.defined.push(defined({ ...typed, key, default: initial }));
      return;
    }
    if (variable === undefined) {
      this.runtime.push(defined({ ...typed, default: initial }));
      return;
    }
    // What is read from the environment is text.
    const isText = type === 'string' || (type === undefined && typeof (initial ?? '') === 'string');
    const isRead = isText && /^[A-Za-z_]\w*$/.test(variable);
    const other = `only texts are read from there: --var ${name}=VALUE`;
    source.changed('env_var', isRead ? '"default" reads it' : other);
    const value = isRead ? `\${${variable}:-${textOf(initial) ?? ''}}` : initial;
    this.runtime.push(defined({ ...typed, default: value, writers: ['user', 'workflow'] }));
  }

  #triggersOf(reading: VariablesReading): readonly JsonObject[] {
    const { item, source } = reading;
    const triggers: JsonObject[] = [];
    const add = (part: SourceMap, to?: Json) => {
      const trigger = this.#triggerOf(part, to, reading);
      if (trigger !== undefined) triggers.push(trigger);
    };
    for (const part of source === item ? [item] : [source, item]) {
      if (part.value.trigger_type !== undefined) add(part);
      part.each('triggers', '', (trigger) => add(trigger));
      part.each('transitions', '', (transition) => {
        for (const key of ['from', 'from_state'])
          transition.changed(key, 'the trigger counts whatever the value was before');
        const to =
          transition.changed('to', 'it is "set" of the trigger') ??
          transition.changed('to_state', 'it is "set" of the trigger');
        const trigger = transition.part('trigger');
        if (trigger !== undefined) add(trigger, to);
      });
      if (triggers.length > 0) part.left('persist', 'a derived variable lives as long as the session');
    }
    return triggers;
  }

  /** One trigger: the newer form has `type` and `match`, the older one `trigger_type` and `trigger_value`. */
  #triggerOf(
    part: SourceMap,
    to: Json | undefined,
    { name, type }: VariablesReading,
  ): JsonObject | undefined {
    const typeKey = part.value.trigger_type === undefined ? 'type' : 'trigger_type';
    const written = part.text(typeKey) ?? '';
    const value = to ?? part.take('set');
    const set = value === true ? undefined : value;
    if (written.startsWith('agent_text')) {
      part.left('ui_hidden', 'the text that triggers it is shown like any other answer');
      const match = matchOf(part, written.slice('agent_text_'.length));
      const isKept = match !== undefined;
      part.either(typeKey, isKept, 'a trigger of type agent_text', 'nothing says which text is meant');
      return match && defined({ type: 'agent_text', agent: this.#speakerOf(part), match, set });
    }
    if (written !== 'ui_response' && written !== 'tool_response') {
      part.note(typeKey, 'left', `there is no trigger of type ${written === '' ? '(none)' : written}`);
      return undefined;
    }
    const wanted = part.text('tool') ?? '';
    const tool = this.#known.tool(wanted);
    const key = part.text('response_key');
    part.left('ui_hidden', 'nothing is shown that could be hidden');
    if (tool === undefined) {
      part.note('tool', 'left', `the workflow has no tool ${wanted}: have another one set the variable`);
      return undefined;
    }
    part.renamed('tool', tool);
    if (key !== undefined && value === undefined && type !== 'boolean') {
      part.note('type', 'changed', `the artifact ${this.artifact} takes the value out of the result`);
      part.note('response_key', 'changed', 'the artifact reads this field of the result');
      this.responses.push({ variable: name, tool, key });
      return { type: 'function', artifact: this.artifact, method: name, fallback: null };
    }
    part.note('type', 'changed', 'a trigger of type tool_response');
    if (key !== undefined) part.note('response_key', 'changed', '"match" looks at this field of the result');
    return defined({
      type: 'tool_response',
      tool,
      match: key === undefined ? undefined : { [key]: value ?? true },
      set,
    });
  }

  /** The agent whose text counts; any agent's if it is none of the workflow's. */
  #speakerOf(part: SourceMap): string | undefined {
    const key = part.value.agent === undefined ? 'source_agent' : 'agent';
    const written = part.text(key);
    if (written === undefined) return undefined;
    const agent = this.#known.agent(written);
    if (agent !== undefined) part.renamed(key, agent);
    else if (specialTarget(written) === undefined)
      part.note(key, 'changed', `the workflow has no agent ${written}`);
    else part.note(key, 'left', 'the text of the person is no agent text: any agent counts');
    return agent ?? (specialTarget(written) === undefined ? identifierOf(written) : undefined);
  }
}

function matchOf(part: SourceMap, kind: string): JsonObject | undefined {
  const old = textOf(part.changed('trigger_value', 'it is "match" of the trigger'));
  const match = part.part('match') ?? part;
  for (const key of ['equals', 'contains', 'regex']) {
    const isOld = old !== undefined && key === (kind === '' ? 'equals' : kind);
    const value = isOld ? old : match.text(key);
    if (value === undefined || value === '') continue;
    if (!isOld && key === 'regex')
      match.note(key, 'changed', 'it is "matches", which is RE2 and ignores case');
    else if (!isOld)
      match.note(key, 'kept', 'compared exactly; Mozaiks ignores case, and white space around the text');
    return key === 'regex' ? { matches: `(?i)${value}` } : { [key]: plainText(value) };
  }
  return undefined;
}

/** The value before anything sets it. A default that does not fit the type is reported and left out. */
function defaultOf({ item, source, type }: VariablesReading): Json | undefined {
  for (const part of source === item ? [item] : [source, item])
    for (const key of DEFAULT_KEYS) {
      const written = part.take(key);
      const value = key === 'init' ? literalOf(written) : written;
      if (written === undefined || value === undefined) continue;
      const fits = type === undefined || type === (Array.isArray(value) ? 'array' : typeof value);
      part.either(key, fits, 'it is "default"', `it is no ${type}`);
      return fits ? plainValue(value) : undefined;
    }
  return undefined;
}

/** `init` is written as source code: `'intake'`, `[]`, `null`. */
function literalOf(written: Json | undefined): Json | undefined {
  if (typeof written !== 'string') return written;
  try {
    return (JSON.parse(written.replace(/^'(.*)'$/s, '"$1"')) as Json) ?? undefined;
  } catch {
    return written;
  }
}
