import type { JsonObject } from '../../kernel/json.ts';
import { given, listOf, literal, mapOf, paragraphs, textOf } from '../values.ts';
import { environmentText } from './convert-tool.ts';
import { type Converted, headOf, type Unit } from './import-cortex.ts';

interface Endpoint {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** Its parameters, those in the path included. */
  readonly keys: readonly string[];
}

function endpointsOf({ value }: Unit): readonly Endpoint[] {
  return listOf(mapOf(value.interface).endpoints ?? value.endpoints).map((each) => {
    const { name, method = 'GET', path = '/', parameters } = mapOf(each);
    const own = Array.isArray(parameters)
      ? parameters.map((one) => String(mapOf(one).name))
      : Object.keys(mapOf(parameters));
    const inPath = [...String(path).matchAll(/\{(\w+)\}/g)].map(([, key = '']) => key);
    return {
      name: String(name),
      method: String(method).toLowerCase(),
      path: String(path),
      keys: [...new Set([...own, ...inPath])],
    };
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
  const found = endpointsOf(relic).find(({ name, keys }) =>
    wanted === undefined
      ? keys.length === names.length && keys.every((key) => names.includes(key))
      : name === wanted,
  );
  if (found === undefined) return undefined;
  const { method, path } = found;
  const filled = path.replace(/\{(\w+)\}/g, (braces, key: string) => String(parameters[key] ?? braces));
  const rest = Object.fromEntries(Object.entries(parameters).filter(([key]) => !path.includes(`{${key}}`)));
  const place = ['post', 'put', 'patch'].includes(method) ? 'body' : 'query';
  return { operation: method, path: filled.replace(/^\//, ''), ...given({ [place]: rest as JsonObject }) };
}

export function convertRelic(unit: Unit): Converted {
  const { fields, name } = unit;
  const { about, version, description } = headOf(fields);
  const face = fields.map('interface');
  const port = fields.changed('port', 'connection');
  const address =
    textOf(face.take('base_url')) ?? (port === undefined ? '' : `http://localhost:${String(port)}`);
  const isHttp = /^(https?:|\$\{)/.test(address);
  if (face.value.base_url !== undefined)
    face.note('base_url', isHttp ? 'kept' : 'changed', isHttp ? 'connection' : "the runtime's own store");
  const driver = isHttp ? 'driver http' : 'driver kv';
  face.kept('type', driver);
  fields.changed('mode', driver);
  for (const part of [face, fields])
    part.changed(
      'endpoints',
      isHttp ? 'in the description; operations are get, post, put, delete' : 'operations of kv',
    );
  face.rest();
  fields.leave(
    'start the service yourself, with docker compose',
    'deployment',
    'compose_file',
    'project_name',
    'persistence',
    'service_type',
    'environment',
  );
  fields.leave('"health" is an operation of every relic', 'health_check', 'health_path');
  fields.left('automation', 'write a trigger of type schedule into the workflow');
  fields.map('import').rest('a relic imports nothing; the file is imported by itself');
  const operations = endpointsOf(unit).map((each) => {
    const call = endpointCall(unit, Object.fromEntries(each.keys.map((key) => [key, `{${key}}`])), each.name);
    return `- ${each.name}: ${JSON.stringify(call)}`;
  });
  const listed =
    isHttp && operations.length > 0 ? literal(`Operations:\n${operations.join('\n')}`) : undefined;
  const manifest = {
    kind: 'Relic',
    name,
    ...given({ version, description: paragraphs(description, listed) }),
    ...(isHttp ? { driver: 'http', connection: environmentText(address) } : { driver: 'kv' }),
  };
  return { manifests: [{ path: unit.out, manifest }], about };
}
