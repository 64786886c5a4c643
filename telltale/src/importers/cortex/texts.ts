import type { Json, JsonObject } from '../../kernel/json.ts';
import { isMap } from '../../manifest/schema/is-map.ts';

/** Text that means nothing but itself in a manifest: `${` stays, whatever stands in it. */
export const literal = (text: string): string => text.replace(/\$+(?=\{)/g, (dollars) => dollars + dollars);

/** `${NAME}` as an environment variable that may be unset. */
export const environmentText = (text: string): string =>
  text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, '${$1:-}');

/** A value with each text in it changed. */
export function mapTexts(value: Json, change: (text: string) => Json): Json {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((each: Json) => mapTexts(each, change));
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, mapTexts(each as Json, change)]),
  );
}

export const textOf = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value.trim() !== ''
    ? value.trim()
    : typeof value === 'number'
      ? String(value)
      : undefined;

export const listOf = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? (value as readonly Json[]) : value === undefined || value === null ? [] : [value];

export const mapOf = (value: Json | undefined): JsonObject => (isMap(value) ? (value as JsonObject) : {});

/** Several texts as paragraphs of one; undefined if there is none. */
export const paragraphs = (...texts: readonly (string | undefined)[]): string | undefined => {
  const given = [...new Set(texts.filter((text) => text !== undefined && text.trim() !== ''))];
  return given.length === 0 ? undefined : given.map((text) => (text ?? '').trim()).join('\n\n');
};

export const setIf = (key: string, value: Json | undefined): JsonObject =>
  value === undefined || (Array.isArray(value) && value.length === 0) ? {} : { [key]: value };

/** What `$(…)` and `${…}` of Cortex name: the steps before, and variables such as the item of a loop. */
export interface Names {
  /** Names of steps as they are now, by Cortex's. */
  readonly steps: ReadonlyMap<string, string>;
  /** Paths of answers and loop items, by Cortex's names. */
  readonly variables: ReadonlyMap<string, string>;
  /** What could not be expressed. */
  readonly doubt: (what: string) => void;
}

const REFERENCE = /\$\(([^()]+)\)|\$\{([^{}]+)\}|\$(TIMESTAMP|WORKFLOW_ID)\b/g;

/** A text of a step. What is missing is empty, as in Cortex. */
export function templateOf(text: string, names: Names): string {
  const whole = new RegExp(`^(?:${REFERENCE.source})$`).test(text);
  let result = '';
  let at = 0;
  for (const match of text.matchAll(REFERENCE)) {
    const path = pathOf((match[1] ?? match[2] ?? match[3] ?? '').trim(), names);
    result += literal(text.slice(at, match.index));
    if (path === undefined) result += literal(match[0]);
    else result += `\${${path} ?? ${whole ? 'null' : "''"}}`;
    at = match.index + match[0].length;
  }
  return result + literal(text.slice(at));
}

/** A path of Cortex as one of ours; undefined, with a word in the report, if nothing corresponds to it. */
export function pathOf(source: string, names: Names): string | undefined {
  const [head = '', ...rest] = source.split('.');
  const tail = (parts: readonly string[]) => parts.map((part) => `.${part}`).join('');
  if (head === 'TIMESTAMP') return 'run.started_at';
  if (head === 'WORKFLOW_ID') return 'run.id';
  if (head === 'input' || head === 'trigger') return `input${tail(rest)}`;
  if (head === 'session_id' || head === 'workspace_path' || head === 'metadata') return `agent.${source}`;
  const variable = names.variables.get(head);
  if (variable !== undefined) return `${variable}${tail(rest)}`;
  const [id = '', ...inside] = head === 'steps' ? rest : [head, ...rest];
  const step = names.steps.get(id);
  if (step !== undefined) {
    const [first, ...more] = inside;
    if (first === 'success' && more.length === 0) return `steps.${step}.status`;
    // The whole result is what Cortex calls output or result.
    const path = first === 'output' || first === 'result' ? more : inside;
    return `steps.${step}.output${tail(path)}`;
  }
  names.doubt(`\${${source}} stays as it is written: no step before has that name`);
  return undefined;
}

const OPERATOR = /^(.+?)\s*(==|!=|>=|<=|>|<)\s*(.+)$/s;

