import type { Json, JsonObject } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { type RuntimeError, toRuntimeError } from '../kernel/runtime-error.ts';
import { stopWith } from '../kernel/stop-with.ts';
import { cancelled } from './failures.ts';
import { complete, enqueue, fail } from './record.ts';
import type { Looking, Run } from './run.ts';
import type { Works } from './works.ts';

const NO_INPUT: JsonObject = {};

/** Has an action looked at before it begins, where anybody wants to. Until then it takes no place. */
export function isLookedAt(works: Works, run: Run): boolean {
  const { before } = works.deps;
  if (before === undefined || run.looked || run.attempts > 0 || run.traits === undefined) return true;
  const { action, cause, input = NO_INPUT } = run;
  const ask = (signal: AbortSignal) => before({ action, input, cause, signal });
  look(works, run, ask, (looked) => {
    run.looked = true;
    if (looked.ok) {
      run.input = looked.value;
      enqueue(works, run, undefined);
    } else fail(works, run, looked.error);
  });
  return false;
}

/** Has its output looked at, where anybody wants to: what they leave of it is on the log together with its end. */
export function isBeingLookedAt(works: Works, run: Run, output: Json): boolean {
  const { after, clock } = works.deps;
  if (after === undefined) return false;
  const { action, cause, input = NO_INPUT } = run;
  run.until = clock.monotonic();
  const ask = (signal: AbortSignal) => after({ action, input, cause, output, signal });
  look(works, run, ask, (looked) => {
    if (!looked.ok) {
      fail(works, run, looked.error);
      return;
    }
    for (const record of looked.value.records) works.deps.append(record, cause);
    complete(works, run, looked.value.output);
  });
  return true;
}

/** What they come to counts, unless the action has ended meanwhile. */
function look<T>(
  works: Works,
  run: Run,
  ask: (signal: AbortSignal) => Promise<T>,
  then: (looked: Result<T, RuntimeError>) => void,
): void {
  const controller = new AbortController();
  const withdraw = () => stopWith(controller, cancelled('The action was cancelled.'));
  const stage: Looking = { at: 'looking', withdraw };
  run.stage = stage;
  const looked = (result: Result<T, RuntimeError>) => {
    if (run.stage !== stage) return; // cancelled, or the log is lost
    then(result);
    works.goOn();
  };
  ask(controller.signal).then(
    (value) => looked(ok(value)),
    (thrown: unknown) => looked(err(toRuntimeError(thrown))),
  );
}
