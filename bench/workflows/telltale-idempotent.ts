import { contest } from './telltale.ts';

/** Steps that may be done again after a crash: their starts are on disk in order, and not waited for. */
export const contestant = contest(true);
