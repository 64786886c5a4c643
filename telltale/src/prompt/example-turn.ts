import { isJsonObject, type Json, type JsonObject } from '../kernel/json.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { DescribedTarget } from './described-target.ts';
import { createEscape } from './escape.ts';

const MAX_SAMPLE_DEPTH = 3;
/** A name of a stranger's making is no example. */
const PLAIN_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** A turn as this agent's model may write it, with a target and a field of its own where it has any. */
export function exampleTurn(
  agent: AgentManifest,
  targets: readonly DescribedTarget[],
  sealKey: string | undefined,
): string {
  const key = sealKey === undefined ? '' : ` key="${sealKey}"`;
  const safe = createEscape(sealKey);
  const places = agent.protocol.actions_in;
  const plain = targets.filter(({ name }) => PLAIN_NAME.test(name));
  const target = plain.find(({ kind }) => kind === 'tool') ?? plain[0];
  const acts: string[] = [];
  if (places.length > 0 && target !== undefined) {
    const body = { name: target.name, parameters: sampleParameters(target.parameters) };
    acts.push(
      `<action type="${target.kind}" mode="async" id="first"${key}>${safe(JSON.stringify(body))}</action>`,
    );
  }
  const calls = acts.length > 0;
  const update = places.length > 0 ? sampleUpdate(agent) : undefined;
  if (update !== undefined) acts.push(`<metadata${key}>${JSON.stringify(update)}</metadata>`);
  const within = (place: (typeof places)[number]) => (places.includes(place) ? acts : []);
  const [inThought, outside] = places.includes('outside') ? [[], acts] : [within('thought'), []];
  const inResponse = places.includes('outside') || places.includes('thought') ? [] : within('response');
  return [
    '<thought>',
    calls
      ? 'I need one thing first, and can say so while it is fetched.'
      : 'A short question: I know the answer.',
    ...inThought,
    '</thought>',
    ...outside,
    `<response final="${calls ? 'false' : 'true'}">`,
    calls ? 'Looking into it.' : 'It is the second one.',
    ...inResponse,
    '</response>',
  ].join('\n');
}

/** The smallest parameters that look like what the schema asks for. An illustration: they need not be valid. */
export const sampleParameters = (schema: JsonObject): JsonObject => sample(schema, 0);

function sample(schema: JsonObject, depth: number): JsonObject {
  const { properties, required } = schema;
  if (depth >= MAX_SAMPLE_DEPTH || !isJsonObject(properties)) return {};
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  return Object.fromEntries(
    names.flatMap((name) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      return isJsonObject(property) ? [[name, sampleValue(property, depth)]] : [[name, '…']];
    }),
  );
}

function sampleValue(schema: JsonObject, depth: number): Json {
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0] as Json;
  if (schema.const !== undefined) return schema.const;
  switch (schema.type) {
    case 'number':
    case 'integer':
      return 1;
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'object':
      return sample(schema, depth + 1);
    default:
      return '…';
  }
}

function sampleUpdate(agent: AgentManifest): JsonObject | undefined {
  for (const [name, field] of Object.entries(agent.metadata.fields)) {
    if (field.type === 'enum') return { [name]: field.values.at(-1) ?? null };
    if (field.type === 'boolean') return { [name]: true };
  }
  return undefined;
}
