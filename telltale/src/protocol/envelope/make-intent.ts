import type { ActionIntent, Place } from '../intents.ts';
import type { Envelope } from './envelope.ts';

/**
 * An intent begins as a copy of this. As a literal it would be tied to the place that makes it: the engine learns that
 * intents live long, makes them in the old generation from then on, and one that was dropped keeps all it holds until
 * that is collected. 7 % of the time at 4 characters a chunk.
 */
const PLAIN = { type: 'action', id: '', kind: 'tool', mode: 'async', name: undefined, parameters: undefined };

/** The event of an action that has been checked, fields always in the same order. */
export function makeIntent(
  kind: string | undefined,
  mode: string | undefined,
  body: Envelope,
  id: string,
  place: Place,
  repaired: boolean,
): ActionIntent {
  const { name, template, parameters = {} } = body;
  let intent: Record<string, unknown>;
  if (template === undefined) {
    intent = { ...PLAIN };
    intent.id = id;
    if (kind !== undefined) intent.kind = kind;
    if (mode !== undefined) intent.mode = mode;
    intent.name = name;
    intent.parameters = parameters;
  } else {
    intent = { type: 'action', id };
    if (kind !== undefined) intent.kind = kind;
    if (mode !== undefined) intent.mode = mode;
    if (name !== undefined) intent.name = name;
    intent.parameters = parameters;
  }
  if (body.output_key !== undefined) intent.output_key = body.output_key;
  if (body.depends_on !== undefined) intent.depends_on = body.depends_on;
  if (body.timeout !== undefined) intent.timeout = body.timeout;
  if (body.retry !== undefined) intent.retry = body.retry;
  if (body.on_error !== undefined) intent.on_error = body.on_error;
  if (body.if !== undefined) intent.if = body.if;
  if (body.compensate !== undefined) intent.compensate = body.compensate;
  if (template !== undefined) intent.template = template;
  if (body.literal !== undefined) intent.literal = body.literal;
  if (place !== 'outside') intent.in = place;
  if (repaired) intent.repaired = true;
  return intent as unknown as ActionIntent;
}
