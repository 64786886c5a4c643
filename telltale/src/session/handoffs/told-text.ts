import type { SessionEvent } from '../../events/event.ts';
import { speakerOf } from '../../events/fold-handoffs.ts';
import type { Carried } from '../../events/handoff-event.ts';
import type { SessionState } from '../../events/state.ts';
import { cutText } from '../../prompt/cut-text.ts';

/** Characters of a conversation that the next agent is told; of more, the beginning and the end. */
const MAX_TOLD = 32_768;

export interface Line {
  readonly who: string;
  readonly text: string;
}

/** Who said what, of events on the log of a conversation. */
export function linesOf(events: readonly SessionEvent[], agent: string): readonly Line[] {
  return events.flatMap((event): readonly Line[] => {
    switch (event.type) {
      case 'session.started':
        return [{ who: PERSON, text: event.input }];
      case 'message.received':
        return event.from === 'user' || event.from === 'steer' ? [{ who: PERSON, text: event.text }] : [];
      case 'response':
        return event.final ? [{ who: agent, text: event.text }] : [];
      case 'child.response': {
        const speaker = speakerOf(event.action);
        return speaker !== undefined && event.event.final ? [{ who: speaker, text: event.event.text }] : [];
      }
      default:
        return [];
    }
  });
}

const PERSON = 'user';

/** Where on the log of the conversation begins what this agent has not heard: behind what it said last. */
export function unheardFrom({ thread, agent }: SessionState, to: string): number {
  if (thread === undefined) return 1;
  const left = to === agent ? thread.leftAt : thread.members.find((each) => each.agent === to)?.leftAt;
  return (left ?? 0) + 1;
}

export interface Passing {
  readonly from: string;
  readonly reason: string | undefined;
  readonly carry: Carried;
  readonly summary: string | undefined;
  /** Whether the agent has spoken in this conversation before. */
  readonly isBack: boolean;
}

/** What the next agent is told. */
export function toldText(lines: readonly Line[], { from, reason, carry, summary, isBack }: Passing): string {
  const because = reason === undefined ? '' : ` Why: ${reason}`;
  const opening = `You have the conversation${isBack ? ' again' : ''}: ${from} handed it to you.${because}`;
  const last = lines.findLast(({ who }) => who === PERSON);
  const lastWords = last === undefined ? '' : `The user said last:\n${last.text}`;
  if (carry === 'summary' && summary !== undefined)
    return joined([opening, `What was said${isBack ? ' meanwhile' : ''}, in short:\n${summary}`, lastWords]);
  if (carry === 'none') return joined([opening, lastWords]);
  const shown = shownLines(lines);
  return joined([opening, shown === '' ? '' : `What was said${isBack ? ' meanwhile' : ''}:\n${shown}`]);
}

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n\n');

export function shownLines(lines: readonly Line[]): string {
  const { head, tail, omitted } = cutText(
    lines.map(({ who, text }) => `${who}: ${text}`).join('\n'),
    MAX_TOLD,
  );
  return omitted === 0 ? head : `${head}\n… ${omitted} characters left out …\n${tail}`;
}
