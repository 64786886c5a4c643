import { type PathSegment, quote } from '../expressions/issue.ts';
import type { Lookups, UnknownReference } from '../expressions/references/resolve-references.ts';
import { readPath } from '../expressions/values.ts';
import { type ErrorJson, RuntimeError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { type ActionState, type DeclaredAction, hasEnded, writtenId } from '../log/action.ts';
import type { EventBody } from '../log/event.ts';
import type { Deadlock } from './graph.ts';
import { isOwnName } from './names.ts';

/** What the model is told, in its next turn, of something it wrote that cannot work. */
export type FaultBody = Extract<EventBody, { type: 'fault' }>;

const fault = (code: string, message: string): FaultBody => ({ type: 'fault', code, message });

/** `loop`: whether it is a `<foreach>`, whose id no model has seen. */
export function deadlocked(of: string, because: Deadlock, loop: boolean): FaultBody {
  const id = writtenId(of);
  const why = asWritten(because);
  if (loop) return loopDeadlocked(why);
  switch (why.kind) {
    case 'cycle':
      return fault(
        'deadlock',
        `Action "${id}" was skipped: it waits for itself (${why.path.join(' waits for ')}). Take one of these out of "depends_on" or the parameters.`,
      );
    case 'unseen':
      return fault(
        'deadlock',
        `Action "${id}" was skipped: nothing further is read before it has ended, and it waits for "${why.id}", which has not been declared. Declare "${why.id}" first, or write mode="async" and leave the action out of <parallel>.`,
      );
    case 'turn_end':
      return fault(
        'deadlock',
        why.id === id
          ? `Action "${id}" was skipped: its target starts only when the turn has ended, and the turn waits for it. Write mode="async" and leave it out of <parallel>.`
          : `Action "${id}" was skipped: nothing further is read before it has ended, and it waits for "${why.id}", which starts only when the turn has ended. Write mode="async" and leave it out of <parallel>.`,
      );
  }
}

const asWritten = (why: Deadlock): Deadlock =>
  why.kind === 'cycle' ? { ...why, path: why.path.map(writtenId) } : { ...why, id: writtenId(why.id) };

function loopDeadlocked(why: Deadlock): FaultBody {
  const none = 'A <foreach> was skipped, and none of its actions ran:';
  switch (why.kind) {
    case 'cycle':
      return fault('deadlock', `${none} its list waits for what it makes (${why.path.join(' waits for ')}).`);
    case 'unseen':
      return fault(
        'deadlock',
        `${none} nothing further is read before they have ended, and it waits for "${why.id}", which has not been declared. Declare "${why.id}" first, or leave the <foreach> out of <parallel>.`,
      );
    case 'turn_end':
      return fault(
        'deadlock',
        `${none} nothing further is read before they have ended, and its list waits for "${why.id}", which starts only when the turn has ended. Leave the <foreach> out of <parallel>.`,
      );
  }
}

/** Names listed in one fault. */
const MAX_LISTED = 10;
const MAX_KEY_SHOWN = 40;

/** `lookups` distinguish a name that nothing has from a part that the value of the name does not have. */
export function unknownVariables(
  action: DeclaredAction,
  unknown: readonly UnknownReference[],
  { whole }: Lookups,
): FaultBody {
  const nameless = new Set<string>();
  const itself = new Set<string>();
  const partless = new Set<string>();
  for (const { source, name, path } of unknown) {
    const value = whole(name);
    if (value !== undefined) partless.add(`${source} (${lastPart(`$${name}`, value, path)})`);
    else if (isOwnName(action, name)) itself.add(source);
    else nameless.add(source);
  }
  const why = [
    ...(nameless.size === 0 ? [] : [`${listed(nameless)} as written: ${NO_SUCH_NAME}`]),
    ...(itself.size === 0 ? [] : [`${listed(itself)} as written: ${ITSELF}`]),
    ...(partless.size === 0 ? [] : [`${listed(partless)} as written: there is no such part in the value.`]),
  ];
  return fault(
    'unknown_variable',
    `Action "${writtenId(action.id)}" ran with ${why.join(' And with ')} If you meant text, give the action "literal": true.`,
  );
}

const NO_SUCH_NAME =
  'no output_key, action, feed, variable, metadata field or target called once has that name.';
const ITSELF = 'that is the name of the action itself, and nothing had the name before it.';

function listed(all: ReadonlySet<string>): string {
  const more = all.size > MAX_LISTED ? ` and ${all.size - MAX_LISTED} more` : '';
  return `${[...all].slice(0, MAX_LISTED).join(', ')}${more}`;
}

/** How far the path leads, and what is there instead: `$page.links has self, next`. */
export function lastPart(name: string, value: Json, [step, ...rest]: readonly PathSegment[]): string {
  const part = step === undefined ? undefined : (readPath(value, [step]) as Json | undefined);
  if (step === undefined || part === undefined) return `${name} ${shapeOf(value)}`;
  return lastPart(typeof step === 'number' ? `${name}[${step}]` : `${name}.${step}`, part, rest);
}

function shapeOf(value: Json): string {
  if (typeof value === 'string') return 'is a text';
  if (typeof value !== 'object' || value === null) return `is ${value}`;
  if (Array.isArray(value)) return `is a list of ${value.length}`;
  const keys = Object.keys(value).map((key) => key.slice(0, MAX_KEY_SHOWN));
  return keys.length === 0 ? 'is empty' : `has ${listed(new Set(keys))}`;
}

/** `by`: what was asked for under the id; `holder` has it already, and is an action unless it stands for several. */
export function duplicateId(
  id: string,
  by: string,
  holder: ActionState | undefined,
  turn: number,
): FaultBody {
  const who =
    holder === undefined ? 'a <parallel> or <foreach>' : `the action of ${quote(holder.action.name)}`;
  const since = `${who} of turn ${turn}`;
  const ended = holder !== undefined && hasEnded(holder.status);
  const what = ended
    ? `has run already: ${outcomeOf(holder)}. Nothing is done twice. Use that result`
    : 'has not ended: its result will come. Wait for it';
  return fault(
    'duplicate_id',
    `The id ${quote(id)} is taken, so ${by} did not run under it: ${since} has it, and ${what}, or write another id if you mean something else.`,
  );
}

const MAX_OUTCOME = 300;

function outcomeOf({ status, output, error }: ActionState): string {
  if (status === 'completed') return `completed, with the result ${clipped(output ?? null)}`;
  return error === undefined ? status : `${status}, ${clipped(`${error.code}: ${error.message}`)}`;
}

function clipped(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_OUTCOME ? `${text.slice(0, MAX_OUTCOME)}…` : text;
}

export const loopSkipped = (because: string | undefined): FaultBody =>
  fault(
    'bad_list',
    because === undefined
      ? 'A <foreach> did not run, and none of its actions did: the turn broke off.'
      : `A <foreach> did not run, and none of its actions did: its list needs "${writtenId(because)}", which did not succeed.`,
  );

export const loopFailed = ({ message, hint }: RuntimeError): FaultBody =>
  fault('bad_list', `A <foreach> did not run: ${message}${hint === undefined ? '' : ` ${hint}`}`);

export const timedOut = (action: DeclaredAction, timeoutMs: number) =>
  new RuntimeError(
    'timeout',
    `Action "${action.id}" (${action.name}) took longer than ${timeoutMs / 1000} s.`,
    {
      hint: 'Give it more time with "timeout" (seconds), or ask for less at once.',
      retryable: true,
    },
  );

export const cancelled = (reason: string) => new RuntimeError('cancelled', reason);

export const badParameters = (message: string, hint: string | undefined) =>
  new RuntimeError('bad_parameters', message, { hint });

/** `broken`: whether the turn broke off, in which what has the name might have been declared. */
export const listUnknown = (source: string, broken: boolean) =>
  new RuntimeError('bad_list', `in=${quote(source)} names nothing${broken ? BROKE_OFF : ''}.`, {
    hint: 'Name an action, an output_key, a variable or a metadata field that holds a list: in="$items".',
  });

/** `instead`: how far its path leads, and what is there. */
export const partUnknown = (source: string, instead: string) =>
  new RuntimeError('bad_list', `in=${quote(source)} names nothing: ${instead}.`, {
    hint: 'Name the value that is a list, or the list in it: in="$result.items".',
  });

const BROKE_OFF = ', as far as the turn went before it broke off';

export const noList = (source: string, found: string) =>
  new RuntimeError('bad_list', `in=${quote(source)} is ${found}, not a list.`, {
    hint: 'Name a value that is a list, or the list in it: in="$result.items". Or write it as JSON: in=\'["a", "b"]\'.',
  });

export const listTooLong = (source: string, made: number, limit: number) =>
  new RuntimeError('bad_list', `in=${quote(source)} would make ${made} actions; ${limit} are allowed.`, {
    hint: 'Loop over a part of the list, or give the whole list to one action.',
  });

export const notInHistory = (id: string) =>
  new RuntimeError('rollback_unknown', `There is no action "${id}" to roll back to.`, {
    hint: 'Name an action of this session by its id, or leave "to" out to undo all.',
  });

/** An error as it was before it was written to the log. */
export const revived = ({ code, message, hint, retryable }: ErrorJson) =>
  new RuntimeError(code, message, { hint, retryable });
