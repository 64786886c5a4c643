import { evaluateTest } from '../../conditions/cel/evaluate.ts';
import { matches } from '../../conditions/maps/matches.ts';
import type { SessionEvent } from '../../events/event.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { cutText } from '../../prompt/cut-text.ts';
import { contextOf } from '../../triggers/compile-test.ts';
import type { SessionTrigger } from '../../triggers/compile-triggers.ts';

/** Characters of one field of an event that `${trigger.event.*}` shows; the whole is on the log. */
const MAX_SHOWN = 16_384;

export interface EventValues {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly vars: Readonly<Record<string, unknown>>;
  /** `agent` and `actions`, made where a test names them. */
  readonly context: () => Readonly<Record<string, unknown>>;
}

export type EventMatch =
  | { readonly held: boolean; readonly problem?: undefined }
  | { readonly held: false; readonly problem: string };

/** Whether an event of the right type is one that the trigger asks for; the question to an artifact aside. */
export function matchEvent(
  { event: wanted }: SessionTrigger,
  event: SessionEvent,
  values: EventValues,
): EventMatch {
  if (wanted?.match !== undefined) {
    const fields = { ...event };
    return { held: matches(wanted.match, { current: fields, previous: fields }) };
  }
  if (wanted?.test === undefined) return { held: true };
  const { context, ...mirrors } = values;
  const known = Object.defineProperties({ event, ...mirrors }, lazily(context, ['agent', 'actions']));
  const held = evaluateTest(wanted.test, contextOf(wanted.test, known));
  return held.ok ? { held: held.value } : { held: false, problem: held.error.message };
}

const lazily = (context: () => Readonly<Record<string, unknown>>, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { enumerable: true, get: () => context()[name] }]));

/** What `${trigger.*}` shows of an event. */
export function seenOfEvent({ id, workflow }: SessionTrigger, event: SessionEvent): JsonObject {
  const shown = Object.entries(event).map(([name, value]) => [name, short(value as Json)] as const);
  return { type: 'event', trigger: id, workflow, at: event.at, fields: {}, event: Object.fromEntries(shown) };
}

/** A value that is too long is text from there on: half an object would be another one. */
function short(value: Json): Json {
  const text = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : '';
  if (text.length <= MAX_SHOWN) return value;
  const { head, tail, omitted } = cutText(text, MAX_SHOWN);
  return `${head}\n… ${omitted} characters left out …\n${tail}`;
}
