import { ACTION_MODES } from '../../lib/calls.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { BODY_FIELDS, clip, makeIntent, readEnvelope } from '../envelope/envelope.ts';
import { ID_FORM, type IdBook, isId, takeAutomaticId, takeId } from '../envelope/ids.ts';
import type { ActionIntent, FaultCode, ParserEvent } from '../intents.ts';
import { brokenBehind, LARGE_NUMBER } from '../json/tolerant-json.ts';
import { aboutAction } from '../tags/faults.ts';
import type { CallNames } from './call-names.ts';

/** Where how to run a call stands in its input. */
export const RUN_KEY = '_run';

/** What may be said of how a call is run: what stands in the tag and in the body beside `name` and `parameters`. */
const RUN_FIELDS: readonly string[] = [
  'mode',
  'id',
  ...BODY_FIELDS.filter((field) => field !== 'name' && field !== 'parameters'),
];

/** A call of a target, taken apart. */
export interface CallCall {
  /** The native name. */
  readonly name: string;
  readonly parameters: JsonObject;
  /** `mode`, `id`, `depends_on` and the like. */
  readonly run: JsonObject;
  /** What to call `run` in a message, and where what the target takes belongs. */
  readonly where: string;
  readonly elsewhere: string;
  readonly repaired: boolean;
}

/** Where the actions of a turn get their names and ids. `given` holds each id that was given out in it. */
export interface CallBook {
  readonly names: CallNames;
  ids: IdBook;
  readonly given: string[];
}

/** The event of a call, or the one fault that keeps it from running: the first of `bad_attribute bad_action duplicate_id`. */
export function readCall(call: CallCall, book: CallBook): ActionIntent | CallFault {
  const read = actionOf(call, book);
  const { id } = call.run;
  return read.type === 'fault' && typeof id === 'string' ? aboutAction(id, read) : read;
}

function actionOf(call: CallCall, { names, ids, given }: CallBook): ActionIntent | CallFault {
  const { name, run } = call;
  const { mode, id: asked, ...fields } = run;
  if (isThere(mode) && !ACTION_MODES.includes(mode as never))
    return badRunValue(name, 'mode', mode, ACTION_MODES.join(', '));
  if (isThere(asked) && !(typeof asked === 'string' && isId(asked)))
    return badRunValue(name, 'id', asked, ID_FORM);
  const stray = ['name', 'parameters'].find((key) => Object.hasOwn(fields, key));
  if (stray !== undefined) return badCall(name, strange(stray, call));
  const target = names.meant(name);
  if (!('kind' in target)) return ambiguousCall(name, target);
  const undo = fields.compensate;
  const envelope = readEnvelope(
    {
      ...fields,
      ...(isJsonObject(undo) ? { compensate: undoOf(undo, names) } : {}),
      name: target.name,
      parameters: call.parameters,
    },
    (key) => strange(key, call),
  );
  if (typeof envelope === 'string') return badCall(name, envelope);
  if (isThere(asked) && !takeId(ids, asked as string)) return idTaken(asked as string);
  const id = isThere(asked) ? (asked as string) : takeAutomaticId(ids);
  given.push(id);
  const askedMode = isThere(mode) ? (mode as string) : undefined;
  return makeIntent(target.kind, askedMode, envelope, id, 'outside', call.repaired);
}

/** `null` is absent. */
const isThere = (value: Json | undefined): value is Exclude<Json, null> =>
  value !== undefined && value !== null;

/**
 * What undoes a call names its target as calls do; on the log it has a type where that is no tool, as in a tag. The depth
 * of the input bounds the walk.
 */
function undoOf(undo: JsonObject, names: CallNames): JsonObject {
  const { name, type, compensate } = undo;
  const target = typeof name === 'string' && !isThere(type) ? names.meant(name) : undefined;
  const meant = target !== undefined && 'kind' in target ? target : undefined;
  return {
    ...undo,
    ...(meant === undefined ? {} : { name: meant.name }),
    ...(meant === undefined || meant.kind === 'tool' ? {} : { type: meant.kind }),
    ...(isJsonObject(compensate) ? { compensate: undoOf(compensate, names) } : {}),
  };
}

