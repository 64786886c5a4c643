import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GRACE_MS } from '../../src/scheduler/attempt.ts';
import { moreRuns } from '../more-runs.ts';
import { audit } from './audit.ts';
import type { Real } from './graph-acts.ts';
import { drain, graphCommands } from './graph-commands.ts';
import { createModel, type GraphModel } from './graph-model.ts';
import { stage } from './stage.ts';

const TARGETS = { pay: { idempotent: false }, mail: { start: 'on_turn_end' } } as const;

/** All that can come of an action here. */
const KINDS = [
  'cancelled',
  'completed',
  'failed boom',
  'failed not_permitted',
  'failed timeout',
  'retrying boom',
  'retrying timeout',
  'skipped deadlock',
  'skipped dependency',
  'skipped turn_failed',
  'skipped unknown_dependency',
  'started',
];

function begin(parallelActions: number): { readonly model: GraphModel; readonly real: Real } {
  const made = stage({ targets: TARGETS, parallelActions, manualCommit: true });
  made.append({ type: 'turn.started', prompt: { tokens: 0, reused_prefix: 0 } });
  const model = createModel(parallelActions, GRACE_MS, made.clock.now());
  return { model, real: { stage: made, cancels: [] } };
}

/** The whole log once more, by an account that was not told what went in; then what must be left of it all. */
function checkEnd({ parallelActions, shutAt, actions }: GraphModel, { stage: made }: Real): void {
  const { problems } = audit(made.events, {
    parallelActions,
    restarts: [],
    openGroup: '',
    outside: [],
    turnOpen: true,
    ...(shutAt === undefined ? {} : { cancelledAt: shutAt }),
  });
  expect(problems, made.story().join('\n')).toEqual([]);
  expect([...made.ended].sort()).toEqual([...actions.keys()].sort());
  expect(made.clock.pending).toBe(0);
}

describe('whatever a session is told, in whatever order', () => {
  test('its actions do what the model says: none starts early or twice, none is lost, a cancel stops all', async () => {
    const kinds = new Set<string>();
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      graphCommands,
      async (limit, commands) => {
        const { model, real } = begin(limit);
        await fc.asyncModelRun(() => ({ model, real }), commands);
        await drain(model, real);
        checkEnd(model, real);
        for (const kind of model.kinds) kinds.add(kind);
      },
    );
    await fc.assert(property, { numRuns: moreRuns(1500) });
    // A property that never gets there shows nothing.
    expect([...kinds].sort()).toEqual(KINDS);
  }, 60_000);
});
