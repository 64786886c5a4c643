import { isDeepStrictEqual } from 'node:util';
import { resolveReferences } from '../../expressions/references/resolve-references.ts';
import { FRAME_MARK, type InvokeRecord } from '../../lib/calls.ts';
import type { ErrorJson } from '../../lib/errors.ts';
import { identityText } from '../../lib/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { DeclaredAction } from '../../log/action.ts';
import type { CopiedType, EventOf, HookRecord, ObservedEvent, SessionEvent } from '../../log/event.ts';
import { speakerOf } from '../../log/fold-handoffs.ts';
import { TURN_CUT_SHORT } from '../../log/fold-turns.ts';
import { faultForPeople, REMINDED, stuckForPeople, turnFailureForPeople } from '../../log/for-people.ts';
import { printable } from '../../manifest/diagnostic.ts';
import { isGenesis } from '../../tools/artifacts/artifacts.ts';
import { costText, countText, spanText, timeText, tokensText } from './figures.ts';
import { spelledOutLine as asked, harmlessLine as safe } from './harmless.ts';
import { brief, briefFields, clip } from './text-width.ts';

type CopiedEvent = EventOf<`child.${CopiedType}`>;

/** The name of an action by its id, if known: `read_file`. */
export type NameOf = (id: string) => string | undefined;

/** The content of an event, without its type, on one line of at most `columns`. It contains no control sequences. */
export function describeEvent(
  event: ObservedEvent,
  columns: number,
  nameOf: NameOf = () => undefined,
): string {
  const room = Math.max(1, columns);
  return clip(printable(contentOf(event, room, actionNames(nameOf))).trim(), room);
}

/** The same for a log: what was written for the model is marked as such. */
export function describeLogged(event: ObservedEvent, columns: number, nameOf: NameOf): string {
  const room = Math.max(1, columns);
  const told = textForModel(event, room);
  return told === undefined ? describeEvent(event, columns, nameOf) : clip(printable(told).trim(), room);
}

/** Undefined if an event is not a message for the model. */
function textForModel(event: ObservedEvent, room: number): string | undefined {
  switch (event.type) {
    case 'fault':
      return `${safe(event.code)}, the model is told: ${safe(event.message)}`;
    case 'message.received':
      return event.from === 'runtime' ? `the model is told: ${brief(event.text, room)}` : undefined;
    case 'task.answered':
      return event.by === 'runtime' && event.text !== undefined
        ? `the model is told: ${brief(event.text, room)}`
        : undefined;
    default:
      return undefined;
  }
}

