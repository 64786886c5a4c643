import type { ParserEvent } from '../../protocol/intents.ts';
import { truncated } from '../../protocol/tags/faults.ts';

const TRUNCATED = truncated('response').message;
/** The first part of a closing tag, or all of it but its end. */
const HALF_CLOSED = /<(?:\/(?:r(?:e(?:s(?:p(?:o(?:n(?:s(?:e\s*)?)?)?)?)?)?)?)?)?$/;

/**
 * What a turn ended with that the model ended by itself. A response that is all that was left open there counts as closed,
 * unless it ends in a fence or in the midst of its closing tag: the model only forgot the tag. `said` is the end of what
 * it wrote, `ending` what the parser makes of its end.
 */
export function closedAtStop(ending: readonly ParserEvent[], said: string): readonly ParserEvent[] {
  const isOther = (event: ParserEvent) =>
    event.type === 'fault'
      ? event.message !== TRUNCATED
      : event.type !== 'text' && event.type !== 'delta' && !isCutResponse(event);
  const isOpen = ending.some(isCutResponse) && !ending.some(isOther) && !HALF_CLOSED.test(said);
  if (!isOpen) return ending;
  return ending.flatMap((event): readonly ParserEvent[] => {
    if (event.type === 'fault') return [];
    return [isCutResponse(event) ? { type: 'close', tag: 'response' } : event];
  });
}

const isCutResponse = (event: ParserEvent): boolean =>
  event.type === 'close' && event.tag === 'response' && event.truncated === true;
