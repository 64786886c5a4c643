import type { Json } from '../../kernel/json.ts';
import { type RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import { stopWith } from '../../kernel/stop-with.ts';
import type { Branch } from './branch.ts';
import { cancelledBecause, timedOut } from './failures.ts';
import { GRACE_MS } from './limits.ts';
import type { Walk } from './walk.ts';

export type Tried =
  | { readonly kind: 'done'; readonly output: Json }
  | { readonly kind: 'failed'; readonly error: RuntimeError }
  | { readonly kind: 'stopped'; readonly reason: string };

export interface Try {
  readonly address: string;
  readonly branch: Branch;
  readonly timeoutMs: number | undefined;
  /** When it began by the log: while it is parked its time counts from there. */
  readonly triedAt: number;
  /** Whether a run that holds it may be let go of. */
  readonly mayPark: boolean;
  run(signal: AbortSignal, park: (waitsFor: string, due?: number) => () => void): Promise<Json>;
}

/**
 * One try. One that is stopped or out of time ends when it has settled or its grace is over, and counts as stopped
 * whatever it says then. No timer is armed where there is no time-out.
 */
export function attempt({ clock, occupancy }: Walk, tried: Try): Promise<Tried> {
  const { address, branch, timeoutMs } = tried;
  return new Promise((resolve) => {
    const controller = new AbortController();
    let ending: Tried | undefined;
    let over = false;
    let unpark: (() => void) | undefined;
    let disarm: (() => void) | undefined;

    const goOn = () => {
      unpark?.();
      unpark = undefined;
    };
    const finish = (outcome: Tried) => {
      if (over) return; // it came back after its grace
      over = true;
      disarm?.();
      offStop();
      goOn();
      resolve(ending ?? outcome);
    };
    const end = (as: Tried, reason: RuntimeError) => {
      if (ending !== undefined || over) return;
      ending = as;
      disarm?.();
      goOn();
      disarm = clock.after(GRACE_MS, () => finish(as));
      stopWith(controller, reason);
    };
    const arm = (delayMs: number) => {
      disarm?.();
      disarm = clock.after(delayMs, () => {
        const error = timedOut(address, timeoutMs ?? 0);
        end({ kind: 'failed', error }, error);
      });
    };
    const park = (waitsFor: string, due?: number) => {
      if (over || ending !== undefined || !tried.mayPark) return ignored;
      goOn();
      const until = timeoutMs === undefined ? undefined : tried.triedAt + timeoutMs;
      if (until !== undefined) arm(Math.max(0, until - clock.now()));
      const first = earliest(due, until, branch.deadline);
      const mine = occupancy.park({ for: waitsFor, ...(first === undefined ? {} : { due: first }) });
      unpark = mine;
      return mine;
    };

    const offStop = branch.onStop((reason) => end({ kind: 'stopped', reason }, cancelledBecause(reason)));
    if (timeoutMs !== undefined) arm(timeoutMs);
    called(tried, controller.signal, park).then(
      (output) => finish({ kind: 'done', output: output ?? null }),
      (thrown: unknown) => finish({ kind: 'failed', error: toRuntimeError(thrown) }),
    );
  });
}

function called(tried: Try, signal: AbortSignal, park: Parameters<Try['run']>[1]): Promise<Json> {
  try {
    return tried.run(signal, park);
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function ignored(): void {
  // what is ending, or must not be left in doubt, does not park
}
