import type { CallHead } from '../../protocol/calls/call-parser.ts';
import { createCallDialectParser } from '../../protocol/dialect-parser.ts';
import type { ParserEvent } from '../../protocol/intents.ts';
import type { CallStyle } from './call-style.ts';

/** A call of a turn, and what it meant. */
export interface TurnCall extends CallHead {
  readonly events: readonly ParserEvent[];
}

export interface TurnToRead {
  readonly output: string;
  /** The ids taken before the turn, as they were written; those of its actions are added. */
  readonly ids: Set<string>;
  /** Whether an id of this turn became an action. */
  readonly isAction: (id: string) => boolean;
}

/**
 * Reads a turn once more, to see what each of its calls became: given the ids that were taken before it, its own are
 * given out as they were then.
 */
export function readTurnCalls(
  { output, ids, isAction }: TurnToRead,
  { dialect, names, maxBody, led }: CallStyle,
): readonly TurnCall[] {
  const parser = createCallDialectParser(dialect, { max_body: maxBody, earlier: ids, names, led });
  const calls: TurnCall[] = [];
  let events: ParserEvent[] = [];
  for (let at = 0; at < output.length; ) {
    const { closed } = parser;
    at = parser.advance(output, at);
    events.push(...parser.take());
    if (parser.closed === closed) continue;
    calls.push({ ...parser.call, events: events.filter(({ type }) => type !== 'text') });
    events = [];
  }
  for (const id of parser.given) if (isAction(id)) ids.add(id);
  return calls;
}
