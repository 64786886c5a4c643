import { frameOf, openFrame, withoutMarks } from '../../kernel/call-frames.ts';
import type { ScriptCall, ScriptPart, ScriptSaying } from './script.ts';

/** What a turn says as one text, in turn `number` of a session, which default ids hold. Pure. */
export const turnText = (turn: ScriptSaying, number: number): string =>
  turn.say === undefined ? turn.text : textOfParts(turn.say, number);

export function textOfParts(parts: readonly ScriptPart[], number: number): string {
  let calls = 0;
  return parts
    .map((part) =>
      typeof part === 'string' ? withoutMarks(part) : textOfCall(part, `call_${number}_${++calls}`),
    )
    .join('');
}

function textOfCall({ call: name, id: given, input: written = {}, meta, cut }: ScriptCall, numbered: string) {
  const id = given ?? numbered;
  const input = typeof written === 'string' ? written : JSON.stringify(written);
  if (cut === true) return openFrame(id, name) + withoutMarks(input);
  return frameOf({ id, name, input, ...(meta === undefined ? {} : { meta }) });
}
