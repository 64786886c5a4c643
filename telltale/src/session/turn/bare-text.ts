import { TURN_BROKEN_OFF } from '../../events/fold-turns.ts';
import type { TurnRecord } from '../../events/turn-record.ts';
import { FRAME_MARK } from '../../kernel/call-frames.ts';
import { NONE } from '../../kernel/grow.ts';
import type { SessionContext } from '../context.ts';
import { isTag } from './act.ts';
import type { Heard } from './hearing-state.ts';
import { createTurnParser } from './turn-parser.ts';

/**
 * The text of a turn without any tag; undefined where it has one, or no text. What the model was asked to go on with,
 * since a restart or its provider broke it off, is one answer with it: half a text must not become a result, nor what
 * is left of a thought.
 */
export function bareText(context: SessionContext, { tagged, text }: Heard): string | undefined {
  if (tagged || !/\S/.test(text)) return undefined;
  const parts = brokenOff(context.state.turns);
  return parts.some((part) => hasTag(context, part)) ? undefined : parts.join('') + text;
}

/** What was said in the turns before the last that it goes on with, the first of them first. */
function brokenOff(turns: readonly TurnRecord[]): readonly string[] {
  let parts: readonly string[] = NONE;
  for (let at = turns.length - 1; at > 0; at--) {
    const broken = turns[at]?.news.broken;
    if (broken === undefined || broken.error.code === TURN_BROKEN_OFF) break;
    parts = [turns[at - 1]?.output ?? '', ...parts];
  }
  return parts;
}

function hasTag(context: SessionContext, part: string): boolean {
  if (context.calls !== undefined) return part.includes(FRAME_MARK);
  const parser = createTurnParser(context, new Set());
  return parser.push(part).some(isTag) || parser.end().some(isTag);
}
