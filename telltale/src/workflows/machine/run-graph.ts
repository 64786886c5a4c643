import type { Json } from '../../lib/json.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import { needsCycle } from './failures.ts';
import { type Before, runStep } from './run-step.ts';
import type { ListOutcome, WalkOutcome } from './walk.ts';
import { LET_GO, type Walk, type WalkPlace } from './walk.ts';

/**
 * A list as a graph: a step begins once all that it needs have ended. A failure that nothing handles skips what needs
 * the step and lets the rest go on; the list then fails with the first of them in its order. What `goto` names takes
 * the failure for success, everything else that needs the step is skipped.
 */
export async function runGraph(walk: Walk, steps: readonly Step[], place: WalkPlace): Promise<ListOutcome> {
  const outcomes = await runNodes(walk, steps, place);
  let output: Json = null;
  let seq = 0;
  let failure: ListOutcome | undefined;
  for (const [at, outcome] of outcomes.entries()) {
    if (outcome === undefined) continue;
    seq = Math.max(seq, outcome.seq);
    if (outcome.kind === 'cancelled') return outcome;
    if (outcome.kind === 'completed') output = outcome.output;
    if (outcome.kind === 'failed' && (steps[at]?.on_error ?? 'fail') === 'fail') failure ??= outcome;
  }
  const stuck = steps.filter((_, at) => outcomes[at] === undefined).map(({ name }) => name);
  if (stuck.length > 0) return { kind: 'failed', error: needsCycle(stuck).toJSON(), seq };
  return failure === undefined ? { kind: 'completed', output, seq } : { ...failure, seq };
}

function runNodes(
  walk: Walk,
  steps: readonly Step[],
  place: WalkPlace,
): Promise<readonly (WalkOutcome | undefined)[]> {
  const at = new Map(steps.map(({ name }, index) => [name, index]));
  const needs = steps.map((step) => (step.needs ?? []).flatMap((name) => at.get(name) ?? []));
  const dependents = steps.map((): number[] => []);
  for (const [index, needed] of needs.entries()) for (const need of needed) dependents[need]?.push(index);
  /** Whether a step that needs this one has begun, directly or through others. */
  const isNeeded = (index: number, seen = new Set<number>()): boolean =>
    (dependents[index] ?? []).some((next) => {
      if (seen.has(next)) return false;
      seen.add(next);
      return walk.state.steps.has(place.prefix + (steps[next] as Step).name) || isNeeded(next, seen);
    });
  const missing = needs.map(({ length }) => length);
  const outcomes: (WalkOutcome | undefined)[] = steps.map(() => undefined);

  return new Promise((resolve, reject) => {
    let running = 0;
    const start = (index: number) => {
      running++;
      const step = steps[index] as Step;
      const isPast = () => isNeeded(index);
      const before = { ...beforeOf(steps, index, needs[index] ?? [], outcomes), isPast };
      const run = async () => runStep(walk, step, place.prefix + step.name, place, before);
      run().then(
        (outcome) => {
          outcomes[index] = outcome;
          const free = (dependents[index] ?? []).filter((next) => {
            missing[next] = (missing[next] ?? 0) - 1;
            return missing[next] === 0;
          });
          walk.occupancy.add(free.length);
          for (const next of free) start(next);
          left();
        },
        (thrown: unknown) => {
          walk.crash(thrown);
          left();
        },
      );
    };
    // The place of whoever ends last goes to the list around.
    const left = () => {
      running--;
      if (running > 0) walk.occupancy.add(-1);
      else if (walk.letGo) reject(LET_GO);
      else resolve(outcomes);
    };
    const first = steps.flatMap((_, index) => (missing[index] === 0 ? [index] : []));
    if (first.length === 0) {
      resolve(outcomes);
      return;
    }
    walk.occupancy.add(first.length - 1);
    for (const index of first) start(index);
  });
}

/** How the steps that it needs have ended. */
function beforeOf(
  steps: readonly Step[],
  index: number,
  needed: readonly number[],
  outcomes: readonly (WalkOutcome | undefined)[],
): Omit<Before, 'isPast'> {
  let failed: string | undefined;
  let unhandled: string | undefined;
  let reason: Before['reason'] = 'needs';
  for (const need of needed) {
    const outcome = outcomes[need];
    const { name, on_error = 'fail' } = steps[need] as Step;
    if (outcome?.kind === 'failed') {
      failed ??= name;
      if (on_error === 'continue') continue;
      if (typeof on_error === 'object' && on_error.goto === steps[index]?.name) continue;
      if (unhandled === undefined && typeof on_error === 'object') reason = 'goto';
      unhandled ??= name;
    } else if (outcome?.kind === 'skipped' && (outcome.reason === 'needs' || outcome.reason === 'goto')) {
      failed ??= name;
      unhandled ??= name;
    }
  }
  return { failed, unhandled, reason };
}
