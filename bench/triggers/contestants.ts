import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { matches } from '../../telltale/src/expressions/maps/conditions.ts';
import { createTriggerStand, matchTriggers } from '../../telltale/src/triggers/match-triggers.ts';
import { createTriggerIndex } from '../../telltale/src/triggers/trigger-index.ts';
import { PEERS } from '../agents/field.ts';
import type { Scenario, Values, Wanted } from './scenario.ts';

/** Takes changes one after another and tells which triggers each made true, `on_enter`. */
export interface Contestant {
  readonly name: string;
  begin(first: Values): Promise<void> | void;
  change(name: string, value: Values[string]): Promise<readonly number[]> | readonly number[];
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

/** Each condition at each change. */
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

interface RuleEngine {
  run(facts: Values): Promise<readonly number[]>;
}
type OpenEngine = (rules: readonly (readonly object[])[]) => RuleEngine;

/** json-rules-engine tells which rules hold; which of them have begun to is told here. */
export async function createPeer({ conditions }: Scenario): Promise<Contestant> {
  const { openEngine } = (await import(pathToFileURL(join(PEERS, 'json-rules-engine.js')).href)) as {
    openEngine: OpenEngine;
  };
  const engine = openEngine(
    conditions.map((map) => Object.entries(map).map(([fact, wanted]) => ({ fact, ...operatorOf(wanted) }))),
  );
  let values: Values = {};
  let held = new Set<number>();
  const look = async () => {
    const holding = await engine.run(values);
    const entered = holding.filter((place) => !held.has(place)).sort((a, b) => a - b);
    held = new Set(holding);
    return entered;
  };
  return {
    name: 'json-rules-engine 7',
    async begin(first) {
      values = first;
      await look();
    },
    change(name, value) {
      values = { ...values, [name]: value };
      return look();
    },
  };
}

const OPERATORS: Readonly<Record<string, string>> = {
  gt: 'greaterThan',
  gte: 'greaterThanInclusive',
  lt: 'lessThan',
  lte: 'lessThanInclusive',
  not: 'notEqual',
};

function operatorOf(wanted: Wanted): { readonly operator: string; readonly value: unknown } {
  if (Array.isArray(wanted)) return { operator: 'in', value: wanted };
  if (typeof wanted !== 'object') return { operator: 'equal', value: wanted };
  const [[name, value] = ['', undefined]] = Object.entries(wanted);
  return { operator: OPERATORS[name] ?? name, value };
}