function strange(key: string, { where, elsewhere }: CallCall): string {
  return `${where} has no field "${clip(key)}". ${suggest(key, RUN_FIELDS, 'Fields')} ${elsewhere}`;
}

export type CallFault = Extract<ParserEvent, { type: 'fault' }>;

// As with tags, each message is read by the model: what was seen, why it does not count, what to do instead.
const fault = (code: FaultCode, message: string): CallFault => ({ type: 'fault', code, message });

/** What most of those inputs lack that cannot be read. */
export const QUOTING = 'double quotes, \\" for a quote and \\n for a line break inside strings';

export const callTruncated = (name: string) =>
  fault(
    'truncated',
    `The turn ended before the call of "${clip(name)}" was complete, so it did not act. Make it again, whole.`,
  );

export const callBadJson = (name: string, input: string) =>
  fault(
    'bad_json',
    `The input of "${clip(name)}" is no JSON object that can be read, so it did not act. Write one object: ${QUOTING}.${brokenBehind(input)}`,
  );

export const callNotFinite = (name: string) =>
  fault(
    'bad_json',
    `The call of "${clip(name)}" did not act: a number in its input is too large to be kept. ${LARGE_NUMBER}`,
  );

export const callTooLarge = (name: string, maxBody: number) =>
  fault(
    'body_too_large',
    `The input of "${clip(name)}" has more than ${maxBody} characters, so it did not act. Send less, or in parts.`,
  );

export const badCall = (name: string, problem: string) =>
  fault('bad_action', `The call of "${clip(name)}" did not run: ${problem}`);

const ambiguousCall = (name: string, natives: readonly string[]) =>
  badCall(
    name,
    `no tool has that name, and several others have it. Call ${natives.map((native) => `"${clip(native)}"`).join(' or ')}.`,
  );

const badRunValue = (name: string, key: string, value: unknown, allowed: string) =>
  fault(
    'bad_attribute',
    `The call of "${clip(name)}" did not run: "${key}" is ${clip(JSON.stringify(value) ?? String(value))}. Allowed: ${allowed}.`,
  );

const idTaken = (id: string) =>
  fault(
    'duplicate_id',
    `The id "${clip(id)}" is taken already, so the call did not run. Choose another, or leave it out.`,
  );

export const badFinalValue = (value: unknown) =>
  fault(
    'bad_attribute',
    `"final" is ${clip(JSON.stringify(value) ?? String(value))}, neither true nor false, and counts as false.`,
  );

export const noText = () =>
  fault(
    'bad_action',
    'The call of "respond" has no "text". Write {"text": "…"}, and "final": false if you go on.',
  );

export const stepTruncated = () =>
  fault(
    'truncated',
    'The turn ended before the call of "step" was complete. What was whole in it counts; "is_complete" does not. Go on with a new step.',
  );

export const stepBadJson = () =>
  fault(
    'bad_json',
    'The input of "step" cannot be read as JSON from some point on. What stood before that counts, the rest does not, nor does "is_complete". Say the rest again in a new step.',
  );

export const stepTooLarge = (maxBody: number) =>
  fault(
    'body_too_large',
    `The input of "step" has more than ${maxBody} characters. What was whole in it before that counts; "is_complete" does not. Go on with a new step.`,
  );

export const onlyStep = (name: string) =>
  fault(
    'bad_action',
    `There is no tool "${clip(name)}" to call by itself. Call "step", and put this into its "tool_calls": {"name": "${clip(name)}", "input": {…}}.`,
  );

export const badStepField = (key: string, problem: string) =>
  fault('bad_action', `"${clip(key)}" of the step did not count: ${problem}`);

export const badStepCall = (problem: string) =>
  fault('bad_action', `In "tool_calls" of the step an item ${problem}`);

export const strangeStepField = (key: string, known: readonly string[]) =>
  fault('bad_action', `A step has no field "${clip(key)}", so it was not read. ${suggest(key, known)}`);

export const notesMissing = () =>
  fault(
    'bad_action',
    '"is_complete" did not count: it needs "notes", which say in a few words what was done and what came of it. Send the step again with both.',
  );

export const callsUnmade = () =>
  fault(
    'bad_action',
    '"is_complete" did not count: a tool call of the same step could not be made. Fix it first.',
  );
