import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json } from '../../src/lib/json.ts';
import type { DeclaredAction } from '../../src/log/action.ts';
import { moreRuns } from '../more-runs.ts';
import { audit } from './audit.ts';
import { CAUSE, restart, type Stage, stage } from './stage.ts';

const TARGETS = { pay: { idempotent: false }, mail: { start: 'on_turn_end' } } as const;
const OUTSIDE = { three: [1, 2, 3], none: [], text: 'no list' };
/** Ids are given in this order; dependencies name any of them, seen or not. */
const POOL = Array.from({ length: 14 }, (_, i) => `n${i}`);

/** An id, counted from that of the action itself, or one of the groups, or a round of the loop before. */
type Need = number | 'group' | 'last group' | 'round';

/** What a model, its targets and the machine may do. */
type Step =
  | {
      readonly do: 'declare';
      readonly name: 'tool' | 'pay' | 'mail';
      readonly mode: 'sync' | 'async' | 'fire_and_forget';
      readonly needs: readonly Need[];
      readonly variables: readonly { readonly of: number; readonly whole: boolean }[];
      readonly grouped: boolean;
      readonly retry: number;
      readonly timeout: number;
    }
  | {
      readonly do: 'loop';
      readonly list: string;
      readonly sibling: boolean;
      readonly needs: readonly Need[];
      readonly grouped: boolean;
    }
  | { readonly do: 'end'; readonly which: number; readonly how: 'well' | 'badly' }
  | { readonly do: 'advance'; readonly ms: number }
  /** A `</parallel>`. */
  | { readonly do: 'close_group' }
  | { readonly do: 'end_turn'; readonly how: 'well' | 'broken' }
  | { readonly do: 'cancel'; readonly back: number | 'group' }
  | { readonly do: 'cancel_all' }
  | { readonly do: 'crash'; readonly lost: number };

/** Near ones mostly, before and behind; 0 is the action itself. */
const near = fc.constantFrom(-5, -4, -3, -3, -2, -2, -1, -1, -1, 1, 1, 2, 3, 0);
const someIds: fc.Arbitrary<readonly Need[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: near },
    { weight: 1, arbitrary: fc.constantFrom('group', 'last group', 'round') },
  ),
  { maxLength: 3, size: 'max' },
);
const someNames = fc.array(fc.record({ of: near, whole: fc.boolean() }), { maxLength: 2 });

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('declare' as const),
      name: fc.constantFrom('tool' as const, 'tool' as const, 'pay' as const, 'mail' as const),
      mode: fc.constantFrom('async' as const, 'async' as const, 'sync' as const, 'fire_and_forget' as const),
      needs: someIds,
      variables: someNames,
      grouped: fc.boolean(),
      retry: fc.nat(2),
      timeout: fc.constantFrom(1, 300),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('loop' as const),
      list: fc.constantFrom('$three', '$none', '$text', ...POOL.map((id) => `$${id}`)),
      sibling: fc.boolean(),
      needs: someIds,
      grouped: fc.boolean(),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which: fc.nat(20),
      how: fc.constantFrom('well' as const, 'well' as const, 'badly' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(100, 1000, 12_000) }),
  },
  {
    weight: 1,
    arbitrary: fc.constant({ do: 'close_group' as const }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('end_turn' as const),
      how: fc.constantFrom('well' as const, 'broken' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('cancel' as const),
      back: fc.constantFrom(1, 1, 2, 3, 'group' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const), lost: fc.nat(4) }) },
);

const ENDED_WELL = {
  usage: { input: 0, output: 0 },
  cost_usd: 0,
  ms: 0,
  first_token_ms: 0,
  finish: 'stop',
} as const;
const BROKE_OFF = { code: 'broken', message: 'broken', retryable: true } as const;
const LAST_STEP_LIMIT = 2000;

