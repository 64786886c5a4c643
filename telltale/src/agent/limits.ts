import { RuntimeError } from '../lib/errors.ts';
import type { SessionState } from '../log/state.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { SessionContext } from './session-context.ts';

/** How soon a session that waits for a person, or undoes what it has done, is looked at again. */
const LOOK_AGAIN_MS = 1_000;

interface Walled extends Pick<SessionContext, 'state' | 'clock' | 'stop'> {
  readonly manifest: Pick<AgentManifest, 'limits'>;
}

/** Fails the session once its time is up. The returned function stops the clock: what is left then counts next time. */
export function armWall(context: Walled): () => void {
  const { wall } = context.manifest.limits;
  return wall === undefined ? nothing : armed(context, wall.ms);
}

function nothing(): void {
  // no clock runs
}

function armed({ state, clock, stop }: Walled, wallMs: number): () => void {
  let disarm = () => {};
  const arm = () => {
    // While all of it waits for a person, time stands still.
    const isWaiting = state.status === 'waiting';
    const left = wallMs - elapsedMs(state, isWaiting ? state.at : clock.now());
    const soonest = isWaiting || state.failing !== undefined ? LOOK_AGAIN_MS : 0;
    disarm = clock.after(Math.max(soonest, left), () => {
      // One that fails already undoes what was done before, which has limits of its own: half of it is worse than none.
      const goesOn = state.status === 'waiting' || state.failing !== undefined;
      if (goesOn || elapsedMs(state, clock.now()) < wallMs) arm();
      else stop.now({ kind: 'fail', error: wallReached(state, wallMs) });
    });
  };
  arm();
  return () => disarm();
}

type Limits = AgentManifest['limits'];

/** Time the session has been worked on, the time it lay idle after a crash left out. */
export const elapsedMs = (state: SessionState, now: number): number =>
  Math.max(0, now - state.startedAt - state.downMs);

/** The limit that a session has reached, so that no further turn may begin. */
export function reachedLimit(state: SessionState, limits: Limits, now: number): RuntimeError | undefined {
  const { totals } = state;
  if (state.balance !== undefined && state.balance <= 0) return budgetSpent(state);
  const turns = state.maxTurns ?? limits.turns;
  if (totals.turns - state.turnsBefore >= turns) return turnsReached(state, turns);
  const spent = spentLimit(state, limits);
  if (spent !== undefined) return spent;
  if (limits.wall !== undefined && elapsedMs(state, now) >= limits.wall.ms)
    return wallReached(state, limits.wall.ms);
  return undefined;
}

/** The limit of what models may be asked for that is reached: none may be asked any more, for a turn or otherwise. */
export function spentLimit(state: SessionState, limits: Limits): RuntimeError | undefined {
  const { totals } = state;
  if (limits.tokens !== undefined && totals.input + totals.output >= limits.tokens)
    return reached(state, 'tokens', `${limits.tokens} tokens (${totals.input + totals.output} used)`);
  if (limits.cost_usd !== undefined && totals.cost_usd >= limits.cost_usd)
    return reached(state, 'cost_usd', `$${limits.cost_usd} ($${totals.cost_usd.toFixed(4)} spent)`);
  return undefined;
}

const turnsReached = ({ id, parent }: SessionState, turns: number) =>
  new RuntimeError(
    'limit_turns',
    `The session has reached its limit of ${turns} ${turns === 1 ? 'turn' : 'turns'}.`,
    {
      hint:
        parent === undefined
          ? `Allow more turns: telltale resume ${id} --max-turns ${turns * 2}`
          : 'Raise "limits.turns" in the manifest of the agent.',
    },
  );

type Limited = Pick<SessionState, 'id' | 'parent'>;

const reached = (state: Limited, limit: string, shown: string) =>
  new RuntimeError(`limit_${limit}`, `The session has reached its limit of ${shown}.`, {
    hint: raise(state, `limits.${limit}`),
  });

const wallReached = (state: Limited, ms: number) => reached(state, 'wall', `${ms / 1000} s`);

const budgetSpent = (state: Limited) =>
  new RuntimeError('limit_budget', 'The balance of the session is used up.', {
    hint: raise(state, 'budget.balance'),
  });

/** A sub-agent's session goes on with the one that called it. */
const raise = ({ id, parent }: Limited, key: string): string =>
  `Raise "${key}" in the manifest, then resume: telltale resume ${parent?.session ?? id} --accept-changes`;
