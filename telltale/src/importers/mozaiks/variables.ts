import type { Json, JsonObject } from '../../kernel/json.ts';
import { identifierOf } from '../names.ts';
import { mapOf, type Part, plainText, plainValue, textOf, textsOf } from '../part.ts';
import { type Definition, inner, specialTarget } from './read-mozaiks.ts';

/** The variables of a workflow, as the lists of an agent's `context_variables`. */
export interface Variables {
  readonly defined: JsonObject[];
  readonly runtime: JsonObject[];
  readonly derived: JsonObject[];
  /** Names as Mozaiks has them, with the names they have here. */
  readonly names: Map<string, string>;
  readonly booleans: Set<string>;
  /** Variables that take a value out of what a tool of the user interface returned. */
  readonly responses: { readonly variable: string; readonly tool: string; readonly key: string }[];
}

export interface VariableNames {
  /** The agent as it is called here; undefined if the workflow does not have it. */
  agent(name: string): string | undefined;
  tool(name: string): string;
  /** The artifact that reads what tools of the user interface returned. */
  readonly artifact: string;
}

/** Older forms keep the variables of each source in a list of their own. */
const LISTS: Readonly<Record<string, string>> = {
  definitions: '',
  variables: '',
  context_variables: '',
  base_variables: 'static',
  declarative_variables: 'static',
  static_variables: 'static',
  runtime_variables: 'runtime',
  environment_variables: 'environment',
  config_variables: 'config',
  database_variables: 'database',
  defined_variables: 'database',
  state_variables: 'state',
  derived_variables: 'derived',
};

const TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  str: 'string',
  text: 'string',
  optional_str: 'string',
  integer: 'number',
  int: 'number',
  number: 'number',
  float: 'number',
  boolean: 'boolean',
  bool: 'boolean',
  list: 'array',
  array: 'array',
  dict: 'object',
  object: 'object',
};

export function readVariables(definition: Definition, names: VariableNames): Variables {
  const found: Variables = {
    defined: [],
    runtime: [],
    derived: [],
    names: new Map(),
    booleans: new Set(),
    responses: [],
  };
  for (const root of definition.sections.get('context_variables') ?? []) {
    const part = inner(root, 'context_variables', 'ContextVariablesPlan');
    const isOwn = definition.isFolder || part !== root;
    const views = isOwn ? viewsOf(part, names) : undefined;
    if (isOwn) part.left('workflow_name', 'the workflow is named by its orchestrator file');
    for (const [key, source] of Object.entries(LISTS)) {
      if (!isOwn && key === 'variables') continue;
      part.each(
        key,
        (name) => `variable ${name}`,
        (item, name) => readVariable(item, name, source, views, names, found),
      );
    }
  }
  return found;
}

/** Which agents see a variable, from `agents`; undefined where the file does not say. */
function viewsOf(part: Part, names: VariableNames): ReadonlyMap<string, string[]> | undefined {
  if (part.value.agents === undefined || part.value.agents === null) return undefined;
  const views = new Map<string, string[]>();
  part.each(
    'agents',
    (name) => `agent ${name}`,
    (item, name) => {
      for (const key of ['agent', 'agent_name', 'name']) item.take(key);
      const agent = names.agent(name);
      if (agent === undefined) {
        item.note('variables', 'left', `the workflow has no agent ${name}`);
        return;
      }
      const variables = textsOf(item.changed('variables', '"expose" of these variables names the agent'));
      for (const variable of variables) views.set(variable, [...(views.get(variable) ?? []), agent]);
    },
  );
  return views;
}