/** Plays a script against a scheduler and holds every state of rest against the audit. */
async function play(
  parallelActions: number,
  script: readonly { readonly step: Step; readonly rest: boolean }[],
): Promise<void> {
  const options = { targets: TARGETS, outside: OUTSIDE, parallelActions, random: () => 0.5, commitMs: 5 };
  let s = stage(options);
  let declared = 0;
  let groups = 0;
  let cancelledAt: number | undefined;
  const restarts: number[] = [];
  let told = new Map<string, number>();

  const beginTurn = () => s.append({ type: 'turn.started', prompt: { tokens: 0, reused_prefix: 0 } });
  const endTurn = (how: 'well' | 'broken') => {
    if (how === 'well') s.append({ type: 'turn.completed', ...ENDED_WELL });
    else s.append({ type: 'turn.failed', error: BROKE_OFF });
    s.scheduler.turnEnded(how);
    groups++;
    beginTurn();
  };
  const watch = (id: string) => {
    told.set(id, 0);
    s.scheduler.whenAllEnded([id], () => told.set(id, (told.get(id) ?? 0) + 1));
  };
  const checked = async () => {
    await s.settle();
    const found = audit(s.events, {
      parallelActions,
      restarts,
      openGroup: `g${groups}`,
      outside: Object.keys(OUTSIDE),
      turnOpen: s.state.turnOpen,
      ...(cancelledAt === undefined ? {} : { cancelledAt }),
    });
    const problems = [...found.problems, ...s.strays];
    for (const [id, times] of told)
      if (found.actions.has(id) && times !== (s.state.open.has(id) ? 0 : 1))
        problems.push(`the end of ${id} was told ${times} times`);
    // `expect` is as dear as a whole step.
    if (problems.length > 0) expect(problems, s.story().join('\n')).toEqual([]);
  };
  const idAt = (own: number, offset: number) =>
    POOL[Math.min(Math.max(own + offset, 0), POOL.length - 1)] as string;
  const needed = (own: number, needs: readonly Need[]) =>
    needs.map((need) => {
      if (need === 'group') return `g${groups}`;
      if (need === 'last group') return `g${groups - 1}`;
      return need === 'round' ? `${idAt(own, -2)}[1]` : idAt(own, need);
    });
  const nextId = (): string => POOL[declared++ % POOL.length] as string;
  const fresh = () => declared < POOL.length;

  const run = async (at: Step): Promise<void> => {
    switch (at.do) {
      case 'declare': {
        if (!fresh()) break;
        const own = declared;
        const id = nextId();
        const { name, retry, timeout, variables } = at;
        const group = at.grouped && at.mode !== 'sync' ? { group: `g${groups}` } : {};
        const parameters: Record<string, Json> = Object.fromEntries(
          variables.map(({ of, whole }, i) => {
            const named = idAt(own, of);
            return [`p${i}`, whole ? `$${named}` : `see {{${named}}} and $${named}`];
          }),
        );
        s.declare(id, {
          name,
          mode: at.mode,
          retry,
          timeout,
          parameters,
          depends_on: needed(own, at.needs),
          ...group,
        });
        if (at.mode === 'sync') groups++; // it stands outside every parallel
        watch(id);
        break;
      }
      case 'loop': {
        if (declared + 1 >= POOL.length) break;
        const depends_on = needed(declared, at.needs);
        const group = at.grouped ? { group: `g${groups}` } : {};
        const base = { kind: 'tool', mode: 'async', name: 'tool', ...group } as const;
        const first: DeclaredAction = {
          ...base,
          id: nextId(),
          parameters: { of: '$item' },
          depends_on,
        };
        const second: DeclaredAction = {
          ...base,
          id: nextId(),
          parameters: at.sibling ? { of: `$${first.id}` } : {},
          depends_on: at.sibling ? [first.id] : [],
        };
        s.scheduler.declareForEach({ in: at.list, as: 'item', actions: [second, first] }, CAUSE);
        break;
      }
      case 'end': {
        const call = s.calls[at.which % Math.max(1, s.calls.length)];
        if (at.how === 'well') call?.resolve([1, 2]);
        else call?.reject(new RuntimeError('boom', 'It broke.'));
        break;
      }
      case 'advance':
        await s.clock.advance(at.ms);
        break;
      case 'close_group': {
        const group = `g${groups++}`;
        s.scheduler.parallelClosed(group);
        watch(group);
        break;
      }
      case 'end_turn':
        endTurn(at.how);
        break;
      case 'cancel':
        void s.scheduler.cancel('this one', [at.back === 'group' ? `g${groups}` : idAt(declared, -at.back)]);
        break;
      case 'cancel_all':
        void s.scheduler.cancel('all');
        cancelledAt = s.events.length;
        break;
      case 'crash':
        s = crashed(s, at.lost);
        break;
    }
  };

  /** What was written last may be lost, unless somebody acted on its commit. */
  const crashed = (before: Stage, lost: number): Stage => {
    const kept = Math.max(before.committed(), 1, before.events.length - lost);
    const events = before.events.slice(0, kept);
    declared = Math.max(
      0,
      ...[...POOL.keys()].filter((i) => names(events).has(POOL[i] as string)).map((i) => i + 1),
    );
    restarts.push(kept);
    groups++;
    const after = restart({ ...before, events }, options);
    told = new Map();
    s = after;
    if (after.state.turnOpen) endTurn('broken');
    else beginTurn();
    for (const id of after.state.open) watch(id);
    return after;
  };

  beginTurn();
  for (const { step: each, rest } of script) {
    if (cancelledAt !== undefined && each.do === 'crash') continue; // nobody takes up a cancelled session
    await run(each);
    if (rest) await checked();
  }
  // Whatever happened, all that was declared comes to its end.
  endTurn('well');
  for (let n = 0; s.state.open.size > 0; n++) {
    if (n === LAST_STEP_LIMIT) expect([...s.state.open], s.story().join('\n')).toEqual([]);
    for (const call of [...s.calls]) call.resolve([1]);
    await s.clock.advance(1000);
    await checked();
  }
  expect(
    [...told].filter(([, times]) => times !== 1),
    s.story().join('\n'),
  ).toEqual([]);
  expect(s.scheduler.tracked()).toEqual([]);
  expect(s.scheduler.untracked()).toEqual([]);
  for (const call of [...s.calls]) call.resolve();
  await s.clock.advance(5); // commits that nobody waits for any more
  expect(s.clock.pending).toBe(0);
}

