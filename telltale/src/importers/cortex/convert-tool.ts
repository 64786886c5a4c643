import type { Json, JsonObject } from '../../kernel/json.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { SourceFields } from '../report.ts';
import { aboutOf, type Converted, type Cortex, commonOf, type Unit } from './import-cortex.ts';
import {
  cleanSchema,
  environmentText,
  listOf,
  literal,
  mapOf,
  mapTexts,
  PARAMETER_KEYS,
  paragraphs,
  schemaOf,
  setIf,
  textOf,
} from './texts.ts';

interface Builtin {
  readonly tool: string;
  /** Parameters of a call, as the tool here takes them. */
  readonly call: (given: JsonObject) => JsonObject;
}

const filesystem = (operation: string, names: Readonly<Record<string, string>>): Builtin => ({
  tool: 'filesystem',
  call: (given) => ({ operation, ...renamed(given, names) }),
});

const renamed = (given: JsonObject, names: Readonly<Record<string, string>>): JsonObject =>
  Object.fromEntries(
    Object.entries(given).flatMap(([key, value]) =>
      names[key] === undefined ? [] : [[names[key], value as Json] as const],
    ),
  );

/** Tools that are compiled into Cortex, and what takes their place. */
export const BUILTIN_TOOLS: Readonly<Record<string, Builtin>> = {
  list: filesystem('list', { path: 'path' }),
  tree: filesystem('tree', { path: 'path', max_depth: 'depth', depth: 'depth' }),
  grep: filesystem('grep', {
    pattern: 'pattern',
    path: 'path',
    glob: 'glob',
    ignore_case: 'ignore_case',
    max_results: 'limit',
  }),
  fs_read: filesystem('read', { path: 'path', start_line: 'offset', offset: 'offset', limit: 'limit' }),
  fs_write: filesystem('write', { path: 'path', content: 'content' }),
  exec: {
    tool: 'shell',
    call: (given) => ({
      ...renamed(given, {
        input: 'command',
        cmd: 'command',
        command: 'command',
        cwd: 'cwd',
        stdin: 'stdin',
        timeout: 'timeout',
      }),
      ...(Array.isArray(given.argv)
        ? { command: given.argv.map((word) => `'${String(word).replaceAll("'", `'\\''`)}'`).join(' ') }
        : {}),
    }),
  },
  web_fetch: {
    tool: 'http_fetch',
    call: (given) =>
      renamed(given, { url: 'url', method: 'method', headers: 'headers', body: 'body', timeout: 'timeout' }),
  },
};

const INTERPRETERS: Readonly<Record<string, readonly string[]>> = {
  python3: ['python3'],
  python: ['python3'],
  bash: ['bash'],
  shell: ['bash'],
  sh: ['sh'],
  node: ['node'],
  nodejs: ['node'],
  process: [],
  binary: [],
  native: [],
  cpp: [],
  c: [],
};

export function convertTool(unit: Unit, context: Cortex): Converted {
  const { fields, name } = unit;
  const about = aboutOf(fields);
  const common = commonOf(fields);
  const returns = textOf(fields.changed('returns', 'part of the description'));
  const list = fields.take('parameters');
  if (list !== undefined) {
    fields.note('parameters', 'kept', 'a JSON Schema');
    for (const each of listOf(list))
      for (const key of Object.keys(mapOf(each)))
        if (!PARAMETER_KEYS.has(key)) fields.note(`parameters.${key}`, 'left', 'JSON Schema has no such key');
  }
  const schema = fields.kept('input_schema', 'parameters');
  const parameters = schema === undefined ? schemaOf(list) : cleanSchema(schema);
  examples(fields, about);
  return {
    manifests: [
      {
        path: unit.out,
        manifest: {
          kind: 'Tool',
          name,
          ...common,
          ...setIf(
            'description',
            paragraphs(
              textOf(common.description as Json),
              returns === undefined ? undefined : literal(`Returns: ${returns}`),
            ),
          ),
          parameters,
          ...implementationOf(unit, context, schema === undefined),
        },
      },
    ],
    about,
  };
}

/** A feed of its own is a program without parameters: a tool that agents show as a feed. */
export function convertFeed(unit: Unit, context: Cortex): Converted {
  const { fields, name } = unit;
  const about = aboutOf(fields);
  const common = commonOf(fields);
  fields.note('kind', 'changed', 'a tool; agents that import it have a context feed that calls it');
  for (const key of ['interval_secs', 'refresh_seconds'])
    fields.changed(key, 'interval of the feed in the agents that import it');
  fields.left('allow_empty', 'an empty value is shown as it is');
  examples(fields, about);
  return {
    manifests: [
      {
        path: unit.out,
        manifest: {
          kind: 'Tool',
          name,
          ...common,
          parameters: { type: 'object', properties: {} },
          ...implementationOf(unit, context, true),
          idempotent: true,
        },
      },
    ],
    about,
  };
}

/** How often a feed of its own is loaded, in seconds. */
export function intervalOf({ value }: Unit): number | undefined {
  const seconds = Number(value.interval_secs ?? value.refresh_seconds);
  return seconds > 0 ? seconds : undefined;
}

function examples(fields: SourceFields, about: readonly string[]): void {
  const given = fields.changed('examples', 'comments at the head of the file');
  for (const each of listOf(given)) (about as string[]).push(`Example: ${JSON.stringify(each)}`);
}

function implementationOf(unit: Unit, context: Cortex, wantsArgument: boolean): JsonObject {
  const { fields } = unit;
  const nested = fields.map('implementation');
  const own = nested ?? fields;
  const type = nested?.kept('type', 'a command');
  if (type !== undefined && type !== 'script' && type !== 'process' && type !== 'binary')
    nested?.note('type', 'changed', `${String(type)}: a command`);
  const runtime = textOf(own.take('runtime')) ?? 'process';
  const interpreter = INTERPRETERS[runtime] ?? [runtime];
  own.note('runtime', 'kept', interpreter.length === 0 ? 'a program of its own' : interpreter.join(' '));
  const entrypoint =
    textOf(own.kept('entrypoint', 'the command; CORTEX_ROOT is the folder of the sources')) ?? '';
  own.note(
    'entrypoint',
    'changed',
    wantsArgument
      ? 'gets its parameters as JSON: the first argument, and standard input'
      : 'gets its parameters as JSON on standard input, and in no file',
  );
  const build = own.map('build') ?? fields.map('build');
  build?.rest('nothing is built here: build it by hand before the first call');
  const resources = own.map('resources');
  const timeout = Number(
    resources?.take('timeout') ??
      own.take('timeout') ??
      fields.take('timeout') ??
      fields.take('timeout_secs'),
  );
  const timed = timeout > 0 ? { timeout } : {};
  if (resources?.value.timeout !== undefined) resources.note('timeout', 'kept', 'timeout');
  for (const key of ['timeout', 'timeout_secs'])
    for (const each of nested === undefined ? [fields] : [nested, fields])
      if (each.value[key] !== undefined) each.note(key, 'kept', 'timeout');
  resources?.rest('limits of commands stand in the agent: permissions.limits');
  own.map('health_check')?.rest('nothing is checked before a call');
  own.left('input_type', 'parameters are JSON');
  nested?.rest();
  if (fields.value.on_error !== undefined)
    fields.left('on_error', 'whoever calls the tool says what a failure means');
  const env = variablesOf(fields);
  const output = fields.changed('output_schema', 'the result has to be JSON; its fields are not checked');
  const printsJson = output !== undefined || /json|object/i.test(String(unit.value.returns ?? ''));
  const path = context.sourcePath(unit, entrypoint);
  return {
    implementation: {
      command: [...interpreter, path, ...(wantsArgument ? ['{*}'] : [])],
      ...(env === undefined ? {} : { env }),
      stdin: '{*}',
    },
    ...timed,
    ...(printsJson ? { output: { schema: {} } } : {}),
  };
}

/** `environment: { variables: … }`, or the variables themselves. */
export function variablesOf(fields: SourceFields): JsonObject | undefined {
  const given = fields.kept('environment', 'environment variables');
  if (given === undefined) return undefined;
  const variables = mapOf(mapOf(given).variables ?? given);
  return Object.fromEntries(
    Object.entries(variables).map(([key, value]) => [key, environmentText(String(value))]),
  );
}

interface Endpoint {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly keys: readonly string[];
}

/** The REST endpoints of a relic. */
export function endpointsOf({ value }: Unit): readonly Endpoint[] {
  const list = mapOf(value.interface as Json).endpoints ?? value.endpoints;
  return listOf(list as Json).map((each) => {
    const { name, method, path, parameters } = mapOf(each);
    const given = Array.isArray(parameters)
      ? listOf(parameters).map((one) => String(mapOf(one).name))
      : Object.keys(mapOf(parameters as Json));
    const inPath = [...String(path).matchAll(/\{(\w+)\}/g)].map(([, key = '']) => key);
    return {
      name: String(name),
      method: String(method ?? 'GET').toLowerCase(),
      path: String(path ?? '/'),
      keys: [...new Set([...given, ...inPath])],
    };
  });
}

/** The call of an endpoint as an operation of the http relic: what is in the path stands there, the rest is body or query. */
export function endpointCall(relic: Unit, given: JsonObject, action?: string): JsonObject | undefined {
  const { operation, endpoint, action: verb, ...parameters } = given;
  const wanted = action ?? operation ?? endpoint ?? verb;
  const endpoints = endpointsOf(relic);
  const isUsed = (key: string) => parameters[key] !== undefined;
  const found =
    wanted === undefined
      ? endpoints.find(({ keys }) => keys.length === Object.keys(parameters).length && keys.every(isUsed))
      : endpoints.find(({ name }) => name === wanted);
  if (found === undefined) return undefined;
  const path = found.path.replace(/\{(\w+)\}/g, (braces, key: string) =>
    isUsed(key) ? String(parameters[key]) : braces,
  );
  const rest = Object.fromEntries(
    Object.entries(parameters).filter(([key]) => !found.path.includes(`{${key}}`)),
  );
  const isBody = found.method === 'post' || found.method === 'put' || found.method === 'patch';
  return {
    operation: found.method,
    path: path.replace(/^\//, ''),
    ...(Object.keys(rest).length === 0 ? {} : { [isBody ? 'body' : 'query']: rest }),
  };
}

export function convertRelic(unit: Unit): Converted {
  const { fields, name } = unit;
  const about = aboutOf(fields);
  const common = commonOf(fields);
  const face = fields.map('interface');
  const base = textOf(face?.take('base_url'));
  const port = fields.take('port');
  const address = base ?? (port === undefined ? undefined : `http://localhost:${String(port)}`);
  const isHttp = address !== undefined && /^(https?:|\$\{)/.test(address);
  face?.kept('type', isHttp ? 'driver http' : 'driver kv');
  if (base !== undefined)
    face?.note(
      'base_url',
      isHttp ? 'kept' : 'changed',
      isHttp ? 'connection' : "kept in the runtime's own store",
    );
  if (port !== undefined) fields.note('port', 'changed', 'connection');
  const endpoints = endpointsOf(unit);
  const how = isHttp
    ? 'operations in the description; the driver has get, post, put, delete'
    : 'kv has get, set, delete, keys';
  face?.changed('endpoints', how);
  fields.changed('endpoints', how);
  face?.rest();
  for (const key of ['deployment', 'compose_file', 'project_name', 'persistence', 'service_type'])
    fields.left(key, 'Telltale starts no services: start it with docker compose');
  for (const key of ['health_check', 'health_path'])
    fields.left(key, '"health" is an operation of every relic');
  const mode = fields.take('mode');
  if (mode !== undefined) fields.note('mode', 'changed', isHttp ? 'driver http' : 'driver kv');
  fields.left('environment', 'variables of the service: set them where it is started');
  fields.left('automation', 'write a trigger of type schedule into the workflow');
  const imports = fields.map('import');
  imports?.rest('a relic imports nothing; the file is imported by itself');
  const operations = endpoints.map((each) => {
    const call = endpointCall(unit, Object.fromEntries(each.keys.map((key) => [key, `{${key}}`])), each.name);
    return `- ${each.name}: ${JSON.stringify(call)}`;
  });
  const described =
    isHttp && operations.length > 0 ? literal(`Operations:\n${operations.join('\n')}`) : undefined;
  return {
    manifests: [
      {
        path: unit.out,
        manifest: {
          kind: 'Relic',
          name,
          ...common,
          ...setIf('description', paragraphs(textOf(common.description as Json), described)),
          ...(isHttp ? { driver: 'http', connection: environmentText(address) } : { driver: 'kv' }),
        },
      },
    ],
    about,
  };
}

/** Parameters of a step or feed, with each text changed. */
export const parametersOf = (given: Json | undefined, change: (text: string) => Json): JsonObject =>
  isMap(given) ? (mapTexts(given as JsonObject, change) as JsonObject) : {};