function readVariable(
  item: Part,
  name: string,
  listed: string,
  views: ReadonlyMap<string, string[]> | undefined,
  names: VariableNames,
  found: Variables,
): void {
  const called = identifierOf(name);
  const nameKey = item.value.name === undefined ? 'key' : 'name';
  if (item.take(nameKey) !== undefined)
    item.note(nameKey, called === name ? 'kept' : 'changed', called === name ? nameKey : `it is ${called}`);
  if (found.names.has(name)) {
    item.note(nameKey, 'left', `${name} is declared above; the first declaration counts`);
    return;
  }
  found.names.set(name, called);
  const source = item.part('source') ?? item.part('database') ?? item.part('environment') ?? item;
  const typeText = textOf(item.take('type')) ?? item.text('var_type');
  const type = TYPES[typeText?.toLowerCase() ?? ''];
  const kind =
    (source === item ? undefined : source.text('type')) ??
    (listed || (type ? 'runtime' : typeText) || 'runtime');
  if (typeText !== undefined)
    item.note(
      item.value.type === undefined ? 'var_type' : 'type',
      type === typeText ? 'kept' : 'changed',
      type === undefined ? `${typeText} is no type of a value: it may hold anything` : `it is ${type}`,
    );
  if (source !== item && source.value.type !== undefined) noteSource(source, kind);
  if (type === 'boolean') found.booleans.add(name);
  const common = {
    name: called,
    description: descriptionOf(item),
    expose: exposeOf(item, name, views, names),
  };
  const initial = defaultOf(item, source, type);
  if (isDerived(item, source, kind)) {
    const triggers = triggersOf(item, source, called, type, names, found);
    if (triggers.length > 0) {
      found.derived.push(mapOf({ ...common, default: initial, triggers }));
      return;
    }
    item.note(
      'source',
      'changed',
      'no trigger could be converted: it is a runtime variable that is set by hand',
    );
  }
  const isKept = ['database', 'data_reference', 'data_entity'].includes(kind);
  readOrigin(source, kind);
  const typed = mapOf({ ...common, type: type ?? 'any' });
  if (isKept) {
    const searched = textOf(source.value.search_by) ?? '';
    const key = /user/.test(searched) ? 'user' : /app|agent/.test(searched) ? 'agent' : 'session';
    source.changed('search_by', `"key: ${key}" keeps one value for each`);
    found.defined.push(mapOf({ ...typed, key, default: initial }));
    return;
  }
  const isConfig = kind === 'config' || kind === 'environment';
  const variable = isConfig ? source.text('env_var') : undefined;
  if (variable !== undefined) {
    const fits = /^[A-Za-z_]\w*$/.test(variable) && (type === 'string' || type === undefined);
    source.note(
      'env_var',
      'changed',
      fits
        ? `"default" reads it when the manifest is loaded`
        : `set it with --var ${called}=VALUE: only texts are read from the environment`,
    );
    const fallback = typeof initial === 'string' ? initial : '';
    found.runtime.push(
      mapOf({
        ...typed,
        default: fits ? `\${${variable}:-${fallback}}` : initial,
        writers: ['user', 'workflow'],
      }),
    );
    return;
  }
  found.runtime.push(mapOf({ ...typed, default: initial }));
}

function noteSource(source: Part, kind: string): void {
  const how: Readonly<Record<string, string>> = {
    runtime: 'a runtime variable',
    static: 'a runtime variable with a default',
    declarative: 'a runtime variable with a default',
    environment: 'a runtime variable that the model may not set',
    config: 'a runtime variable that the model may not set',
    database: "a defined variable, kept in Telltale's store; the database is not read",
    data_reference: "a defined variable, kept in Telltale's store; the database is not read",
    data_entity: "a defined variable, kept in Telltale's store; the database is not written",
    derived: 'a derived variable',
    state: 'a derived variable',
  };
  source.note('type', 'changed', how[kind] ?? `${kind}: a runtime variable that tools or steps set`);
}

function descriptionOf(item: Part): string | undefined {
  const text = textOf(item.kept('description')) ?? textOf(item.changed('purpose', 'it is "description"'));
  return text === undefined ? undefined : plainText(text);
}

