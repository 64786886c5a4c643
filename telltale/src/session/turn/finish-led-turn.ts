import type { SessionState } from '../../events/state.ts';
import type { SessionContext } from '../context.ts';
import { claimsUnderWay } from '../guide/give-way.ts';
import type { Guide } from '../guide/guide-port.ts';
import { bareText } from './bare-text.ts';
import { DIALECT_WORDS } from './dialect-words.ts';
import type { Heard } from './hearing-state.ts';
import type { Next } from './next.ts';
import { lacksNotes, noTags, remind, tellOnce } from './remind.ts';
import { allEndedOrSpokenTo, isOnlyInBackground, settle, untilNews } from './settle-actions.ts';

/** Only the run that leads a session ends it: a final response does not, and who does nothing is told by the guide. */
export async function finishLedTurn(context: SessionContext, guide: Guide, heard: Heard): Promise<Next> {
  const { stop, scheduler, state } = context;
  const completes = claimsUnderWay(context).length > 0;
  if (completes) await allEndedOrSpokenTo(context);
  else await settle(context);
  const waits = !completes && isOnlyInBackground(context);
  if (waits) await untilNews(context);
  if (stop.reason !== undefined) return { kind: 'stopped' };
  const isToldAlready = lacksNotes(state);
  if (state.task?.open === undefined && !completes && !isToldAlready) {
    if (heard.responses.some(({ inVain }) => inVain))
      tellOnce(context, 'step_open', DIALECT_WORDS[context.manifest.dialect].stepOpen);
    else if (!waits && !holdsCalls(state) && bareText(context, heard) !== undefined)
      tellOnce(context, 'no_tags', noTags(context, heard.text, 'led').message);
  }
  guide.after();
  const isTold = isToldAlready || waits || state.news.faults.some(({ code }) => TELLS.has(code));
  if (state.task?.open === undefined && !isTold) remind(context, scheduler.tracked(), NEXT);
  return { kind: 'turn' };
}

const holdsCalls = ({ news }: SessionState): boolean =>
  news.faults.some(({ code }) => code === 'foreign_call');

/** Faults that say what to do next. */
const TELLS: ReadonlySet<string> = new Set(['no_tags', 'foreign_call']);

const NEXT = 'Go on with the step: act, or complete it.';
