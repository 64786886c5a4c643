import { stopped } from '../../targets/access/stopped.ts';
import type { LeafCall } from '../leaf.ts';
import type { LeafDeps } from './leaf-edges.ts';
import { stepWhat } from './resolve-in-step.ts';

interface Wait<Found> {
  /** What the run's log and its views say that it waits for: `event custom`. */
  readonly waitsFor: string;
  /** What is waited for, as soon as the run's state shows it. */
  readonly look: () => Found | undefined;
}

/** Timers count time that passes, not what the wall says: where that is set, it is noticed after that long at the latest. */
const LONGEST_SLEEP_MS = 5_000;

/** It is due, and what was looked for has not come. */
export const DUE: unique symbol = Symbol('due');

/**
 * Waits for the run's log to show something, or for a time, with the step parked meanwhile: the run may be let go of,
 * and the wait then begins anew, from the log. Rejects when the step is stopped.
 */
export function waitFor<Found>(
  wait: Wait<Found> & { readonly due?: never },
  call: LeafCall,
  deps: Pick<LeafDeps, 'journal' | 'clock'>,
): Promise<Found>;
export function waitFor<Found>(
  wait: Wait<Found> & { readonly due: number | undefined },
  call: LeafCall,
  deps: Pick<LeafDeps, 'journal' | 'clock'>,
): Promise<Found | typeof DUE>;
export function waitFor<Found>(
  { waitsFor, due, look }: Wait<Found> & { readonly due?: number | undefined },
  call: LeafCall,
  { journal, clock }: Pick<LeafDeps, 'journal' | 'clock'>,
): Promise<Found | typeof DUE> {
  const { signal } = call;
  if (signal.aborted) return Promise.reject(stopped(stepWhat(call), signal));
  const there = look();
  if (there !== undefined) return Promise.resolve(there);
  if (due !== undefined && due <= clock.now()) return Promise.resolve(DUE);
  return new Promise((resolve, reject) => {
    const goOn = call.park(waitsFor, due);
    const end = () => {
      forget();
      disarm();
      signal.removeEventListener('abort', onAbort);
      goOn();
    };
    const onAbort = () => {
      end();
      reject(stopped(stepWhat(call), signal));
    };
    const forget = journal.subscribe(() => {
      const found = look();
      if (found === undefined) return;
      end();
      resolve(found);
    });
    // A machine's clock may be set back meanwhile, and right again: what is early is waited for again, and looked at.
    const arm = (at: number): (() => void) =>
      clock.after(Math.min(at - clock.now(), LONGEST_SLEEP_MS), () => {
        if (clock.now() < at) {
          disarm = arm(at);
          return;
        }
        end();
        resolve(DUE);
      });
    let disarm = due === undefined ? () => {} : arm(due);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