function exposeOf(
  item: Part,
  name: string,
  views: ReadonlyMap<string, string[]> | undefined,
  names: VariableNames,
): readonly string[] | undefined {
  const used = item.take('used_by_agents') ?? item.take('exposed_to');
  if (used !== undefined) {
    const key = item.value.used_by_agents === undefined ? 'exposed_to' : 'used_by_agents';
    item.note(key, 'changed', 'it is "expose"');
    return textsOf(used).flatMap((each) => names.agent(each) ?? []);
  }
  return views === undefined ? undefined : (views.get(name) ?? []);
}

const DEFAULT_KEYS = ['default', 'value', 'init', 'initial', 'initial_value'] as const;

/** The value before anything sets it. A default that does not fit the type is reported and left out. */
function defaultOf(item: Part, source: Part, type: string | undefined): Json | undefined {
  for (const part of source === item ? [item] : [source, item])
    for (const key of DEFAULT_KEYS) {
      const written = part.take(key);
      if (written === undefined) continue;
      const value = key === 'init' ? literalOf(written) : written;
      if (value === undefined) return undefined;
      const fits = type === undefined || type === (Array.isArray(value) ? 'array' : typeof value);
      if (fits) part.note(key, key === 'default' ? 'kept' : 'changed', 'it is "default"');
      else part.note(key, 'left', `it is no ${type}`);
      return fits ? plainValue(value) : undefined;
    }
  return undefined;
}

/** `init` is written as source code: `'intake'`, `[]`, `null`. */
function literalOf(written: Json): Json | undefined {
  if (typeof written !== 'string') return written;
  try {
    return (JSON.parse(written.replace(/^'(.*)'$/s, '"$1"')) as Json) ?? undefined;
  } catch {
    return written;
  }
}

const isDerived = (item: Part, source: Part, kind: string): boolean =>
  kind === 'derived' ||
  [source, item].some((part) =>
    ['triggers', 'transitions', 'trigger_type'].some((key) => part.value[key] !== undefined),
  );

/** Where a value came from in Mozaiks, and what to do about it here. */
function readOrigin(source: Part, kind: string): void {
  const why: Readonly<Record<string, string>> = {
    computed: 'nothing computes it: have a tool or a workflow step set it',
    external: 'nothing asks the service: use a feed, or a tool that sets it',
    file: 'the file is not read: use a feed of type "file"',
  };
  const known = why[kind];
  if (known !== undefined) source.rest(known);
  for (const key of ['database_name', 'collection', 'field', 'fields', 'query_template', 'refresh_strategy'])
    source.left(key, 'the database is not read: let a tool set the variable');
  for (const key of ['schema', 'indexes', 'write_strategy', 'persist', 'persist_to'])
    source.left(key, 'writes go to the store of Telltale, at once');
  source.left(
    'trigger',
    'nothing says which text or tool is meant: have an agent or a tool set the variable',
  );
  source.left('sources_from_agents', 'every agent of the workflow may set it');
  source.left('required', 'a variable without a value is empty, and nothing fails');
}

function triggersOf(
  item: Part,
  source: Part,
  variable: string,
  type: string | undefined,
  names: VariableNames,
  found: Variables,
): readonly JsonObject[] {
  const triggers: JsonObject[] = [];
  const add = (part: Part, to: Json | undefined) => {
    const trigger = triggerOf(part, to, variable, type, names, found);
    if (trigger !== undefined) triggers.push(trigger);
  };
  for (const part of source === item ? [item] : [source, item]) {
    if (part.value.trigger_type !== undefined) add(part, undefined);
    part.each(
      'triggers',
      () => item.label ?? variable,
      (trigger) => add(trigger, undefined),
    );
    part.each(
      'transitions',
      () => item.label ?? variable,
      (transition) => {
        const from = transition.take('from') ?? transition.take('from_state');
        const key = transition.value.to === undefined ? 'to_state' : 'to';
        const to = transition.take(key);
        if (transition.value.from !== undefined || transition.value.from_state !== undefined)
          transition.note(
            transition.value.from === undefined ? 'from_state' : 'from',
            'changed',
            `the trigger counts whatever the value was, not only ${JSON.stringify(from ?? null)}`,
          );
        transition.note(key, 'changed', 'it is "set" of the trigger');
        const trigger = transition.part('trigger');
        if (trigger !== undefined) add(trigger, to);
        else transition.note('trigger', 'left', 'no trigger says when');
      },
    );
    part.left('persist', 'a derived variable lives as long as the session');
  }
  return triggers;
}

