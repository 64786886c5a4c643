import type { SessionEvent } from '../events/event.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { LoadedAgent } from '../session/loaded-agent.ts';
import type { ResumeOptions, RuntimeOptions, SessionResult, StartOptions } from '../session/runtime-types.ts';

/** What is run again and again, and ended each time at another place. */
export interface CrashScenario<Scene extends { readonly agent: LoadedAgent<unknown> }> {
  /** Called before each run: its agent, and whatever else a check wants to look at. */
  setUp(): Scene | Promise<Scene>;
  readonly input: string;
  readonly start?: Omit<StartOptions, 'input' | 'id' | 'signal'>;
  readonly resume?: Omit<ResumeOptions, 'agent' | 'signal'>;
  readonly runtime?: Omit<RuntimeOptions, 'store' | 'crashPoint' | 'signal'>;
}

/** A session that was ended somewhere, taken up again and has come to its end. */
export interface Survivor<Scene> {
  readonly scene: Scene;
  /** Where it was ended, for messages. */
  readonly where: string;
  /** The log as it was left there. */
  readonly left: readonly SessionEvent[];
  readonly events: readonly SessionEvent[];
  readonly result: SessionResult<unknown>;
}

export type CheckSurvivor<Scene> = (survivor: Survivor<Scene>) => void | Promise<void>;

export interface CrashOptions {
  /** How many are run at the same time: 4 by default. */
  readonly sideBySide?: number;
}

const SIDE_BY_SIDE = 4;
const MAX_SHOWN = 5;

/** Runs `survive` for each of `places`, some side by side, and throws once with all that was wrong. */
export async function surviveAll<Place>(
  places: readonly Place[],
  nameOf: (place: Place) => string,
  survive: (place: Place) => Promise<void>,
  { sideBySide = SIDE_BY_SIDE }: CrashOptions,
): Promise<void> {
  const left = [...places];
  const wrong: { readonly where: string; readonly error: unknown }[] = [];
  const work = async () => {
    for (let place = left.shift(); place !== undefined; place = left.shift()) {
      const here = place;
      await survive(here).catch((error: unknown) => wrong.push({ where: nameOf(here), error }));
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, sideBySide) }, work));
  if (wrong.length > 0) throw notSurvived(wrong, places.length);
}

/** Assertions of test frameworks need not be Errors of this realm. */
const messageOf = (thrown: unknown): string =>
  String((thrown as { readonly message?: unknown } | undefined)?.message ?? thrown);

const notSurvived = (
  wrong: readonly { readonly where: string; readonly error: unknown }[],
  places: number,
) => {
  const lines = wrong.slice(0, MAX_SHOWN).map(({ where, error }) => `${where}: ${messageOf(error)}`);
  const more = wrong.length > MAX_SHOWN ? [`… and ${wrong.length - MAX_SHOWN} more`] : [];
  return new RuntimeError(
    'not_survived',
    `Of ${places} places ${wrong.length} were not survived:\n${[...lines, ...more].join('\n')}`,
    { cause: wrong[0]?.error },
  );
};
