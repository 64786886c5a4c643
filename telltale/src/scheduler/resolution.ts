import { readPath } from '../conditions/own-property.ts';
import { readWholeReference } from '../conditions/references/reference.ts';
import type { Json } from '../kernel/json.ts';
import { neverEnded, whyUnavailable } from './failures.ts';
import type { NameSpace } from './names.ts';
import { findReference } from './readings.ts';
import type { Resolution } from './scheduler.ts';

/** What a reference of a response stands for at this moment. */
export function resolution(names: NameSpace, source: string): Resolution {
  const reference = readWholeReference(source);
  const found = reference === undefined ? undefined : findReference(names, reference);
  if (found === undefined) return { state: 'unknown' };
  const { rest, path } = found.reading;
  const { standing } = found;
  switch (standing.state) {
    case 'open':
      return { state: 'pending', id: standing.node.id, rest };
    case 'value':
      return { state: 'value', value: readPath(standing.value, path) as Json, id: standing.id, rest };
    case 'failed': {
      const { id, because } = standing;
      if (standing.error !== undefined) return { state: 'failed', id, error: standing.error, rest };
      const known = names.state.actions.get(id) ?? names.state.actions.get(because);
      const error = known === undefined ? neverEnded(id) : whyUnavailable(known);
      return { state: 'failed', id, error, rest };
    }
  }
}
