import { fieldsOf, matches } from '../../src/expressions/maps/conditions.ts';
import { deepEqual, readPath } from '../../src/expressions/values.ts';
import type { Firing, StateTrigger } from '../../src/triggers/state-trigger.ts';

export type Values = Readonly<Record<string, unknown>>;

/** The rules as they are written, over all triggers at each update: what the index is measured by. */
export function naiveFirings(
  triggers: readonly StateTrigger[],
  defaults: Values,
  history: readonly Values[],
): readonly (readonly Firing[])[] {
  const holds = ({ test }: StateTrigger, current: Values, previous: Values) =>
    test.kind === 'opaque'
      ? test.holds({ current, previous, changed: [] })
      : matches(test, { current, previous });
  const namesChange = ({ test }: StateTrigger, current: Values, previous: Values) => {
    const paths =
      test.kind !== 'opaque'
        ? fieldsOf(test).map(({ path }) => path)
        : (test.fields === 'all'
            ? [...new Set([...Object.keys(current), ...Object.keys(previous)])]
            : test.fields
          ).map((name) => [name]);
    return paths.some((path) => !deepEqual(readPath(current, path), readPath(previous, path)));
  };
  return history.map((current, step) => {
    const previous = step === 0 ? defaults : (history[step - 1] as Values);
    return triggers.flatMap((trigger, place): readonly Firing[] => {
      // A change is over behind its update; and before the first update nothing holds.
      const was = step > 0 && holds(trigger, previous, previous);
      const is = holds(trigger, current, previous);
      const { fire } = trigger;
      if (is && !was) return fire === 'on_exit' ? [] : [{ trigger: place, as: 'enter' }];
      if (was && !is)
        return fire === 'on_exit' || trigger.watchesExit === true ? [{ trigger: place, as: 'exit' }] : [];
      if (!is) return [];
      const stays = fire === 'on_update' || (fire === 'on_change' && namesChange(trigger, current, previous));
      return stays ? [{ trigger: place, as: 'stay' }] : [];
    });
  });
}
