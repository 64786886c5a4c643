import type { ActionKind } from '../lib/calls.ts';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import type { ActionState } from '../log/action.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { RESPOND, STEP } from '../parser/calls/call-names.ts';
import { RUN_KEY } from '../parser/calls/read-call.ts';
import { blockStyle } from './block-style.ts';
import type { DescribedTarget } from './notation.ts';
import { renderAnswer, renderResults, roomFor } from './render-results.ts';
import { createEscape } from './text.ts';

/** A name of a stranger's making is no example. */
const PLAIN_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const ROOM = 4_000;
const MS = 12;

export interface ExampleOptions {
  /** What the agent can call, the internal actions aside. */
  readonly targets: readonly DescribedTarget[];
  readonly sealKey?: string | undefined;
  /** Whether a run leads the session: then a step ends in place of the work. */
  readonly led?: boolean | undefined;
}

interface ExampleCall {
  readonly target: DescribedTarget;
  readonly id: string;
  readonly input: JsonObject;
  readonly output: Json;
  /** What the model makes of the result. */
  readonly answer: string;
}

/**
 * Two turns of this agent in its own dialect: a call that one of its targets takes, the result as the runtime shows it,
 * and the end. Empty where the agent calls nothing, or nothing that an example could be made of.
 */
export function exampleTurns(agent: AgentManifest, options: ExampleOptions): string {
  const call = exampleCall(options.targets);
  if (call === undefined) return '';
  const style = blockStyle(agent, options.sealKey, undefined);
  const state = endedState(call);
  const results = () => renderResults([call.id], new Map([[call.id, state]]), style).join('\n\n');
  switch (agent.dialect) {
    case 'tags':
      return tagsExample(agent, call, results(), options);
    case 'tools':
      return toolsExample(agent, call, renderAnswer(state, style, roomFor(1, ROOM)), options);
    case 'step':
      return stepExample(agent, call, results(), options);
  }
}

/** A call that is valid for sure: of a tool that only reads where there is one, and that needs nobody's approval. */
function exampleCall(targets: readonly DescribedTarget[]): ExampleCall | undefined {
  const calls = targets.flatMap((target): (ExampleCall & { readonly rank: number })[] => {
    if (!PLAIN_NAME.test(target.name)) return [];
    const input = target.example?.input ?? readingInput(target);
    if (input === undefined) return [];
    const { output = '…', answer = 'It says: …' } = target.example ?? {};
    return [{ target, id: idOf(target, input), input, output, answer, rank: rankOf(target) }];
  });
  return calls.sort((one, other) => other.rank - one.rank)[0];
}

function rankOf({ kind, example, operations, idempotent, needs }: DescribedTarget): number {
  const reads = example !== undefined || operations !== undefined || idempotent === true;
  return (
    (needs === undefined ? 8 : 0) +
    (kind === 'tool' ? 4 : 0) +
    (reads ? 2 : 0) +
    (example === undefined ? 0 : 1)
  );
}

/** The parameters of a target; of one with operations, of the first that changes nothing. */
function readingInput({ operations, parameters }: DescribedTarget): JsonObject | undefined {
  if (operations === undefined) return sampleInput(parameters);
  const all = Object.entries(operations);
  const found = all.find(([, { idempotent }]) => idempotent === true) ?? all[0];
  if (found === undefined) return undefined;
  const [operation, { parameters: properties, required = [] }] = found;
  const input = sampleInput({ properties, required: [...required] });
  return input === undefined ? undefined : { operation, ...input };
}

const idOf = ({ name }: DescribedTarget, { operation }: JsonObject): string =>
  (typeof operation === 'string' ? operation : (name.split(/[^A-Za-z0-9]/)[0] ?? '')).replaceAll(
    /[^A-Za-z0-9_-]/g,
    '',
  ) || 'first';

const endedState = ({ target, id, input, output }: ExampleCall): ActionState => ({
  action: { id, kind: target.kind as ActionKind, mode: 'async', name: target.name, parameters: input },
  turn: 1,
  status: 'completed',
  attempts: 1,
  input,
  output,
  ms: MS,
});

/** At least the 50 characters that a step's notes need. */
const notesOf = ({ target, answer }: ExampleCall): string =>
  `I called ${target.name} and looked at its result. ${answer}`.padEnd(50, '.');