/** Ids that are taken: of actions, and of those in loops. */
const names = (events: Stage['events']): ReadonlySet<string> =>
  new Set(
    events.flatMap((event) => {
      if (event.type !== 'action.declared') return [];
      const { id, name, parameters } = event.action;
      const inside = name === 'foreach' ? (parameters.actions as unknown as readonly DeclaredAction[]) : [];
      return [id, ...inside.map((action) => action.id)];
    }),
  );

/** `rest`: whether everything settles before the next step. */
const script = fc.array(fc.record({ step, rest: fc.integer({ min: 0, max: 3 }).map((n) => n > 0) }), {
  minLength: 5,
  maxLength: 45,
  size: 'max',
});

describe('whatever is declared, ends, fails, is cancelled or crashes', () => {
  test('nothing starts too early, twice or too much at once, and nothing is lost', async () => {
    await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: 4 }), script, play), {
      numRuns: moreRuns(400),
    });
  }, 60_000);

  test('a cancel of everything stops everything', async () => {
    const ended = fc
      .tuple(script, fc.boolean(), script)
      .map(([before, rest, after]) => [...before, { step: { do: 'cancel_all' } as const, rest }, ...after]);
    await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: 4 }), ended, play), {
      numRuns: moreRuns(150),
    });
  }, 60_000);
});