/** A condition as CEL. A path that does not exist makes it false. */
export function celOf(source: string, names: Names): string {
  const comparison = OPERATOR.exec(source.trim());
  const reference = /^\$[({](.+)[)}]$|^([A-Za-z_][\w.]*)$/s;
  const path = (text: string) => {
    const found = reference.exec(text.trim());
    return found === null ? undefined : pathOf((found[1] ?? found[2] ?? '').trim(), names);
  };
  if (comparison === null) {
    const found = path(source);
    if (found === undefined) return 'false';
    return found.endsWith('.status')
      ? `${found} == 'completed'`
      : exists(found, `!(${found} in [null, false, 0, ''])`);
  }
  const [, left = '', operator = '==', right = ''] = comparison;
  const found = path(left);
  if (found === undefined) {
    names.doubt(`the condition ${source} cannot be expressed, and never holds`);
    return 'false';
  }
  if (/^steps\.[\w-]+\.status$/.test(found)) {
    const isWanted = (right.trim() !== 'false') === (operator === '==');
    return `${found} ${isWanted ? '==' : '!='} 'completed'`;
  }
  return exists(found, `${found} ${operator} ${valueOf(right.trim())}`);
}

/** Guards every step of a path behind `output`, so that a missing field is not an error. */
function exists(path: string, test: string): string {
  const parts = path.split('.');
  const known = parts[0] === 'steps' ? 3 : 1;
  const guards = parts.slice(known).map((_, index) => `has(${parts.slice(0, known + index + 1).join('.')})`);
  return [...guards, test].join(' && ');
}

const valueOf = (text: string): string => {
  const quoted = /^(['"])(.*)\1$/s.exec(text)?.[2];
  if (quoted !== undefined) return JSON.stringify(quoted);
  return /^(true|false|null|-?\d+(\.\d+)?)$/.test(text) ? text : JSON.stringify(text);
};

/** A list of parameters, or a map of them, as a JSON Schema. */
export function schemaOf(parameters: Json | undefined): JsonObject {
  const entries: readonly (readonly [string, JsonObject])[] = Array.isArray(parameters)
    ? (parameters as readonly Json[]).map((each) => [String(mapOf(each).name ?? ''), mapOf(each)] as const)
    : Object.entries(mapOf(parameters)).map(
        ([name, each]) => [name, isMap(each) ? (each as JsonObject) : { description: String(each) }] as const,
      );
  const required = entries.filter(([, each]) => each.required === true).map(([name]) => name);
  return {
    type: 'object',
    ...setIf('required', required),
    properties: Object.fromEntries(entries.map(([name, each]) => [name, propertyOf(each)])),
  };
}

const LIMITS: Readonly<Record<string, string>> = {
  min: 'minimum',
  max: 'maximum',
  min_length: 'minLength',
  max_length: 'maxLength',
  pattern: 'pattern',
};

/** Keys of a parameter beside `name`, `required` and those that JSON Schema has. */
export const PARAMETER_KEYS: ReadonlySet<string> = new Set(
  'name required type description default enum values validation items properties'.split(' '),
);

function propertyOf({
  type,
  description,
  default: value,
  enum: options,
  values,
  validation,
  items,
  properties,
}: JsonObject): JsonObject {
  const limits = Object.entries(mapOf(validation)).flatMap(([key, limit]) => {
    const name = LIMITS[key];
    return name === undefined ? [] : [[name, limit as Json] as const];
  });
  const named = typeof type === 'string' ? (TYPES[type] ?? type) : undefined;
  return {
    ...setIf('type', named === 'any' ? undefined : named),
    ...setIf('description', textOf(description as Json)),
    ...setIf('default', (value ?? undefined) as Json | undefined),
    ...setIf('enum', (options ?? values) as Json | undefined),
    ...setIf('items', items as Json | undefined),
    ...(properties === undefined ? {} : { properties: schemaOf(properties as Json).properties as Json }),
    ...Object.fromEntries(limits),
  };
}

const TYPES: Readonly<Record<string, string>> = {
  float: 'number',
  int: 'integer',
  bool: 'boolean',
  list: 'array',
  dict: 'object',
  json: 'object',
  str: 'string',
  enum: 'string',
};

/** A JSON Schema as it was written; `required: true` within a property, which JSON Schema does not have, moves up. */
export function cleanSchema(schema: Json | undefined): JsonObject {
  const { properties, required, ...rest } = mapOf(schema);
  const entries = Object.entries(mapOf(properties as Json)).map(
    ([name, each]) => [name, mapOf(each as Json)] as const,
  );
  const listed = Array.isArray(required) ? (required as readonly Json[]) : [];
  const inside = entries.filter(([, each]) => each.required === true).map(([name]) => name);
  const cleaned = entries.map(([name, each]) => {
    const { required: own, ...others } = each;
    const kept = Array.isArray(own) ? each : (others as JsonObject);
    return [name, 'properties' in kept ? cleanSchema(kept) : kept] as const;
  });
  return {
    ...(rest as JsonObject),
    type: 'object',
    ...setIf('required', [...new Set([...listed, ...inside])] as Json),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(cleaned) }),
  };
}
