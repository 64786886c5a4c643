import type { Engine } from '../../engine/engine.ts';
import type { Workflows } from './run-types.ts';

/** Knows which runs are being made: until they are placed, the engine has not heard of them. */
export interface Beginnings extends Pick<Workflows, 'idle' | 'under'> {
  watch<Given extends { readonly started: { readonly run: string } }, Begun>(
    begin: (given: Given) => Promise<Begun>,
  ): (given: Given) => Promise<Begun>;
}

export function createBeginnings(engine: Pick<Engine, 'idle' | 'busy'>): Beginnings {
  const beginning = new Map<string, Promise<unknown>>();
  return {
    watch: (begin) => async (triggered) => {
      const { run } = triggered.started;
      const begun = begin(triggered);
      beginning.set(run, begun);
      try {
        return await begun;
      } finally {
        beginning.delete(run);
      }
    },
    async idle() {
      do {
        await Promise.allSettled(beginning.values());
        await engine.idle();
      } while (beginning.size > 0);
    },
    under: () => {
      const worked = engine.busy().flatMap(({ kind, stream }) => (kind === 'run' ? [stream] : []));
      return [...new Set([...beginning.keys(), ...worked])];
    },
  };
}