/** One trigger, in the newer form (`type`, `match`) or the older one (`trigger_type`, `source_agent`, `trigger_value`). */
function triggerOf(
  part: Part,
  to: Json | undefined,
  variable: string,
  type: string | undefined,
  names: VariableNames,
  found: Variables,
): JsonObject | undefined {
  const isOld = part.value.trigger_type !== undefined;
  const typeKey = isOld ? 'trigger_type' : 'type';
  const written = part.text(typeKey) ?? '';
  const set = to ?? part.take('set');
  if (written.startsWith('agent_text')) {
    part.note(typeKey, isOld ? 'changed' : 'kept', 'a trigger of type agent_text');
    part.left('ui_hidden', 'the text that triggers it is shown like any other answer');
    const match = isOld
      ? oldMatch(part, written.slice('agent_text_'.length))
      : textMatch(part.part('match') ?? part);
    if (match === undefined) {
      part.note(typeKey, 'left', 'nothing says which text is meant');
      return undefined;
    }
    return mapOf({
      type: 'agent_text',
      agent: triggerAgent(part, isOld ? 'source_agent' : 'agent', names),
      match,
      set: set === true ? undefined : set,
    });
  }
  if (written === 'ui_response' || written === 'tool_response') {
    const tool = names.tool(textOf(part.changed('tool', 'the tool is asked for by its name here')) ?? '');
    const key = textOf(part.take('response_key'));
    part.left('ui_hidden', 'nothing is shown that could be hidden');
    if (set !== undefined || key === undefined || type === 'boolean') {
      if (key !== undefined)
        part.note('response_key', 'changed', '"match" looks at this field of the result');
      part.note('type', 'changed', 'a trigger of type tool_response');
      return mapOf({
        type: 'tool_response',
        tool,
        match: key === undefined ? undefined : { [key]: set ?? true },
        set: set === true ? undefined : set,
      });
    }
    part.note(
      'type',
      'changed',
      `the artifact ${names.artifact} takes the value out of the result of the tool`,
    );
    part.note('response_key', 'changed', 'the artifact reads this field of the result');
    found.responses.push({ variable, tool, key });
    return { type: 'function', artifact: names.artifact, method: variable, fallback: null };
  }
  part.note(typeKey, 'left', `there is no trigger of type ${written === '' ? '(none)' : written}`);
  return undefined;
}

function triggerAgent(part: Part, key: string, names: VariableNames): string | undefined {
  const written = part.text(key);
  if (written === undefined || specialTarget(written) !== undefined) {
    if (written !== undefined)
      part.note(key, 'left', 'the text of the person is no agent text: any agent counts');
    return undefined;
  }
  const agent = names.agent(written);
  part.note(key, agent === undefined ? 'changed' : 'kept', agent ?? `the workflow has no agent ${written}`);
  return agent ?? identifierOf(written);
}

function oldMatch(part: Part, kind: string): JsonObject | undefined {
  const value = textOf(part.changed('trigger_value', 'it is "match" of the trigger'));
  if (value === undefined || value === '') return undefined;
  return kind === 'regex'
    ? { matches: `(?i)${value}` }
    : kind === 'contains'
      ? { contains: value }
      : { equals: value };
}

function textMatch(part: Part): JsonObject | undefined {
  for (const key of ['equals', 'contains', 'regex'] as const) {
    const value = part.text(key);
    if (value === undefined || value === '') continue;
    if (key === 'regex') part.note(key, 'changed', 'it is "matches", an RE2 expression that ignores case');
    else part.note(key, 'kept', 'compared exactly; Mozaiks ignores case and white space around the text');
    return key === 'regex' ? { matches: `(?i)${value}` } : { [key]: plainText(value) };
  }
  return undefined;
}
