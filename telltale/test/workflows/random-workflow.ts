import fc from 'fast-check';
import type { WorkflowManifest } from '../../src/manifest/schema/kinds.ts';
import type { Step } from '../../src/manifest/schema/steps/step.ts';
import { step } from './machine-stage.ts';

/** What a leaf does, by the name of its step. */
export interface Behavior {
  /** Tries that fail. */
  readonly fails: number;
  /** 0: at once. */
  readonly delayMs: number;
  readonly repeatable: boolean;
  /** Waits without holding the run. */
  readonly parks: boolean;
  /** Goes on for a while after it is aborted. */
  readonly stubborn: boolean;
}

export interface RandomWorkflow {
  readonly manifest: Partial<WorkflowManifest>;
  readonly executors: ReadonlyMap<string, Behavior>;
  /** Whether its end depends on what is faster. */
  readonly wild: boolean;
}

interface Common {
  readonly onError: 'fail' | 'continue' | 'goto';
  readonly goto: number;
  readonly retry: number;
  readonly condition: string | undefined;
  readonly if: boolean | undefined;
  readonly needs: number | undefined;
  readonly timeout: number | undefined;
  readonly compensate: boolean;
}

type Shape = Common &
  (
    | { readonly kind: 'leaf'; readonly does: Behavior; readonly chooses: number | undefined }
    | {
        readonly kind: 'parallel' | 'race';
        readonly branches: readonly (readonly Shape[])[];
        readonly max: number | undefined;
        readonly fast: boolean;
      }
    | {
        readonly kind: 'foreach';
        readonly items: number;
        readonly max: number;
        readonly body: readonly Shape[];
      }
    | {
        readonly kind: 'loop';
        readonly rounds: number;
        readonly max: number;
        readonly until: boolean;
        readonly body: readonly Shape[];
      }
    | { readonly kind: 'switch'; readonly cases: readonly (readonly Shape[])[]; readonly otherwise: boolean }
    | {
        readonly kind: 'try';
        readonly body: readonly Shape[];
        readonly catches: readonly Shape[] | undefined;
        readonly last: readonly Shape[] | undefined;
      }
  );

const seldom = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

const common = {
  onError: fc.constantFrom('fail', 'fail', 'fail', 'continue', 'goto') as fc.Arbitrary<Common['onError']>,
  goto: fc.nat(5),
  retry: fc.constantFrom(0, 0, 1, 2),
  condition: seldom(fc.constantFrom('always', 'on_failure', 'previous_steps_success', 'coin')),
  if: seldom(fc.boolean()),
  needs: seldom(fc.nat(7)),
  timeout: seldom(fc.constantFrom(3, 50, 20_000)),
  compensate: fc.boolean(),
};

const behavior: fc.Arbitrary<Behavior> = fc.record({
  fails: fc.constantFrom(0, 0, 0, 1, 2, 99),
  delayMs: fc.constantFrom(0, 0, 1, 5, 9_000),
  repeatable: fc.boolean(),
  parks: fc.constantFrom(false, false, true),
  stubborn: fc.constantFrom(false, false, true),
});

const { list } = fc.letrec<{ readonly shape: Shape; readonly list: Shape[] }>((tie) => ({
  list: fc.array(tie('shape'), { minLength: 1, maxLength: 3, depthIdentifier: 'steps' }),
  shape: fc.oneof(
    { maxDepth: 3, depthSize: 'small', depthIdentifier: 'steps' },
    {
      weight: 3,
      arbitrary: fc.record({
        ...common,
        kind: fc.constant('leaf' as const),
        does: behavior,
        chooses: seldom(fc.nat(2)),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        ...common,
        kind: fc.constantFrom('parallel' as const, 'race' as const),
        branches: fc.array(tie('list'), { minLength: 1, maxLength: 3 }),
        max: seldom(fc.constantFrom(1, 2)),
        fast: fc.boolean(),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        ...common,
        kind: fc.constant('foreach' as const),
        items: fc.nat(3),
        max: fc.constantFrom(1, 2, 16),
        body: tie('list'),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        ...common,
        kind: fc.constant('loop' as const),
        rounds: fc.nat(3),
        max: fc.integer({ min: 1, max: 3 }),
        until: fc.boolean(),
        body: tie('list'),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        ...common,
        kind: fc.constant('switch' as const),
        cases: fc.array(tie('list'), { minLength: 1, maxLength: 2 }),
        otherwise: fc.boolean(),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        ...common,
        kind: fc.constant('try' as const),
        body: tie('list'),
        catches: fc.option(tie('list'), { nil: undefined }),
        last: fc.option(tie('list'), { nil: undefined }),
      }),
    },
  ) as fc.Arbitrary<Shape>,
}));

