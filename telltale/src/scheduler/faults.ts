import { type PathSegment, quote } from '../expressions/issue.ts';
import type { Lookups, UnknownReference } from '../expressions/references/resolve-references.ts';
import { readPath } from '../expressions/values.ts';
import type { RuntimeError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { type ActionState, type DeclaredAction, hasEnded } from '../log/action.ts';
import { writtenId } from '../log/action-id.ts';
import type { EventBody } from '../log/event.ts';
import type { Deadlock } from './graph.ts';
import { isOwnName } from './names.ts';

/** What the model is told, in its next turn, of something it wrote that cannot work. */
export type FaultsFault = Extract<EventBody, { type: 'fault' }>;

const fault = (code: string, message: string): FaultsFault => ({ type: 'fault', code, message });

/** `loop`: whether it is a `<foreach>`, whose id no model has seen. */
export function deadlocked(of: string, because: Deadlock, loop: boolean): FaultsFault {
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

function loopDeadlocked(why: Deadlock): FaultsFault {
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
): FaultsFault {
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
): FaultsFault {
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

export const loopSkipped = (because: string | undefined): FaultsFault =>
  fault(
    'bad_list',
    because === undefined
      ? 'A <foreach> did not run, and none of its actions did: the turn broke off.'
      : `A <foreach> did not run, and none of its actions did: its list needs "${writtenId(because)}", which did not succeed.`,
  );

export const loopFailed = ({ message, hint }: RuntimeError): FaultsFault =>
  fault('bad_list', `A <foreach> did not run: ${message}${hint === undefined ? '' : ` ${hint}`}`);
