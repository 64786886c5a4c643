import type { Begin } from './children/lineage.ts';

/** What whoever begins a session asked for. */
export const choiceOf = (begin: Begin) => (begin.kind === 'start' ? begin.start : begin.resume);