const STATES = ['one', 'two', 'three'] as const;

/** Workflows of every kind of step, with names that are unique as validation has them. */
export const randomWorkflow: fc.Arbitrary<RandomWorkflow> = fc
  .record({
    wild: fc.boolean(),
    lists: fc.oneof(
      list.map((only) => [only]),
      fc.tuple(list, list, list),
    ),
    ways: fc.array(fc.record({ to: fc.nat(2), test: fc.boolean() }), { maxLength: 3 }),
  })
  .map(({ wild, lists, ways }) => {
    const executors = new Map<string, Behavior>();
    const build = builder(executors, wild);
    const [first = [], ...rest] = lists;
    if (rest.length === 0) return { manifest: { steps: build(first) }, executors, wild };
    const states = Object.fromEntries(
      lists.map((steps, at) => [
        STATES[at] ?? '',
        {
          steps: build(steps),
          transitions: ways.map(({ to, test }) => ({
            to: STATES[to] ?? '',
            ...(test ? { condition: 'coin' } : {}),
          })),
          final: at === 2,
        },
      ]),
    );
    const manifest = {
      states,
      initial: 'one',
      max_transitions: 5,
      transitions: [{ from: '*', to: 'three' }],
    } as unknown as Partial<WorkflowManifest>;
    return { manifest, executors, wild };
  });

function builder(executors: Map<string, Behavior>, wild: boolean) {
  let count = 0;
  const steps = (shapes: readonly Shape[]): Step[] => {
    const names = shapes.map(() => `s${count++}`);
    return shapes.map((shape, at) => {
      const own = names[at] ?? '';
      const to = names[shape.goto % names.length] ?? '';
      const needs =
        shape.needs === undefined
          ? undefined
          : names.filter((_, i) => i < at && (shape.needs ?? 0) & (1 << i));
      return step(own, {
        ...kindOf(shape, own),
        ...(shape.onError === 'goto' && to !== own ? { on_error: { goto: to } } : {}),
        ...(shape.onError === 'continue' ? { on_error: 'continue' } : {}),
        ...(shape.retry === 0 ? {} : { retry: { max: shape.retry, backoff: { ms: 4_000 } } }),
        ...(shape.condition === undefined ? {} : { condition: shape.condition }),
        ...(shape.if === undefined ? {} : { if: shape.if ? 'coin' : 'true' }),
        ...(needs === undefined ? {} : { needs }),
        ...(shape.timeout === undefined || !wild ? {} : { timeout: { ms: shape.timeout } }),
        ...(shape.compensate ? { compensate: { type: 'tool', target: 'undo', parameters: {} } } : {}),
      });
    });
  };
  const kindOf = (shape: Shape, own: string): Readonly<Record<string, unknown>> => {
    switch (shape.kind) {
      case 'leaf':
        executors.set(own, shape.does);
        return shape.chooses === undefined ? {} : { type: 'transition', to: STATES[shape.chooses] };
      case 'parallel':
      case 'race':
        return {
          type: wild ? shape.kind : 'parallel',
          branches: shape.branches.map(steps),
          fail_fast: wild && shape.fast,
          ...(shape.max === undefined ? {} : { max_parallel: shape.max }),
        };
      case 'foreach':
        return {
          type: 'foreach',
          in: Array.from({ length: shape.items }, (_, i) => i),
          as: 'item',
          max_parallel: wild ? shape.max : 1,
          body: steps(shape.body),
        };
      case 'loop':
        return {
          type: 'loop',
          [shape.until ? 'until' : 'while']: `${shape.until ? 'after' : 'upto'}:${shape.rounds}`,
          max: shape.max,
          body: steps(shape.body),
        };
      case 'switch':
        return {
          type: 'switch',
          cases: shape.cases.map((body) => ({ if: 'coin', body: steps(body) })),
          ...(shape.otherwise ? { default: steps(shape.cases[0] ?? []) } : {}),
        };
      case 'try':
        return {
          type: 'try',
          body: steps(shape.body),
          catch: shape.catches && steps(shape.catches),
          finally: shape.last && steps(shape.last),
        };
    }
  };
  return steps;
}
