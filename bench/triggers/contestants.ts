import { matches } from '../../telltale/src/expressions/maps/conditions.ts';
import { createTriggerStand, matchTriggers } from '../../telltale/src/triggers/match-triggers.ts';
import { createTriggerIndex } from '../../telltale/src/triggers/trigger-index.ts';
import type { Scenario, Values } from './scenario.ts';

/** Takes one change after another and returns the triggers that each made true (`on_enter`). */
export interface Contestant {
  readonly name: string;
  begin(first: Values): void;
  change(name: string, value: string | number | boolean): readonly number[];
}

export function createOurs({ parsed }: Scenario): Contestant {
  const index = createTriggerIndex(parsed.map((test) => ({ test, fire: 'on_enter' })));
  const stand = createTriggerStand(index);
  const now: Record<string, unknown> = {};
  const before: Record<string, unknown> = {};
  return {
    name: 'telltale',
    begin(first) {
      Object.assign(now, first);
      matchTriggers(stand, { current: now, previous: {}, changed: Object.keys(first) });
      Object.assign(before, first);
    },
    change(name, value) {
      now[name] = value;
      const firings = matchTriggers(stand, { current: now, previous: before, changed: [name] });
      before[name] = value;
      return firings.map(({ trigger }) => trigger);
    },
  };
}

/** Evaluates every condition at every change. */
export function createNaive({ parsed }: Scenario): Contestant {
  const now: Record<string, unknown> = {};
  const before: Record<string, unknown> = {};
  const held = parsed.map(() => false);
  const look = () => {
    const entered: number[] = [];
    for (const [place, condition] of parsed.entries()) {
      const holds = matches(condition, { current: now, previous: before });
      if (holds && !held[place]) entered.push(place);
      held[place] = holds;
    }
    return entered;
  };
  return {
    name: 'naive loop',
    begin(first) {
      Object.assign(now, first);
      look();
      Object.assign(before, first);
    },
    change(name, value) {
      now[name] = value;
      const entered = look();
      before[name] = value;
      return entered;
    },
  };
}
