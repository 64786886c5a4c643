import { contest } from './telltale.ts';

/** Steps that are not to be done twice: each waits until its start is on disk. */
export const contestant = contest(false);
