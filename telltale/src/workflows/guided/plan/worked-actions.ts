import type { WorkedAction } from '../task.ts';
import type { DoneAction } from './done-action.ts';
import { shown } from './plan-errors.ts';

const SHOWN_CHARS = 4_000;

/** What was done, as a verifier sees it. */
export const workedActions = (done: readonly DoneAction[]): readonly WorkedAction[] =>
  done.map(({ nth, index, planned, output, held }) => ({
    id: `${nth}.${index}`,
    name: planned.action,
    status: held ? 'ok' : 'unexpected',
    input: shown(planned.parameters, SHOWN_CHARS),
    output: shown(output, SHOWN_CHARS),
  }));