function contentOf(event: ObservedEvent, room: number, called: (id: string) => string): string {
  switch (event.type) {
    case 'session.started':
      return `${safe(event.agent)} with ${safe(event.model)}${origin(event)}: ${brief(event.input, room)}`;
    case 'session.completed':
      return brief(event.result, room);
    case 'session.failed':
    case 'session.stalled':
      return errorText(event.error);
    case 'session.cancelled':
      return `by ${who(event.by)}: ${safe(event.reason)}`;
    case 'session.resumed':
      return `by ${who(event.by)}${filesText(event.changed_files)}`;
    case 'session.waiting':
      return `for ${safe(event.for)}`;
    case 'turn.started':
      return `turn ${event.turn}, a prompt of ${countText(event.prompt.tokens, 'token')}${event.model === undefined ? '' : ` for ${safe(event.model)}`}`;
    case 'turn.completed':
      return turnEnd(event);
    case 'turn.failed': {
      const text = safe(turnFailureForPeople(event.error));
      if (event.error.code === TURN_CUT_SHORT) return text;
      if (event.retry_in === undefined) return text;
      const next = event.retry_in === 0 ? 'at once' : `in ${spanText(event.retry_in)}`;
      const asked = event.fallback === undefined ? '' : ` with ${safe(event.fallback)}`;
      return `${text.replace(/\.$/, '')}; next try ${next}${asked}`;
    }
    case 'model.output':
      // This mark begins and ends a native call. On a terminal it would be unprintable.
      return brief(event.text.replaceAll(FRAME_MARK, '␞'), room);
    case 'thought':
    case 'text':
    case 'thought.delta':
    case 'response.delta':
      return brief(event.text, room);
    case 'response':
      return `${event.final ? '' : '(not final) '}${brief(event.text, room)}`;
    case 'message.received':
      if (event.from === 'runtime') return REMINDED;
      return `from ${event.from}: ${brief(event.text, room)}`;
    case 'audit':
      return `${who(event.who)}: ${safe(event.what)}`;
    case 'review.requested':
      return `${safe(event.review)}: ${called(event.action)}, ${asked(event.target)} asks: ${brief(asked(event.what), room)}`;
    case 'review.resolved':
      return `${safe(event.review)} ${event.answer}${event.always === true ? ' for this session' : ''} by ${who(event.by)}${event.note === undefined ? '' : `: ${brief(event.note, room)}`}`;
    case 'review.voided':
      return `${safe(event.review)} is no longer valid: ${brief(event.changed.join('; '), room)}`;
    case 'action.declared':
      return declared(event, room);
    case 'action.started':
      return `${called(event.id)}${event.attempt > 1 ? `, try ${event.attempt}` : ''} ${briefFields(event.input, room)}`;
    case 'action.completed':
      return `${called(event.id)} in ${spanText(event.ms)}: ${brief(event.output, room)}`;
    case 'action.failed':
      return `${called(event.id)} after ${spanText(event.ms)}${event.attempts > 1 ? ` and ${event.attempts} tries` : ''}: ${errorText(event.error)}${isForModel(event.error) ? '' : remedy(event.error)}`;
    case 'action.skipped':
      return `${called(event.id)}: ${safe(event.reason)}${event.because === undefined ? '' : ` (${safe(event.because)})`}`;
    case 'action.retrying':
      return `${called(event.id)}, try ${event.attempt} in ${spanText(event.delay_ms)}: ${errorText(event.error)}`;
    case 'action.cancelled':
      return `${called(event.id)}: ${safe(event.reason)}`;
    case 'action.interrupted':
      return `${called(event.id)} in try ${event.attempt}`;
    case 'action.compensated':
      return `${called(event.id)} by ${who(event.by)}`;
    case 'action.progress':
      return `${called(event.id)}: ${brief(event.data, room)}`;
    case 'metadata.changed':
      return changesText(event, room);
    case 'metadata.rejected':
      return event.errors.map(({ field, message }) => `${safe(field)}: ${safe(message)}`).join('; ');
    case 'variable.changed':
      return `$${safe(event.name)} ${brief(event.from, room)} → ${brief(event.to, room)} (${event.class}, by ${who(event.by)})`;
    case 'fault':
      return safe(faultForPeople(event));
    case 'if.decided':
      return event.problem === undefined
        ? `${safe(event.test)} is ${event.held}`
        : `${safe(event.test)} could not be decided: ${safe(event.problem)}`;
    case 'budget.charged':
      return `${event.amount} for the ${safe(event.what)}, ${event.balance} left`;
    case 'prompt.compacted':
      return `turns up to ${event.through}: ${brief(event.summary, room)}`;
    case 'timer.set':
      return `${safe(event.id)}, due ${timeText(event.due)}`;
    case 'timer.fired':
      return safe(event.id);
    case 'trigger.fired':
      return `${safe(event.trigger)} starts ${safe(event.run)}: ${seenText(event, room)}`;
    case 'trigger.suppressed':
      return `${safe(event.trigger)}: ${safe(event.message)}`;
    case 'workflow.completed':
      return `${safe(event.workflow)} (${safe(event.run)}): ${brief(event.output, room)}`;
    case 'workflow.failed':
      return `${safe(event.workflow)} (${safe(event.run)}): ${errorText(event.error)}`;
    case 'workflow.cancelled':
      return `${safe(event.workflow)} (${safe(event.run)}): ${safe(event.reason)}`;
    case 'workflow.asked':
      return `${safe(event.workflow)} (${safe(event.run)}) asks: ${event.what}`;
    case 'invoke':
      return invokeText(event, room);
    case 'hook.ran':
      return hookText(event);
    case 'artifact.written':
      return `${safe(event.artifact)} version ${event.version}${event.restores === undefined ? '' : `, a copy of version ${event.restores}`}, by ${who(event.by)}`;
    case 'task.given':
      return `${stepOf(event.task)}: ${brief(event.prompt, room)}`;
    case 'task.claimed':
      return `${called(event.action)} says: ${brief(event.notes, room)}`;
    case 'task.stuck':
      return `${event.nth === undefined ? '' : 'still, '}${brief(stuckForPeople(event.why), room)}`;
    case 'task.turn':
      return 'the turn is judged';
    case 'task.answered':
      if (event.by === 'runtime' && event.text !== undefined) return 'the step is not completed yet';
      return `by ${who(event.by)}${event.text === undefined ? ': go on' : `: ${brief(event.text, room)}`}`;
    case 'task.over':
      return stepOf(event.task);
    case 'feed.added':
    case 'feed.removed':
      return `${safe(event.id)} by ${who(event.by)}`;
    case 'feed.updated':
      return `${safe(event.id)}, ${countText(event.tokens, 'token')}${event.cached === true ? ', cached' : ''}: ${brief(event.value, room)}`;
    case 'feed.failed':
      return `${safe(event.id)}: ${errorText(event.error)}`;
    case 'custom':
      return customText(event, room);
    case 'handoff.requested':
      return `to ${safe(event.to)}${event.reason === undefined ? '' : `: ${brief(event.reason, room)}`}`;
    case 'handoff':
      return `${safe(event.from)} → ${safe(event.to)}${event.reason === undefined ? '' : `: ${brief(event.reason, room)}`}`;
    case 'child.usage':
      return `${called(event.action)}: ${usageText(event)}`;
    case 'child.thought':
    case 'child.text':
    case 'child.response':
    case 'child.turn.completed':
    case 'child.turn.failed':
    case 'child.action.completed':
    case 'child.action.failed':
    case 'child.metadata.changed':
    case 'child.variable.changed':
    case 'child.turn.started':
    case 'child.action.declared':
    case 'child.action.started':
    case 'child.action.skipped':
    case 'child.action.cancelled':
    case 'child.action.interrupted':
    case 'child.review.requested':
    case 'child.review.resolved':
    case 'child.review.voided':
    case 'child.session.waiting':
      return `${speakerOf(event.action) ?? called(event.action)}: ${contentOf(ownEvent(event), room, safe)}`;
  }
}

