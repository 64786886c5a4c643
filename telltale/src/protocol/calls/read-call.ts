import { ACTION_MODES } from '../../kernel/action-envelope.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { ID_FORM, isId } from '../envelope/action-id.ts';
import { BODY_FIELDS, clip, readEnvelope } from '../envelope/envelope.ts';
import { type IdBook, takeAutomaticId, takeId } from '../envelope/id-book.ts';
import { makeIntent } from '../envelope/make-intent.ts';
import type { ActionIntent } from '../intents.ts';
import { aboutAction } from '../tags/faults.ts';
import { ambiguousCall, badCall, badRunValue, type Fault, idTaken } from './call-faults.ts';
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
export interface Call {
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
export function readCall(call: Call, book: CallBook): ActionIntent | Fault {
  const read = actionOf(call, book);
  const { id } = call.run;
  return read.type === 'fault' && typeof id === 'string' ? aboutAction(id, read) : read;
}

function actionOf(call: Call, { names, ids, given }: CallBook): ActionIntent | Fault {
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

function strange(key: string, { where, elsewhere }: Call): string {
  return `${where} has no field "${clip(key)}". ${suggest(key, RUN_FIELDS, 'Fields')} ${elsewhere}`;
}
