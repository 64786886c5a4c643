import type { Json, JsonObject } from '../../lib/json.ts';
import { jsonTypeOf } from '../python.ts';
import type { SourceMap } from '../source-map.ts';
import { environmentText, filled, listOf, mapOf, plainText, trimmedText } from '../values.ts';
import { BUILTIN_TOOLS, builtin, type Converted, type Cortex, type Unit } from './cortex.ts';

/** A call of a tool that is compiled into Cortex, as its replacement takes it; other parameters are reported. */
export function builtinCall(name: string, parameters: JsonObject, fields: SourceMap): JsonObject {
  const { tool, operation, names } = BUILTIN_TOOLS[name] ?? builtin(name, '');
  const entries = Object.entries(parameters).flatMap(([key, value]) => {
    if (!names.has(key)) fields.note('params', 'left', `${key}: ${tool} has no such parameter`);
    return names.has(key) ? [[names.get(key) ?? key, value] as const] : [];
  });
  return { ...filled({ operation }), ...Object.fromEntries(entries) };
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

const INTERPRETERS: Readonly<Record<string, string>> = { python: 'python3', shell: 'bash', nodejs: 'node' };
const COMPILED = new Set(['process', 'binary', 'native', 'cpp', 'c']);

/** A feed of its own is a tool without parameters, which agents show as a context feed. */
export function convertTool(unit: Unit, context: Cortex): Converted {
  const { fields, kind } = unit;
  const isFeed = kind === 'Feed';
  if (isFeed)
    fields.note('kind', 'changed', 'a tool; agents that import it have a context feed that calls it');
  for (const key of ['interval_secs', 'refresh_seconds'])
    fields.changed(key, 'interval of that context feed');
  fields.left('allow_empty', 'an empty value is shown as it is');
  const returns = trimmedText(fields.changed('returns', 'part of the description'));
  const examples = listOf(fields.changed('examples', 'comments at the head of the file'));
  const list = fields.kept('parameters', 'a JSON Schema');
  const schema = fields.kept('input_schema', 'parameters');
  const body = {
    parameters: schema === undefined ? schemaOf(list, fields) : cleanSchema(schema),
    ...implementationOf(unit, context, schema === undefined),
    ...(isFeed ? { idempotent: true } : {}),
  };
  const about = examples.map((each) => `Example: ${JSON.stringify(each)}`);
  return { body, about, details: returns && plainText(`Returns: ${returns}`) };
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
  const runtime = trimmedText(take('runtime', 'the program of the command')) ?? 'process';
  const entrypoint =
    trimmedText(take('entrypoint', 'the command; CORTEX_ROOT is the folder of the sources')) ?? '';
  if (entrypoint === '') return { implementation: { script: JSON_SCRIPT } };
  const argument = wantsArgument ? 'the first argument and standard input' : 'standard input, not in a file';
  fields.note('parameters', 'changed', `the program gets them as JSON: ${argument}`);
  const program = COMPILED.has(runtime) ? [] : [INTERPRETERS[runtime] ?? runtime];
  const command = [...program, context.sourcePath(unit, entrypoint), ...(wantsArgument ? ['{*}'] : [])];
  const isJson = output !== undefined || /json|object/i.test(String(unit.value.returns ?? ''));
  return {
    implementation: { command, ...filled({ env }), stdin: '{*}' },
    ...filled({ timeout: timeout > 0 ? timeout : undefined }),
    ...(isJson ? { output: { schema: {} } } : {}),
  };
}

/** `environment: { variables: … }`, or the variables themselves. A variable that is not set is empty. */
export function variablesOf(fields: SourceMap, how: string): Record<string, string> {
  const environment = mapOf(fields.changed('environment', how));
  if (environment.variables !== undefined) fields.leaveOthers('environment', environment, 'variables');
  const variables = Object.entries(mapOf(environment.variables ?? environment));
  return Object.fromEntries(variables.map(([key, value]) => [key, environmentText(String(value))]));
}

/** The REST endpoints of a relic; `keys` are its parameters, those in the path included. */
function endpointsOf({ value, fields }: Unit) {
  return listOf(mapOf(value.interface).endpoints ?? value.endpoints).map((each) => {
    const { name, method = 'GET', path = '/', parameters } = mapOf(each);
    fields.leaveOthers('endpoints', each, 'name method path parameters');
    for (const parameter of Object.values(mapOf(parameters)))
      fields.leaveOthers('endpoints.parameters', parameter, 'name');
    const list = Array.isArray(parameters) ? parameters.map((one) => mapOf(one).name) : undefined;
    const inPath = [...String(path).matchAll(/\{(\w+)\}/g)].map(([, key]) => key);
    const keys = [...new Set([...(list ?? Object.keys(mapOf(parameters))), ...inPath])].map(String);
    return { name: String(name), method: String(method).toLowerCase(), path: String(path), keys };
  });
}

/**
 * The call of an endpoint as an operation of the http relic: what the path names stands there, the rest is body or query.
 * Without a name it is the endpoint that takes just these parameters.
 */
export function endpointCall(relic: Unit, call: JsonObject, action?: string): JsonObject | undefined {
  const { operation, endpoint, action: verb, ...parameters } = call;
  const wanted = action ?? operation ?? endpoint ?? verb;
  const names = Object.keys(parameters);
  const takes = (keys: readonly string[]) =>
    keys.length === names.length && keys.every((key) => names.includes(key));
  const found = endpointsOf(relic).find(({ name, keys }) =>
    wanted === undefined ? takes(keys) : name === wanted,
  );
  if (found === undefined) return undefined;
  const { method, path } = found;
  const address = path.replace(/\{(\w+)\}/g, (braces, key: string) => String(parameters[key] ?? braces));
  const rest = Object.fromEntries(Object.entries(parameters).filter(([key]) => !path.includes(`{${key}}`)));
  const place = ['post', 'put', 'patch'].includes(method) ? 'body' : 'query';
  return { operation: method, path: address.replace(/^\//, ''), ...filled({ [place]: rest as JsonObject }) };
}

export function convertRelic(unit: Unit): Converted {
  const { fields } = unit;
  const face = fields.map('interface');
  const port = fields.changed('port', 'connection');
  const address =
    trimmedText(face.take('base_url')) ?? (port === undefined ? '' : `http://localhost:${String(port)}`);
  const isHttp = /^(https?:|\$\{)/.test(address);
  if (face.value.base_url !== undefined)
    face.note('base_url', isHttp ? 'kept' : 'changed', isHttp ? 'connection' : "the runtime's own store");
  const driver = isHttp ? 'driver http' : 'driver kv';
  face.kept('type', driver);
  fields.changed('mode', driver);
  for (const part of [face, fields])
    part.changed('endpoints', isHttp ? 'in the description, as calls of the driver' : 'operations of kv');
  const services = 'deployment compose_file project_name persistence service_type environment';
  fields.leave(services, 'start the service yourself, with docker compose');
  fields.leave('health_check health_path', '"health" is an operation of every relic');
  fields.left('automation', 'write a trigger of type schedule into the workflow');
  fields.map('import').rest('a relic imports nothing; the file is imported by itself');
  const operations = endpointsOf(unit).map((each) => {
    const call = endpointCall(unit, Object.fromEntries(each.keys.map((key) => [key, `{${key}}`])), each.name);
    return `- ${each.name}: ${JSON.stringify(call)}`;
  });
  if (!isHttp) return { body: { driver: 'kv' } };
  const details = operations.length > 0 ? plainText(`Operations:\n${operations.join('\n')}`) : undefined;
  return { body: { driver: 'http', connection: environmentText(address) }, details };
}

const LIMITS: Readonly<Record<string, string>> = {
  min: 'minimum',
  max: 'maximum',
  min_length: 'minLength',
  max_length: 'maxLength',
  pattern: 'pattern',
};

/** A list of parameters, or a map of them, as a JSON Schema. */
export function schemaOf(parameters: Json | undefined, fields: SourceMap): JsonObject {
  const entries = Array.isArray(parameters)
    ? parameters.map((each) => [String(mapOf(each).name ?? ''), mapOf(each)] as const)
    : Object.entries(mapOf(parameters)).map(([name, each]) => [name, mapOf(each)] as const);
  const properties = entries.map(([name, { name: _, required, type, values, validation, ...others }]) => {
    const schema: Record<string, Json | undefined> = {};
    const named = { enum: 'string', json: 'object' }[String(type)] ?? jsonTypeOf(String(type));
    if (named !== undefined) schema.type = named;
    else if (type !== undefined && type !== 'any')
      fields.note('parameters', 'left', `${name}: it takes any value, because no type is ${String(type)}`);
    if (values !== undefined) schema.enum = values;
    for (const [key, value] of Object.entries(others))
      if (['description', 'default', 'enum', 'items', 'properties'].includes(key)) schema[key] = value;
      else fields.note('parameters', 'left', `${name}: JSON Schema has no "${key}"`);
    for (const [key, value] of Object.entries(mapOf(validation))) {
      const limit = LIMITS[key];
      if (limit === undefined) fields.note('parameters', 'left', `${name}: JSON Schema has no "${key}"`);
      else schema[limit] = value;
    }
    return [name, filled(schema)] as const;
  });
  const required = entries.filter(([, each]) => each.required === true).map(([name]) => name);
  return { type: 'object', ...filled({ required }), properties: Object.fromEntries(properties) };
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
    ...filled({ required: names }),
    properties: Object.fromEntries(cleaned),
  };
}
