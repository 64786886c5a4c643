import fc from 'fast-check';
import type { DeclaredAction } from '../../src/log/action.ts';
import {
  type Act,
  blame,
  cancelOne,
  cancelSession,
  commit,
  declare,
  declareAgain,
  endTurn,
  type Real,
  settle,
} from './graph-acts.ts';
import {
  type GraphModel,
  type Outcome,
  openIds,
  passed,
  type Target,
  type Try,
  trackedIds,
} from './graph-model.ts';
import { owed, saw } from './graph-rules.ts';

type GraphCommand = fc.AsyncCommand<GraphModel, Real>;

/** Acts of one instant: what they bring about may overlap. Then all that can happen by itself has happened. */
const together = (acts: readonly Act[]): GraphCommand => ({
  check: (model) => acts.some((each) => each.may(model)),
  async run(model, real) {
    for (const each of acts) {
      if (!each.may(model)) continue;
      each.act(model, real);
      look(model, real);
    }
    await rest(model, real);
  },
  toString: () => acts.map(({ name }) => name).join(' & '),
});

const advance = (ms: number): GraphCommand => ({
  check: () => true,
  async run(model, real) {
    await real.stage.clock.advance(ms);
    await rest(model, real);
  },
  toString: () => `advance ${ms}`,
});

/** Shows the model what is new on the log. */
function look(model: GraphModel, { stage }: Real): void {
  blame(
    stage,
    stage.events.slice(model.seen).flatMap((event) => saw(model, event)),
  );
}

/** Lets everything settle, and holds it against the model. */
async function rest(model: GraphModel, real: Real): Promise<void> {
  const { stage, cancels } = real;
  await stage.settle();
  look(model, real);
  passed(model, stage.clock.now());
  const problems = [...owed(model), ...stage.strays];
  const compare = (what: string, found: readonly string[], wanted: readonly string[]) => {
    const [is, should] = [[...found].sort().join(', '), [...wanted].sort().join(', ')];
    if (is !== should) problems.push(`${what}: ${is}; should be: ${should}`);
  };
  const nameOf = ({ id, attempt }: Try) => `${id}/${attempt}`;
  const aborted = stage.calls.filter(({ signal }) => signal.aborted);
  const toAbort = [...model.calls].filter((call) => call.aborted !== undefined);
  compare('called', stage.calls.map(nameOf), [...model.calls].map(nameOf));
  compare('aborted', aborted.map(nameOf), toAbort.map(nameOf));
  compare('tracked', stage.scheduler.tracked(), trackedIds(model, true));
  compare('untracked', stage.scheduler.untracked(), trackedIds(model, false));
  if (stage.ended.join() !== model.ended.join()) problems.push(`told of the ends of ${stage.ended.join()}`);
  const open = openIds(model);
  for (const { ids, stopped } of cancels)
    if (stopped === ids.some((id) => open.includes(id)))
      problems.push(`a cancel of ${ids.join()} ${stopped ? 'did not wait' : 'still waits'}`);
  // A cancel while the session fails has the last word: then the failure need not be told.
  const fatal = stage.fatal.map(({ id }) => id);
  if (model.life !== 'cancelled' || fatal.length > 0)
    compare('fatal', fatal, model.fatal !== undefined && open.length === 0 ? [model.fatal] : []);
  blame(stage, problems);
}

const DRAIN_LIMIT = 100;
const LONGER_THAN_ANY_REST_MS = 30_000;

/** Lets everything come to its end: all is committed, all targets come back, the turn ends. */
export async function drain(model: GraphModel, real: Real): Promise<void> {
  for (let n = 0; openIds(model).length > 0 || model.calls.size > 0; n++) {
    if (n === DRAIN_LIMIT) blame(real.stage, [`${openIds(model).join()} never end`]);
    const comeBack = [...model.calls].map(() => settle(0, 'well'));
    await together([commit, ...comeBack, endTurn('well')]).run(model, real);
    await advance(LONGER_THAN_ANY_REST_MS).run(model, real);
  }
}

/** As a place: beyond all that come. */
const NEVER = 1000;

/** Mostly of what came before; 0 is the action itself. */
const need = fc.oneof(
  { weight: 24, arbitrary: fc.integer({ min: -4, max: -1 }) },
  { weight: 10, arbitrary: fc.constantFrom(1, 1, 2) },
  { weight: 1, arbitrary: fc.constantFrom(0, NEVER) },
);

const declaring = fc
  .record(
    {
      target: fc.constantFrom<Target>('tool', 'tool', 'pay', 'mail'),
      mode: fc.constantFrom<DeclaredAction['mode']>('async', 'async', 'async', 'sync', 'fire_and_forget'),
      needs: fc.array(need, { maxLength: 2, size: 'max' }),
      reads: fc.array(fc.integer({ min: -3, max: -1 }), { maxLength: 1 }),
      timeout: fc.constantFrom(1, 300, 300),
      retry: fc.constantFrom(0, 1, 2),
      on_error: fc.constantFrom('skip' as const, 'retry' as const),
    },
    { requiredKeys: ['target', 'mode', 'needs', 'reads', 'timeout'] },
  )
  .map(declare);

const settling = fc
  .tuple(
    fc.nat(20),
    fc.constantFrom<Outcome>('well', 'well', 'well', 'well', 'boom', 'boom', 'not_permitted'),
  )
  .map(([which, outcome]) => settle(which, outcome));

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 24, arbitrary: declaring },
  { weight: 24, arbitrary: settling },
  { weight: 6, arbitrary: fc.constant(commit) },
  { weight: 3, arbitrary: fc.constantFrom('well' as const, 'broken' as const).map(endTurn) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 5 }).map(cancelOne) },
  { weight: 1, arbitrary: fc.nat(20).map(declareAgain) },
);

/** What a session may not outlive. */
const lastAct: fc.Arbitrary<Act> = fc.constantFrom(
  cancelSession,
  declare({ target: 'tool', mode: 'async', needs: [], reads: [], on_error: 'fail' }),
  declare({ target: 'pay', mode: 'sync', needs: [-1], reads: [], on_error: 'fail', retry: 1 }),
);

const MAX_COMMANDS = 40;

export const graphCommands = fc.commands<GraphModel, Real, false>(
  [
    fc.oneof(
      { weight: 40, arbitrary: fc.tuple(act).map(together) },
      { weight: 12, arbitrary: fc.array(act, { minLength: 2, maxLength: 4 }).map(together) },
      { weight: 6, arbitrary: fc.constantFrom(100, 1000, 12_000).map(advance) },
      {
        weight: 2,
        arbitrary: fc.array(fc.oneof(act, lastAct), { minLength: 1, maxLength: 3 }).map(together),
      },
    ),
  ],
  { maxCommands: MAX_COMMANDS, size: 'max' },
);
