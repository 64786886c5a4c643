import { type RuntimeError, toRuntimeError } from '../kernel/runtime-error.ts';
import { stopWith } from '../kernel/stop-with.ts';
import type { TargetTraits } from './edges.ts';
import { cancelled } from './failures.ts';
import { pushed } from './fifo.ts';
import { enqueue, fail } from './record.ts';
import { QUEUED, type Run, type Slotting } from './run.ts';
import type { Works } from './works.ts';

/**
 * Takes one of its target's slots, where that has a limit. An action that waits for one takes no place, so that others
 * go on. One that is given a slot when there is no place gives it back: it must not keep a slot from an action below the
 * very one that has the place. The next time it keeps its place while it waits, and so comes to its turn.
 */
export function hasSlot(works: Works, run: Run): boolean {
  const slots = run.traits?.slots;
  if (slots === undefined || run.slot !== undefined) return true;
  return isTaken(works, run, slots);
}

type Slots = NonNullable<TargetTraits['slots']>;

function isTaken(works: Works, run: Run, { key, max }: Slots): boolean {
  const controller = new AbortController();
  const asked = works.deps.slot?.({ key, max, signal: controller.signal });
  if (asked === undefined) return true;
  if (typeof asked === 'function') {
    run.slot = asked;
    return true;
  }
  const holdsPlace = run.counted && run.keepsPlace === true;
  if (holdsPlace) works.places--;
  const givePlaceBack = () => {
    if (holdsPlace) works.places++;
  };
  const stage: Slotting = {
    at: 'slotting',
    withdraw() {
      givePlaceBack();
      stopWith(controller, cancelled('The action was cancelled.'));
    },
  };
  run.stage = stage;
  const given = (free: () => void) => {
    if (run.stage !== stage) {
      free(); // cancelled, or the log is lost
      return;
    }
    givePlaceBack();
    if (run.counted && works.places === 0) {
      free();
      run.keepsPlace = true;
      enqueue(works, run, undefined);
    } else {
      run.slot = free;
      run.stage = QUEUED;
      works.free = pushed(works.free, run); // it has waited for its turn
    }
    works.goOn();
  };
  const refused = (error: RuntimeError) => {
    if (run.stage !== stage) return;
    givePlaceBack();
    fail(works, run, error);
    works.goOn();
  };
  asked.then(given, (thrown: unknown) => refused(toRuntimeError(thrown)));
  return false;
}

export function giveSlotBack(run: Run): void {
  run.slot?.();
  run.slot = undefined;
}
