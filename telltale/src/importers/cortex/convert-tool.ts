import type { Json, JsonObject } from '../../kernel/json.ts';
import type { SourceFields } from '../report.ts';
import { given, listOf, literal, mapOf, paragraphs, textOf } from '../values.ts';
import { type Converted, type Cortex, headOf, type Unit } from './import-cortex.ts';

interface Builtin {
  readonly tool: string;
  /** What the tool here calls the parameters, by their names in Cortex. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly operation?: string;
}

const filesystem = (operation: string, parameters: Builtin['parameters']): Builtin => ({
  tool: 'filesystem',
  operation,
  parameters,
});

/** Tools that are compiled into Cortex, and what takes their place. */
export const BUILTIN_TOOLS: Readonly<Record<string, Builtin>> = {
  list: filesystem('list', { path: 'path' }),
  tree: filesystem('tree', { path: 'path', max_depth: 'depth' }),
  grep: filesystem('grep', { pattern: 'pattern', path: 'path', glob: 'glob', max_results: 'limit' }),
  fs_read: filesystem('read', { path: 'path', start_line: 'offset', limit: 'limit' }),
  fs_write: filesystem('write', { path: 'path', content: 'content' }),
  exec: {
    tool: 'shell',
    parameters: { command: 'command', cmd: 'command', input: 'command', cwd: 'cwd', timeout: 'timeout' },
  },
  web_fetch: {
    tool: 'http_fetch',
    parameters: { url: 'url', method: 'method', headers: 'headers', body: 'body' },
  },
};

/** A call of a tool that is compiled into Cortex, as its replacement takes it; other parameters are reported. */
export function builtinCall(
  name: string,
  parameters: JsonObject,
  { note }: Pick<SourceFields, 'note'>,
): JsonObject {
  const builtin = BUILTIN_TOOLS[name];
  if (builtin === undefined) return parameters;
  const entries = Object.entries(parameters).flatMap(([key, value]) => {
    const now = builtin.parameters[key];
    if (now === undefined) note('params', 'left', `${key}: ${builtin.tool} has no such parameter`);
    return now === undefined ? [] : [[now, value] as const];
  });
  return { ...given({ operation: builtin.operation }), ...Object.fromEntries(entries) };
}

/** Of the tools compiled into Cortex, the one that a script can replace. */
const JSON_SCRIPT = `const { op, data, path, query } = parameters;
const value = typeof data === 'string' && op !== 'validate' ? JSON.parse(data) : data;
const keys = (path ?? query ?? '').split(/[./]/).filter((key) => key !== '');
const found = keys.reduce((at, key) => at?.[key.replace(/~1/g, '/').replace(/~0/g, '~')], value);
const isValid = () => { try { JSON.parse(data); return true; } catch { return false; } };
const size = () => typeof found === 'object' && found !== null ? Object.keys(found).length : String(found).length;
const type = () => found === null ? 'null' : Array.isArray(found) ? 'array' : typeof found;
const results = {
  validate: () => ({ valid: typeof data !== 'string' || isValid() }), keys: () => ({ keys: Object.keys(found) }),
  length: () => ({ length: size() }), type: () => ({ type: type() }),
  pretty: () => ({ formatted: JSON.stringify(found, null, 2) }), minify: () => ({ formatted: JSON.stringify(found) }),
};
return { success: true, ...(results[op]?.() ?? { value: found ?? null }) };
`;

/** Tools and feeds that are compiled into Cortex have a manifest without anything to run. */
export function isRunnable({ kind, written, value }: Unit): boolean {
  if ((kind !== 'Tool' && kind !== 'Feed') || written === 'json') return true;
  const { entrypoint, runtime } = { ...value, ...mapOf(value.implementation) } as JsonObject;
  return textOf(entrypoint) !== undefined && runtime !== 'builtin';
}

const INTERPRETERS: Readonly<Record<string, string>> = { python: 'python3', shell: 'bash', nodejs: 'node' };
const COMPILED = new Set(['process', 'binary', 'native', 'cpp', 'c']);

/** A feed of its own is a tool without parameters, which agents show as a context feed. */
export function convertTool(unit: Unit, context: Cortex): Converted {
  const { fields, name, kind } = unit;
  const { about, version, description } = headOf(fields);
  const isFeed = kind === 'Feed';
  if (isFeed)
    fields.note('kind', 'changed', 'a tool; agents that import it have a context feed that calls it');
  for (const key of ['interval_secs', 'refresh_seconds'])
    fields.changed(key, 'interval of that context feed');
  fields.left('allow_empty', 'an empty value is shown as it is');
  const returns = textOf(fields.changed('returns', 'part of the description'));
  for (const each of listOf(fields.changed('examples', 'comments at the head of the file')))
    about.push(`Example: ${JSON.stringify(each)}`);
  const list = fields.kept('parameters', 'a JSON Schema');
  const schema = fields.kept('input_schema', 'parameters');
  const manifest = {
    kind: 'Tool',
    name,
    ...given({ version, description: paragraphs(description, returns && literal(`Returns: ${returns}`)) }),
    parameters: schema === undefined ? schemaOf(list, fields) : cleanSchema(schema),
    ...implementationOf(unit, context, schema === undefined),
    ...(isFeed ? { idempotent: true } : {}),
  };
  return { manifests: [{ path: unit.out, manifest }], about };
}

/** Scripts of the older form take their parameters as the first argument, those with `input_schema` from standard input. */
function implementationOf(unit: Unit, context: Cortex, wantsArgument: boolean): JsonObject {
  const { fields } = unit;
  const nested = fields.map('implementation');
  const parts = [nested, fields];
  const take = (key: string, how: string) =>
    parts.map((part) => part.kept(key, how)).find((value) => value !== undefined);
  const output = fields.changed('output_schema', 'the result has to be JSON; its fields are not checked');
  const env = variablesOf(fields, 'environment variables of the command');
  const resources = nested.map('resources');
  const timeout = Number(
    take('timeout', 'timeout') ?? take('timeout_secs', 'timeout') ?? resources.kept('timeout', 'timeout'),
  );
  resources.rest('limits of commands stand in the agent: permissions.limits');
  for (const part of parts) {
    part.map('build').rest('nothing is built here: build it by hand before the first call');
    part.map('health_check').rest('nothing is checked before a call');
    part.left('on_error', 'whoever calls the tool says what a failure means');
  }
  nested.changed('type', 'a command');
  nested.left('input_type', 'parameters are JSON');
  const runtime = textOf(take('runtime', 'the program of the command')) ?? 'process';
  const entrypoint =
    textOf(take('entrypoint', 'the command; CORTEX_ROOT is the folder of the sources')) ?? '';
  nested.rest();
  if (entrypoint === '') return { implementation: { script: JSON_SCRIPT } };
  const argument = wantsArgument ? 'the first argument and standard input' : 'standard input, not in a file';
  fields.note('parameters', 'changed', `the program gets them as JSON: ${argument}`);
  const program = COMPILED.has(runtime) ? [] : [INTERPRETERS[runtime] ?? runtime];
  const command = [...program, context.sourcePath(unit, entrypoint), ...(wantsArgument ? ['{*}'] : [])];
  const isJson = output !== undefined || /json|object/i.test(String(unit.value.returns ?? ''));
  return {
    implementation: { command, ...given({ env }), stdin: '{*}' },
    ...given({ timeout: timeout > 0 ? timeout : undefined }),
    ...(isJson ? { output: { schema: {} } } : {}),
  };
}

/** `environment: { variables: … }`, or the variables themselves. A variable that is not set is empty. */
export function variablesOf(fields: SourceFields, how: string): Record<string, string> {
  const environment = mapOf(fields.changed('environment', how));
  const variables = Object.entries(mapOf(environment.variables ?? environment));
  return Object.fromEntries(variables.map(([key, value]) => [key, environmentText(String(value))]));
}

/** `${NAME}` as an environment variable that may be unset. */
export const environmentText = (text: string): string => text.replace(/\$\{(\w+)\}/g, '${$1:-}');

const TYPES: Readonly<Record<string, string>> = {
  ...{ float: 'number', int: 'integer', bool: 'boolean', str: 'string', enum: 'string' },
  ...{ list: 'array', dict: 'object', json: 'object' },
};
const LIMITS: Readonly<Record<string, string>> = {
  ...{ min: 'minimum', max: 'maximum', min_length: 'minLength', max_length: 'maxLength', pattern: 'pattern' },
};

/** A list of parameters, or a map of them, as a JSON Schema. */
export function schemaOf(parameters: Json | undefined, fields: SourceFields): JsonObject {
  const entries = Array.isArray(parameters)
    ? parameters.map((each) => [String(mapOf(each).name ?? ''), mapOf(each)] as const)
    : Object.entries(mapOf(parameters)).map(([name, each]) => [name, mapOf(each)] as const);
  const properties = entries.map(([name, { name: _, required, type, values, validation, ...others }]) => {
    const schema: Record<string, Json | undefined> = {};
    const named = TYPES[String(type)] ?? textOf(type);
    if (named !== 'any') schema.type = named;
    if (values !== undefined) schema.enum = values;
    for (const [key, value] of Object.entries(others))
      if (['description', 'default', 'enum', 'items', 'properties'].includes(key)) schema[key] = value;
      else fields.note('parameters', 'left', `${name}: JSON Schema has no "${key}"`);
    for (const [key, value] of Object.entries(mapOf(validation))) {
      const limit = LIMITS[key];
      if (limit === undefined) fields.note('parameters', 'left', `${name}: JSON Schema has no "${key}"`);
      else schema[limit] = value;
    }
    return [name, given(schema)] as const;
  });
  const required = entries.filter(([, each]) => each.required === true).map(([name]) => name);
  return { type: 'object', ...given({ required }), properties: Object.fromEntries(properties) };
}

/** A JSON Schema as it was written; `required: true` within a property, which JSON Schema does not have, moves up. */
export function cleanSchema(schema: Json | undefined): JsonObject {
  const { properties, required, ...rest } = mapOf(schema);
  const inside: string[] = [];
  const cleaned = Object.entries(mapOf(properties)).map(([name, each]) => {
    const { required: own, ...others } = mapOf(each);
    if (own === true) inside.push(name);
    const kept = Array.isArray(own) ? mapOf(each) : (others as JsonObject);
    return [name, kept.properties === undefined ? kept : cleanSchema(kept)] as const;
  });
  const names = [...new Set([...(Array.isArray(required) ? required : []), ...inside])];
  return {
    ...(rest as JsonObject),
    type: 'object',
    ...given({ required: names }),
    properties: Object.fromEntries(cleaned),
  };
}
