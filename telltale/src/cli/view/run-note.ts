import { YES_OR_NO } from '../../agent/reviews/read-review.ts';
import type { RunEvent, RunEventType } from '../../log/run-event.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import type { Debug } from './describe-event.ts';
import { describeRunEvent } from './describe-run-event.ts';
import { spanText } from './figures.ts';
import { spelledOutLine } from './harmless.ts';
import { answerText } from './note-line.ts';
import { isToFix } from './root-cause.ts';
import { brief, clip } from './text-width.ts';

/** A live view's line for an event of a run that is not about a step. Undefined if there is none. */
export function runNote(
  event: RunEvent,
  columns: number,
  paint: Palette,
  debug: Debug = {},
): string | undefined {
  const figures = figuresOf(event, debug);
  const told = (before: string) =>
    clip(`${before}${describeRunEvent(event, columns - before.length - figures.length)}${figures}`, columns);
  switch (event.type) {
    case 'workflow.started':
      return paint.dim(
        clip(
          `${brief(event.workflow, columns)} · ${brief(event.manifest.agent, columns)} · ${brief(event.run, columns)}`,
          columns,
        ),
      );
    case 'workflow.resumed':
      return paint.dim(told('resumed '));
    case 'workflow.changed':
      return paint.yellow(told('changed '));
    case 'workflow.waiting':
      return paint.yellow(told('waits '));
    case 'workflow.cancelling':
      return paint.yellow(told('cancelling '));
    case 'state.entered':
      return paint.cyan(told('◆ '));
    case 'review.requested': {
      const choices = event.options.map(spelledOutLine).join(' / ');
      const asked = `${spelledOutLine(event.step)}: ${spelledOutLine(event.prompt)} [${choices}]`;
      return paint.yellow(clip(`? waiting for an answer: ${asked}`, columns));
    }
    case 'review.resolved': {
      const answer = YES_OR_NO.includes(event.choice) ? event.answer : `answered "${event.choice}"`;
      return paint.dim(clip(answerText({ ...event, answer: brief(answer, columns) }), columns));
    }
    case 'review.voided':
      return paint.yellow(told('! review '));
    case 'step.claimed':
      return paint.dim(told('▹ '));
    case 'step.stuck':
      return paint.yellow(told('! stuck: '));
    case 'client.asked':
      return paint.yellow(told('? client '));
    case 'client.claimed':
      return paint.dim(told('▹ client '));
    case 'verify':
      return event.assessment === 'pass' ? paint.green(told('⚖ ')) : paint.yellow(told('⚖ '));
    case 'plan.made':
      return event.problem === undefined ? paint.cyan(told('plan ')) : paint.yellow(told('plan '));
    case 'plan.acted':
      return event.held && event.error === undefined ? paint.dim(told('· ')) : paint.yellow(told('· '));
    case 'signal.received':
      return paint.bold(told('» '));
    case 'invoke':
      return event.fallback === undefined ? paint.dim(told('⚖ ')) : paint.yellow(told('⚖ '));
    case 'variable.changed':
    case 'custom':
      return paint.dim(told(''));
    case 'audit':
      return paint.dim(told('noted: '));
    case 'hook.ran':
      return event.outcome === 'passed' ? undefined : paint.dim(told('hook '));
    case 'if.decided':
      return event.problem === undefined ? undefined : paint.yellow(told('! '));
    case 'component.injected':
      return paint.dim(told('component '));
    case 'workflow.completed':
    case 'workflow.failed':
    case 'workflow.cancelled':
    case 'step.started':
    case 'step.completed':
    case 'step.retrying':
    case 'step.failed':
    case 'step.skipped':
    case 'step.cancelled':
    case 'step.interrupted':
    case 'step.compensating':
    case 'step.compensated':
    case 'plan.acting':
    case 'timer.set':
    case 'timer.fired':
    case 'budget.charged':
    case 'model.used':
      return undefined;
  }
}

const LABEL = 18;
/** Columns for a result or a value. The log has longer ones. */
const SAID = 200;
/** Columns for an error that somebody must fix: all of it. */
const WHOLE = 4_000;

/** Types that repeat what another line says. */
const SILENT: ReadonlySet<RunEventType> = new Set([
  'timer.set',
  'timer.fired',
  'budget.charged',
  'model.used',
  'workflow.completed',
  'workflow.failed',
  'workflow.cancelled',
]);

/**
 * The line for a run's event in a pipe: its type, then its content. Undefined if there is none. `of` names the run if
 * lines of other runs surround it.
 */
export function plainRunLine(event: RunEvent, of?: string, debug: Debug = {}): string | undefined {
  if (SILENT.has(event.type)) return undefined;
  const isWhole = event.type === 'step.failed' && isToFix(event.error);
  const said = describeRunEvent(event, isWhole ? WHOLE : SAID) + figuresOf(event, debug);
  const text =
    of !== undefined ? `${of} ${said}` : event.type === 'workflow.started' ? `${event.run} ${said}` : said;
  return `${`${event.type} `.padEnd(LABEL)}${text}`.trimEnd();
}

/** The cost of a decision, with `--debug`: ` [2 ms, cost 0.1]`. */
function figuresOf(event: RunEvent, debug: Debug): string {
  if (debug.invoke !== true || event.type !== 'invoke' || event.cached) return '';
  return ` [${spanText(event.ms)}${event.cost > 0 ? `, cost ${event.cost}` : ''}]`;
}
