import { parseExpression } from '../../../conditions/cel/parse-expression.ts';
import { parseConditions } from '../../../conditions/maps/parse-conditions.ts';
import { FIELD_NAME, parsePath } from '../../../conditions/path.ts';
import { suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { eventFields } from '../event-fields.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

/** What a trigger on events asks of fields that the event does not have. */
export function checkEventMatch(trigger: DocumentNode): readonly Issue[] {
  const type = trigger.at('type').value === 'event' ? trigger.at('event').text() : undefined;
  const fields = type === undefined ? undefined : eventFields(type);
  if (type === undefined || fields === undefined) return [];
  const unknown = (place: DocumentNode, name: string, at: 'key' | 'value', offset?: number) =>
    errorAt(place, 'unknown_field', `An event of type ${type} has no field "${name}".`, {
      hint: () => suggest(name, fields, 'It has'),
      at,
      offset,
    });
  const inMap = (map: DocumentNode): readonly Issue[] =>
    map.entries().flatMap(([key, entry]) => {
      if (key === 'all' || key === 'any') return entry.items().flatMap(inMap);
      if (key === 'not') return inMap(entry);
      const path = parsePath(key, FIELD_NAME);
      const name = path.ok ? String(path.value[0]) : undefined;
      return name === undefined || fields.includes(name) ? [] : [unknown(entry, name, 'key')];
    });
  const match = trigger.at('match');
  const inMatch = match.value === undefined || !parseConditions(match.value).ok ? [] : inMap(match);
  const test = parseExpression(trigger.at('test').text() ?? '');
  const names = test.ok ? test.value.names : [];
  return [
    ...inMatch,
    ...names.flatMap(({ root, path: [member], offset }) =>
      root !== 'event' || typeof member !== 'string' || fields.includes(member)
        ? []
        : [unknown(trigger.at('test'), member, 'value', offset)],
    ),
  ];
}
