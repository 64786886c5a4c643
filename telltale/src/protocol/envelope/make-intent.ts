import type { ActionIntent, Place } from '../intents.ts';
import type { Envelope } from './envelope.ts';

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
    intent = { type: 'action', id, kind: kind ?? 'tool', mode: mode ?? 'async', name, parameters };
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
  if (place !== 'outside') intent.in = place;
  if (repaired) intent.repaired = true;
  return intent as unknown as ActionIntent;
}
