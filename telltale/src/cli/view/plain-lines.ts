import type { EventType, ObservedEvent } from '../../events/event.ts';
import { speakerOf } from '../../events/fold-handoffs.ts';
import { createActionLog } from './action-log.ts';
import { describeEvent } from './describe-event.ts';
import { harmlessLines } from './harmless.ts';
import { isToFix } from './root-cause.ts';

/** Turns events into lines for a pipe, as they come: the event's type, then what it says. */
export type PlainLines = (event: ObservedEvent) => readonly string[];

/** Of the longest type that is shown often: `metadata.changed`. */
const LABEL = 18;
/** Columns of a result or a value: what is longer is in the log. */
const SAID = 200;
/** Of an error that somebody has to fix: all of it. */
const WHOLE = 4_000;

/** What says nothing that another line does not say. */
const SILENT: ReadonlySet<EventType> = new Set([
  'model.output',
  'action.started',
  'budget.charged',
  'timer.set',
  'timer.fired',
  'child.thought',
  'child.text',
  'child.turn.completed',
  'child.usage',
  'handoff.requested',
  'session.completed',
]);

export function createPlainLines({ invoke = false }: { readonly invoke?: boolean } = {}): PlainLines {
  const actions = createActionLog();
  return (event) => {
    actions.take(event);
    if (!('seq' in event) || SILENT.has(event.type) || (event.type === 'invoke' && !invoke)) return [];
    const label = `${event.type} `.padEnd(LABEL);
    switch (event.type) {
      case 'thought':
      case 'text':
      case 'response':
        return harmlessLines(event.text.trim()).map((line, index) =>
          `${index === 0 ? label : ' '.repeat(LABEL)}${line}`.trimEnd(),
        );
      case 'child.response': {
        const speaker = speakerOf(event.action);
        if (speaker === undefined) break;
        return harmlessLines(`${speaker}: ${event.event.text.trim()}`).map((line, index) =>
          `${index === 0 ? 'response '.padEnd(LABEL) : ' '.repeat(LABEL)}${line}`.trimEnd(),
        );
      }
      case 'session.started':
        return [`${label}${event.session} ${describeEvent(event, SAID)}`];
    }
    const isWhole = event.type === 'action.failed' && isToFix(event.error);
    return [`${label}${describeEvent(event, isWhole ? WHOLE : SAID, actions.nameOf)}`.trimEnd()];
  };
}