function tagsExample(
  agent: AgentManifest,
  call: ExampleCall,
  results: string,
  { sealKey, led }: ExampleOptions,
): string {
  const { protocol, output } = agent;
  const key = sealKey === undefined ? '' : ` key="${sealKey}"`;
  const safe = createEscape(sealKey);
  const type = call.target.kind === 'tool' ? '' : ` type="${call.target.kind}"`;
  const wraps = isJsonObject(call.input.parameters);
  const body = wraps ? { parameters: call.input } : call.input;
  const acts = [
    `<action${type} name="${call.target.name}" id="${call.id}"${key}>${safe(JSON.stringify(body))}</action>`,
  ];
  const update = sampleUpdate(agent);
  if (update !== undefined) acts.unshift(`<metadata${key}>${JSON.stringify(update)}</metadata>`);
  const ends =
    led === true
      ? within(protocol.actions_in, [
          `<action type="internal" name="complete_step"${key}>${JSON.stringify({ notes: notesOf(call) })}</action>`,
        ])
      : `<response>${output === undefined ? safe(call.answer) : JSON.stringify(sampleInput(output.schema) ?? '…')}</response>`;
  return `Example of a turn:\n\n${within(protocol.actions_in, acts)}\n\nThe next message:\n\n${results}\n\nYour next turn:\n\n${ends}`;
}

function within(places: AgentManifest['protocol']['actions_in'], acts: readonly string[]): string {
  if (places.includes('outside')) return acts.join('\n');
  return places.includes('thought')
    ? ['<thought>', ...acts, '</thought>'].join('\n')
    : ['<response final="false">', ...acts, '</response>'].join('\n');
}

function toolsExample(
  { output }: AgentManifest,
  call: ExampleCall,
  answer: string,
  { led, sealKey }: ExampleOptions,
): string {
  const safe = createEscape(sealKey);
  const native = call.target.native ?? call.target.name;
  const end =
    led === true
      ? `complete_step ${JSON.stringify({ notes: notesOf(call) })}`
      : `${RESPOND} ${JSON.stringify(output === undefined ? { text: call.answer } : { output: sampleInput(output.schema) ?? '…' })}`;
  return `Example: ${native} ${safe(JSON.stringify({ ...call.input, [RUN_KEY]: { id: call.id } }))} returns\n\n${answer}\n\nThen: ${safe(end)}`;
}

function stepExample(
  { output }: AgentManifest,
  call: ExampleCall,
  results: string,
  { led, sealKey }: ExampleOptions,
): string {
  const safe = createEscape(sealKey);
  const name = call.target.native ?? call.target.name;
  const first = {
    thought: 'I look first.',
    tool_calls: [{ name, input: call.input, id: call.id }],
    is_complete: false,
  };
  const last = {
    thought: 'That is all I need.',
    notes: notesOf(call),
    is_complete: true,
    ...(led === true
      ? {}
      : output === undefined
        ? { response: call.answer }
        : { output: sampleInput(output.schema) ?? '…' }),
  };
  return `Example of a call of "${STEP}":\n\n${safe(JSON.stringify(first))}\n\nThe next message:\n\n${results}\n\nYour next call:\n\n${safe(JSON.stringify(last))}`;
}

function sampleUpdate(agent: AgentManifest): JsonObject | undefined {
  for (const [name, field] of Object.entries(agent.metadata.fields)) {
    if (field.type === 'enum') return { [name]: field.values.at(-1) ?? null };
    if (field.type === 'boolean') return { [name]: true };
  }
  return undefined;
}

const MAX_DEPTH = 4;
const MAX_ITEMS = 3;
const MAX_TEXT = 200;
const NOTES: readonly string[] = [
  'title',
  'description',
  'default',
  'examples',
  '$schema',
  '$id',
  '$comment',
  'deprecated',
];
/** What a string could be, by what its name ends with. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/(^|_)(path|file)$/i, 'README.md'],
  [/(^|_)(url|uri)$/i, 'https://example.com'],
];
const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  time: '12:00:00Z',
  email: 'ana@example.com',
  uri: 'https://example.com',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
};

/**
 * The smallest input that a schema allows, with its required parameters alone; undefined where that is not certain. An
 * example with a mistake would teach it.
 */
