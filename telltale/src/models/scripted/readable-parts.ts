import { FRAME_BREAK, FRAME_MARK, readFrameHead, readTurnParts } from '../../kernel/call-frames.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { ScriptCall, ScriptPart } from './script.ts';
import { textOfParts } from './turn-text.ts';

/**
 * The parts that a script can show of a turn with native calls: those that say exactly this text again. Undefined
 * where it has no calls, or where no parts do (a head that is cut off). Pure.
 */
export function readableParts(turn: string): readonly ScriptPart[] | undefined {
  if (!turn.includes(FRAME_MARK)) return undefined;
  const parts: ScriptPart[] = [];
  for (const part of readTurnParts(turn)) {
    if (part.type === 'text') parts.push(part.text);
    else if (part.type === 'broken') parts.push(cutCall(turn));
    else {
      const { id, name, input, meta } = part;
      parts.push({
        call: name,
        id,
        input: compactMap(input) ?? input,
        ...(meta === undefined ? {} : { meta }),
      });
    }
  }
  return textOfParts(parts, 1) === turn ? parts : undefined;
}

/** Whether a script may hold these parts: what `scriptParts` refuses is said as one text. */
export function isSayable(parts: readonly ScriptPart[]): boolean {
  const calls = parts.filter((part) => typeof part !== 'string');
  const ids = calls.flatMap(({ id }) => (id === undefined ? [] : [id]));
  return (
    parts.length > 0 &&
    new Set(ids).size === ids.length &&
    calls.every(
      ({ call, id, meta, cut }) =>
        call !== '' && id !== '' && (meta === undefined || (isMap(meta) && cut !== true)),
    ) &&
    parts.slice(0, -1).every((part) => typeof part === 'string' || part.cut !== true)
  );
}

/** The call that a turn ends in; wrong, and so not the same text again, where more than its input is cut off. */
function cutCall(turn: string): ScriptCall {
  const mark = turn.lastIndexOf(FRAME_MARK);
  const headEnd = turn.indexOf(FRAME_BREAK, mark);
  const { id, name } = readFrameHead(turn.slice(mark + 1, headEnd));
  return { call: name, id, input: turn.slice(headEnd + 1), cut: true };
}

/** An input that is an object and is written as `JSON.stringify` writes it. */
function compactMap(input: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(input);
    return isMap(value) && JSON.stringify(value) === input ? (value as JsonObject) : undefined;
  } catch {
    return undefined; // a model may write anything
  }
}
