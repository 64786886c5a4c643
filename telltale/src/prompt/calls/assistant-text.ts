import { FRAME_BREAK, FRAME_MARK, readFrameHead, withoutMarks } from '../../kernel/call-frames.ts';

/**
 * A turn as it stands in the conversation: a call that broke off is text in it, since no provider takes half a call;
 * and so is the rest of one, with which the turn began after a restart.
 */
export function assistantText(output: string, resumed: boolean): string {
  if (!output.includes(FRAME_MARK)) return output;
  let shown = '';
  let at = 0;
  if (resumed) {
    const mark = output.indexOf(FRAME_MARK);
    const end = output.indexOf(FRAME_BREAK, mark);
    shown = output.slice(0, mark);
    at = end === -1 ? output.length : end + 1;
  }
  for (let mark = output.indexOf(FRAME_MARK, at); mark !== -1; ) {
    const headEnd = output.indexOf(FRAME_BREAK, mark);
    const inputEnd = headEnd === -1 ? -1 : output.indexOf(FRAME_MARK, headEnd);
    const end = inputEnd === -1 ? -1 : output.indexOf(FRAME_BREAK, inputEnd);
    if (end === -1) return shown + output.slice(at, mark) + brokenCall(output, mark, headEnd);
    shown += output.slice(at, end + 1);
    at = end + 1;
    mark = output.indexOf(FRAME_MARK, at);
  }
  return shown + output.slice(at);
}

function brokenCall(output: string, mark: number, headEnd: number): string {
  if (headEnd === -1) return '[a call that broke off]';
  const { name } = readFrameHead(output.slice(mark + 1, headEnd));
  return `[a call of ${name} that broke off: ${withoutMarks(output.slice(headEnd + 1))}]`;
}