/** The step of a task, whose key is `RUN:ADDRESS#ATTEMPT`. */
const stepOf = (task: string): string => safe(task.slice(task.lastIndexOf(':') + 1).replace(/#\d+$/, ''));

/** `status IDLE → CODING, progress 0 → 3`. */
export const changesText = (
  { changes }: Pick<EventOf<'metadata.changed'>, 'changes'>,
  columns: number,
): string =>
  Object.entries(changes)
    .map(([field, { from, to }]) => `${safe(field)} ${brief(from, columns)} → ${brief(to, columns)}`)
    .join(', ') || 'as before';

/** What fired a trigger: the changed fields, or else their values, and anything the event itself does not say. */
export function seenText({ seen }: Pick<EventOf<'trigger.fired'>, 'seen'>, columns: number): string {
  const { type: _type, trigger: _trigger, workflow: _workflow, as: _as, at: _at, fields, ...rest } = seen;
  const named = Object.entries(isJsonObject(fields) ? fields : {}).map(([field, change]) => {
    const { from = null, to = null } = isJsonObject(change) ? change : {};
    return { field: safe(field), from, to };
  });
  const changed = named.filter(({ from, to }) => !isDeepStrictEqual(from, to));
  const told =
    changed.length > 0
      ? changed.map(({ field, from, to }) => `${field} ${brief(from, columns)} → ${brief(to, columns)}`)
      : named.map(({ field, to }) => `${field} ${brief(to, columns)}`);
  return [...told, briefFields(rest, columns)].filter((part) => part !== '').join(', ');
}

/** The parameters known before the start, with the item of a `<foreach>` in place of `$item`. */
export function knownParameters({ parameters, locals, literal }: DeclaredAction): JsonObject {
  if (locals === undefined || literal === true) return parameters;
  const known = (name: string) => (Object.hasOwn(locals, name) ? locals[name] : undefined);
  const resolved = resolveReferences(parameters, { whole: known, inserted: known });
  return resolved.ok ? (resolved.value.value as JsonObject) : parameters;
}

/** The hint of a step that is not complete is written for the model. */
const isForModel = ({ code }: ErrorJson): boolean => code === 'claim_refused' || code === 'step_undone';

/** What to do. Otherwise the source position, which a tool's own error has in its cause. */
export function remedy({ hint, cause }: ErrorJson): string {
  const said = hint ?? cause?.hint;
  return said === undefined ? '' : ` → ${safe(said)}`;
}

export const errorText = ({ code, message }: ErrorJson): string => `${safe(code)}: ${safe(message)}`;

const actionNames =
  (nameOf: NameOf) =>
  (id: string): string => {
    const name = nameOf(id);
    return safe(name === undefined ? id : `${id} ${name}`);
  };

function declared({ action }: EventOf<'action.declared'>, room: number): string {
  const mode = action.mode === 'async' ? '' : ` ${action.mode}`;
  const kind = action.kind === 'tool' ? '' : `${action.kind} `;
  const after = action.depends_on === undefined ? '' : ` after ${safe(action.depends_on.join(', '))}`;
  return `${safe(action.id)} ${kind}${safe(action.name)}${mode}${after} ${briefFields(knownParameters(action), room)}`;
}

/** `where: artifact.method(args) = result`, and the reason if the fallback was used. */
export function invokeText(record: InvokeRecord, room: number): string {
  // The arguments must not push the result off the line.
  const share = Math.max(1, Math.floor(room / 3));
  const args = clip(record.args.map((arg) => brief(arg, share)).join(', '), share);
  const version = record.version === undefined || isGenesis(record.artifact) ? '' : `@${record.version}`;
  const call = `${safe(record.where)}: ${safe(record.artifact)}${version}.${safe(record.method)}(${args}) = ${brief(record.result, room)}`;
  if (record.fallback === undefined) return record.cached ? `${call} (as before)` : call;
  return `${call} (fallback, ${record.fallback.reason}: ${safe(record.fallback.message)})`;
}

/** `before_action check.sh refused a1: reason`. */
export function hookText({ hook, by, outcome, action, reason, fallback }: HookRecord): string {
  const about = action === undefined ? '' : ` ${safe(action)}`;
  const why = reason === undefined ? '' : `: ${safe(reason)}`;
  return `${hook} ${safe(by)} ${outcome}${about}${why}${fallback === undefined ? '' : ` (fallback: ${safe(fallback)})`}`;
}

/** The event as it is on the sub-agent's own log. */
const ownEvent = ({ type, event, child, ...head }: CopiedEvent): SessionEvent =>
  ({ ...head, ...event, type: type.slice('child.'.length), ...child }) as SessionEvent;

function usageText({ usage, cost_usd = 0, charged }: EventOf<'child.usage'>): string {
  const parts: string[] = [];
  if (usage !== undefined) parts.push(tokensText(usage));
  if (cost_usd > 0) parts.push(costText(cost_usd));
  if (charged !== undefined) parts.push(`${charged} of its budget`);
  return parts.join(', ');
}

function origin({ parent, forked }: EventOf<'session.started'>): string {
  if (forked !== undefined) return `, forked from ${safe(forked.session)} at ${forked.seq}`;
  return parent === undefined ? '' : `, for ${safe(parent.action)} of ${safe(parent.session)}`;
}

function turnEnd({ usage, cost_usd, ms, finish }: EventOf<'turn.completed'>): string {
  const parts = [tokensText(usage), spanText(ms)];
  if (cost_usd > 0) parts.push(costText(cost_usd));
  if (finish !== 'stop')
    parts.push(finish === 'cut' ? 'stopped by the runtime' : 'stopped at its maximum length');
  return parts.join(', ');
}

/** A `notify` step speaks to people, so its text is shown instead of JSON. */
export function customText(
  { name, data }: { readonly name: string; readonly data: Json },
  room: number,
): string {
  if (name !== 'notify' || typeof data !== 'object' || data === null || Array.isArray(data))
    return `${safe(name)} ${brief(data, room)}`;
  const { message, to, ...rest } = data as JsonObject;
  if (typeof message !== 'string') return `${safe(name)} ${brief(data, room)}`;
  const more = Object.keys(rest).length === 0 ? '' : ` ${briefFields(rest, room)}`;
  return `notify${to === undefined ? '' : ` ${brief(to, room)}`}: ${brief(message, room)}${more}`;
}

/** Files that changed since the session or run was last worked on. */
export const filesText = (changed: readonly string[] = []): string =>
  changed.length === 0 ? '' : `; changed since: ${changed.map((file) => safe(file)).join(', ')}`;

const who = (by: string): string => safe(identityText(by));

/** What `--debug` shows in addition. */
export interface Debug {
  /** Each call of an artifact. For a run, also the cost of each decision. */
  readonly invoke?: boolean;
}
