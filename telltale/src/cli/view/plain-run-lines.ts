import type { RunEvent, RunEventType } from '../../events/run-event.ts';
import type { Debug } from './debug.ts';
import { describeRunEvent } from './describe-run-event.ts';
import { figuresOf } from './invoke-figures.ts';
import { isToFix } from './root-cause.ts';

const LABEL = 18;
/** Columns of a result or a value: what is longer is in the log. */
const SAID = 200;
/** Of an error that somebody has to fix: all of it. */
const WHOLE = 4_000;

/** What says nothing that another line does not say. */
const SILENT: ReadonlySet<RunEventType> = new Set([
  'timer.set',
  'timer.fired',
  'budget.charged',
  'model.used',
  'workflow.completed',
  'workflow.failed',
  'workflow.cancelled',
]);

/** The line of an event of a run in a pipe: its type, then what it says; undefined where it has none. `of` names the run, where the lines of others are around it. */
export function plainRunLine(event: RunEvent, of?: string, debug: Debug = {}): string | undefined {
  if (SILENT.has(event.type)) return undefined;
  const isWhole = event.type === 'step.failed' && isToFix(event.error);
  const said = describeRunEvent(event, isWhole ? WHOLE : SAID) + figuresOf(event, debug);
  const text =
    of !== undefined ? `${of} ${said}` : event.type === 'workflow.started' ? `${event.run} ${said}` : said;
  return `${`${event.type} `.padEnd(LABEL)}${text}`.trimEnd();
}
