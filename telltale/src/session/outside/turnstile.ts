import type { OutsideTrigger } from '../../triggers/outside-triggers.ts';
import type { OutsideOutcome } from '../runs/run-types.ts';
import { createGate, type Entrant, type GateDeps } from './gate.ts';

/**
 * The pace of one trigger that no session watches over. What waits for a time (`debounce`, `delay`) is in this process
 * only: whoever posts to a hook is told that it only waits, and a schedule keeps its claim until it is heard of. What
 * waits for others to end (`concurrency`) is in the store, and so is when it last fired (`cooldown`).
 */
export interface Turnstile {
  /** `over` of the entrant is called once: also where this rejects, unless the turnstile is closed first. */
  enter(entrant: Entrant): Promise<OutsideOutcome>;
  close(): void;
}

const COOLDOWNS = 'cooldowns';

const WAITING: OutsideOutcome = { kind: 'waiting' };

/** `name`: of the trigger, in the store. */
export function createTurnstile(deps: GateDeps, name: string, pacing: OutsideTrigger['pacing']): Turnstile {
  const { clock, tables } = deps;
  const { debounceMs, cooldownMs, delayMs, concurrency } = pacing;
  const gate = concurrency === undefined ? undefined : createGate(deps, name, concurrency);
  const timers = new Set<() => void>();
  let quiet: { readonly end: () => void; readonly entrant: Entrant } | undefined;

  const later = (ms: number, then: () => void): (() => void) => {
    const cancel = clock.after(ms, () => {
      timers.delete(cancel);
      then();
    });
    timers.add(cancel);
    return () => {
      timers.delete(cancel);
      cancel();
    };
  };
  const start = ({ run, seen, over }: Entrant): OutsideOutcome => {
    deps.start(run, seen).made.then(() => over(), over);
    return { kind: 'started', run };
  };
  const pass = async (entrant: Entrant): Promise<OutsideOutcome> =>
    gate === undefined ? start(entrant) : gate.enter(entrant);
  /** One that has passed before, and whose process died, passes again. */
  const isCool = async (run: string): Promise<boolean> => {
    const is = { table: COOLDOWNS, key: name };
    const first = await tables.exchange(
      [{ ...is, value: undefined }],
      [{ ...is, value: run, ttlMs: cooldownMs ?? 0 }],
    );
    return first || (await tables.get(COOLDOWNS, name)) === run;
  };
  const afterQuiet = async (entrant: Entrant): Promise<OutsideOutcome> => {
    if (cooldownMs !== undefined && cooldownMs > 0 && !(await isCool(entrant.run))) {
      entrant.over();
      return { kind: 'suppressed', reason: 'cooldown' };
    }
    if (delayMs === undefined) return pass(entrant);
    later(delayMs, () => void heard(entrant, pass));
    return WAITING;
  };
  /** Where nobody waits for the outcome any more, `over` has said what was thrown. */
  const heard = (entrant: Entrant, enter: typeof pass): Promise<unknown> =>
    telling(entrant, enter).catch(() => undefined);

  return {
    async enter(entrant) {
      if (debounceMs === undefined) return telling(entrant, afterQuiet);
      quiet?.end();
      quiet?.entrant.over();
      const end = later(debounceMs, () => {
        quiet = undefined;
        void heard(entrant, afterQuiet);
      });
      quiet = { end, entrant };
      return WAITING;
    },
    close() {
      for (const cancel of timers) cancel();
      timers.clear();
      gate?.close();
    },
  };
}

async function telling(
  entrant: Entrant,
  enter: (entrant: Entrant) => Promise<OutsideOutcome>,
): Promise<OutsideOutcome> {
  try {
    return await enter(entrant);
  } catch (thrown) {
    entrant.over(thrown);
    throw thrown;
  }
}
