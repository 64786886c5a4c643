import { FRAME_MARK, readTurnParts, type TurnPart } from '../../kernel/call-frames.ts';

/** A turn for somebody who only reads: its calls as text. */
export function plainTurn(output: string): string {
  if (!output.includes(FRAME_MARK)) return output;
  return readTurnParts(output).map(plainPart).join('');
}

function plainPart(part: TurnPart): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'call':
      return `[calls ${part.name}: ${part.input}]\n`;
    case 'broken':
      return `[calls ${part.name}, and breaks off]`;
  }
}
