import type { Condition } from '../../../conditions/maps/conditions.ts';
import { fieldsOf } from '../../../conditions/maps/fields-of.ts';
import { matches } from '../../../conditions/maps/matches.ts';
import type { EventOf } from '../../../events/event.ts';
import type { Json } from '../../../kernel/json.ts';
import type { GivenTrigger } from '../given-trigger.ts';
import { readConditions } from '../read-conditions.ts';
import type { DerivedTriggerType } from '../trigger-type.ts';

type Given = GivenTrigger<'metadata_match'>;

interface MetadataMatch {
  readonly condition: Condition;
  /** Top-level fields that it names. */
  readonly fields: ReadonlySet<string>;
}

/**
 * Matches when an update that touches one of its fields leaves its conditions true; at the first update of a session all
 * are looked at, since defaults alone set nothing off. What was before that one are the defaults.
 */
export const metadataMatch: DerivedTriggerType<Given, MetadataMatch> = {
  description: 'The metadata matches.',
  parse({ conditions }) {
    const condition = readConditions(conditions);
    return { condition, fields: new Set(fieldsOf(condition).map(({ path }) => String(path[0]))) };
  },
  on: () => ['metadata.changed'],
  matches({ condition, fields }, { event, state }) {
    if (event.type !== 'metadata.changed') return false;
    const isFirst = state.metadataUpdates <= 1;
    if (!isFirst && !Object.keys(event.changes).some((name) => fields.has(name))) return false;
    return matches(condition, { current: state.metadata, previous: before(state.metadata, event) });
  },
};

/** The metadata as it was; on the log a field that is absent is null. */
function before(
  now: Readonly<Record<string, Json>>,
  { changes }: EventOf<'metadata.changed'>,
): Readonly<Record<string, Json>> {
  const fields = new Map(Object.entries(now));
  for (const [name, { from }] of Object.entries(changes))
    if (from === null) fields.delete(name);
    else fields.set(name, from);
  return Object.fromEntries(fields);
}
