import type { RunEvent, RunEventOf } from '../../../../../telltale/src/log/run-event.ts';

/** A decision by an artifact, a test or a hook. */
export type Decision = RunEventOf<'invoke'> | RunEventOf<'if.decided'> | RunEventOf<'hook.ran'>;

/** The decisions of a run, in order. A test that only repeats an artifact's answer is shown together with it. */
export function decisionsOf(events: readonly RunEvent[], upTo: number): readonly Decision[] {
  const decisions: Decision[] = [];
  for (const event of events) {
    if (event.seq > upTo) break;
    const last = decisions.at(-1);
    if (event.type === 'invoke' || event.type === 'hook.ran') decisions.push(event);
    else if (event.type === 'if.decided' && !repeats(event, last)) decisions.push(event);
  }
  return decisions;
}

const repeats = (test: RunEventOf<'if.decided'>, last: Decision | undefined): boolean =>
  last?.type === 'invoke' &&
  test.test === `${last.artifact}.${last.method}` &&
  test.held === last.result &&
  test.seq === last.seq + 1;