function sampleInput(schema: JsonObject): JsonObject | undefined {
  const value = sample({ ...schema, type: 'object' }, '', 0);
  return isJsonObject(value) ? value : undefined;
}

function sample(schema: Json | undefined, name: string, depth: number): Json | undefined {
  if (schema === true) return '…';
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return undefined;
  const only = (...keywords: readonly string[]) =>
    Object.keys(schema).every((key) => key === 'type' || keywords.includes(key) || NOTES.includes(key));
  if (schema.const !== undefined)
    return only('const') && schema.type === undefined ? schema.const : undefined;
  if (Array.isArray(schema.enum)) {
    const [first] = schema.enum as readonly Json[];
    return only('enum') && (schema.type === undefined || typeof first === schema.type) ? first : undefined;
  }
  if (Array.isArray(schema.anyOf))
    return only('anyOf') && schema.type === undefined ? sample(schema.anyOf[0], name, depth + 1) : undefined;
  const type = Array.isArray(schema.type)
    ? (schema.type as readonly Json[]).find((each) => each !== 'null')
    : schema.type;
  switch (type) {
    case undefined:
      return only() ? '…' : undefined;
    case 'string':
      return only('minLength', 'maxLength', 'format') ? sampleText(schema, name) : undefined;
    case 'integer':
    case 'number':
      return only('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum')
        ? sampleNumber(schema, type === 'integer')
        : undefined;
    case 'boolean':
      return only() ? true : undefined;
    case 'array': {
      if (!only('items', 'minItems', 'maxItems')) return undefined;
      const count = typeof schema.minItems === 'number' ? schema.minItems : 0;
      if (count === 0) return [];
      const item = sample(schema.items ?? true, name, depth + 1);
      return item === undefined || count > MAX_ITEMS ? undefined : Array.from({ length: count }, () => item);
    }
    case 'object':
      return only('properties', 'required', 'additionalProperties') ? sampleObject(schema, depth) : undefined;
    default:
      return undefined;
  }
}

function sampleObject(
  { properties, required, additionalProperties }: JsonObject,
  depth: number,
): JsonObject | undefined {
  if (
    isJsonObject(additionalProperties) &&
    Array.isArray(required) &&
    required.length > 0 &&
    !isJsonObject(properties)
  )
    return undefined;
  const entries: [string, Json][] = [];
  for (const name of Array.isArray(required) ? (required as readonly Json[]) : []) {
    if (typeof name !== 'string') return undefined;
    const isKnown = isJsonObject(properties) && Object.hasOwn(properties, name);
    if (!isKnown) return undefined;
    const value = sample(properties[name], name, depth + 1);
    if (value === undefined) return undefined;
    entries.push([name, value]);
  }
  return Object.fromEntries(entries);
}

function sampleText({ minLength, maxLength, format }: JsonObject, name: string): string | undefined {
  const least = typeof minLength === 'number' ? minLength : 0;
  const most = typeof maxLength === 'number' ? maxLength : MAX_TEXT;
  if (format !== undefined) {
    const text = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
    return text !== undefined && text.length >= least && text.length <= most ? text : undefined;
  }
  const word = WORDS.find(([pattern]) => pattern.test(name))?.[1] ?? '…';
  const text = word.length > most ? '…' : word;
  if (least > Math.min(most, MAX_TEXT)) return undefined;
  return most === 0 ? '' : text.padEnd(least, '…');
}

function sampleNumber(schema: JsonObject, isWhole: boolean): number | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const fits = (value: number) =>
    (!isWhole || Number.isInteger(value)) &&
    (typeof minimum !== 'number' || value >= minimum) &&
    (typeof maximum !== 'number' || value <= maximum) &&
    (typeof exclusiveMinimum !== 'number' || value > exclusiveMinimum) &&
    (typeof exclusiveMaximum !== 'number' || value < exclusiveMaximum);
  const bounds = [minimum, maximum, exclusiveMinimum, exclusiveMaximum].filter(
    (bound) => typeof bound === 'number',
  );
  return [
    1,
    ...bounds,
    ...bounds.flatMap((bound) => [Math.ceil(bound), Math.floor(bound), bound + 1, bound - 1]),
  ].find(fits);
}
