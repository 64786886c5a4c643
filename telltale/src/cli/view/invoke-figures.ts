import type { RunEvent } from '../../events/run-event.ts';
import type { Debug } from './debug.ts';
import { spanText } from './figures.ts';

/** What a decision took, where somebody wants to know: ` [2 ms, cost 0.1]`. */
export function figuresOf(event: RunEvent, debug: Debug): string {
  if (debug.invoke !== true || event.type !== 'invoke' || event.cached) return '';
  return ` [${spanText(event.ms)}${event.cost > 0 ? `, cost ${event.cost}` : ''}]`;
}
