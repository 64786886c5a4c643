import { stopped } from '../../targets/access/stopped.ts';
import type { LeafCall } from '../leaf.ts';
import type { LeafEdges } from './leaf-edges.ts';
import { stepWhat } from './resolve-in-step.ts';

export type Waited<Found> = { readonly kind: 'found'; readonly value: Found } | { readonly kind: 'due' };

export interface WaitOptions<Found> {
  /** What the run's log and its views say that it waits for: `event custom`. */
  readonly waitsFor: string;
  /** When it ends in any case. */
  readonly due?: number | undefined;
  /** What is waited for, as soon as the run's state shows it. */
  readonly look: () => Found | undefined;
}

/**
 * Waits for the run's log to show something, or for a time, with the step parked meanwhile: the run may be let go of,
 * and the wait then begins anew, from the log. Rejects when the step is stopped.
 */
export function waitFor<Found>(
  { waitsFor, due, look }: WaitOptions<Found>,
  call: LeafCall,
  { journal, clock }: Pick<LeafEdges, 'journal' | 'clock'>,
): Promise<Waited<Found>> {
  const { signal } = call;
  if (signal.aborted) return Promise.reject(stopped(stepWhat(call), signal));
  const there = look();
  if (there !== undefined) return Promise.resolve({ kind: 'found', value: there });
  if (due !== undefined && due <= clock.now()) return Promise.resolve({ kind: 'due' });
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
      resolve({ kind: 'found', value: found });
    });
    // A machine's clock may be set back while it runs: what is early is waited for again.
    const arm = (at: number): (() => void) =>
      clock.after(at - clock.now(), () => {
        if (clock.now() < at) {
          disarm = arm(at);
          return;
        }
        end();
        resolve({ kind: 'due' });
      });
    let disarm = due === undefined ? () => {} : arm(due);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
