import { isClosed } from './graph.ts';
import type { Works } from './run.ts';
import { waitForEnds } from './run.ts';

/** Calls back once all of these have ended; at once if they have. The returned function forgets it. */
export function whenEnded(works: Works, ids: readonly string[], then: () => void): () => void {
  const open = stillOpen(works, ids);
  const forget = open.length === 0 ? atOnce(then) : waitForEnds(works, open, open.length, then);
  works.goOn();
  return forget;
}

/** The same for the first of these. */
export function whenOneEnded(works: Works, ids: readonly string[], then: () => void): () => void {
  const open = stillOpen(works, ids);
  const forget = open.length < ids.length ? atOnce(then) : waitForEnds(works, open, 1, then);
  works.goOn();
  return forget;
}

function stillOpen(works: Works, ids: readonly string[]): readonly string[] {
  const { graph, runs } = works;
  const isOpen = (id: string) => {
    const gate = graph.gates?.get(id);
    return runs.has(id) || (gate !== undefined && !isClosed(gate));
  };
  return ids.every(isOpen) ? ids : ids.filter(isOpen);
}

function atOnce(then: () => void): () => void {
  then();
  return nothing;
}

function nothing(): void {
  // there is nothing to forget
}
