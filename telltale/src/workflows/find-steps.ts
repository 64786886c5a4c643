import { stepName } from '../events/reduce-run.ts';
import type { RunState, StepState } from '../events/run-state.ts';

/**
 * Finds, for a step that asks, the time that another one of this name was begun: in its own round, else in the rounds
 * around that, else wherever it was begun last. `asker` is an address; without it, the latest of all.
 */
export type FindStep = (name: string, asker?: string) => StepState | undefined;

/** Each address is looked at once, however often is asked: a run over ten thousand items asks in each of them. */
export function createStepFinder({ steps }: Pick<RunState, 'steps'>): FindStep {
  const addresses = steps.keys();
  let known = 0;
  /** By the rounds around it and its name: the latest address. */
  const latest = new Map<string, string>();

  const catchUp = () => {
    // Never asked for more than is there: a map's iterator that has come to its end does not go on.
    for (; known < steps.size; known++) {
      const address: string = addresses.next().value ?? '';
      const name = stepName(address);
      for (const rounds of roundsAround(address)) latest.set(keyOf(rounds, name), address);
    }
  };

  return (name, asker = '') => {
    catchUp();
    for (const rounds of roundsAround(asker)) {
      const address = latest.get(keyOf(rounds, name));
      if (address !== undefined) return steps.get(address);
    }
    return undefined;
  };
}

const keyOf = (rounds: string, name: string) => `${rounds}\n${name}`;

/** `a[1]/b[2]/c` stands in `a[1]/b[2]`, in `a[1]` and in the run. */
function* roundsAround(address: string): Generator<string> {
  for (let end = address.lastIndexOf('/'); end > 0; end = address.lastIndexOf('/', end - 1))
    yield address.slice(0, end);
  yield '';
}
