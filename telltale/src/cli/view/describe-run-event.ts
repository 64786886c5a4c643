import { identityText } from '../../lib/ids.ts';
import { type RunEvent, type RunEventOf, shownWait } from '../../log/run-event.ts';
import { printable } from '../../manifest/diagnostic.ts';
import { customText, errorText, filesText, hookText, invokeText, remedy } from './describe-event.ts';
import { costText, countText, spanText, timeText, tokensText } from './figures.ts';
import { spelledOutLine as asked, harmlessLine as safe } from './harmless.ts';
import { brief, briefFields, clip } from './text-width.ts';

/**
 * The content of a run's event, without its type, on one line of at most `columns`. It contains no control sequences.
 */
export function describeRunEvent(event: RunEvent, columns: number): string {
  const room = Math.max(1, columns);
  return clip(printable(runContentOf(event, room)).trim(), room);
}

function runContentOf(event: RunEvent, room: number): string {
  switch (event.type) {
    case 'workflow.started':
      return `${safe(event.workflow)} for ${safe(event.manifest.agent)}${originText(event)} ${briefFields(event.input, room)}`;
    case 'workflow.resumed':
      return `by ${who(event.by)}${filesText(event.changed_files)}`;
    case 'workflow.changed':
      return `the workflow, accepted by ${who(event.by)}${decidedText(event.decided)}`;
    case 'workflow.waiting':
      return `for ${safe(waitingText(event))}`;
    case 'workflow.completed':
      return brief(event.output, room);
    case 'workflow.failed':
      return `${event.step === undefined ? '' : `${safe(event.step)}: `}${errorText(event.error)}${remedy(event.error)}`;
    case 'workflow.cancelling':
    case 'workflow.cancelled':
      return `by ${who(event.by)}: ${safe(event.reason)}`;
    case 'state.entered':
      return `${event.from === undefined ? '' : `${safe(event.from)} → `}${safe(event.state)}${event.visit > 1 ? `, visit ${event.visit}` : ''} (${who(event.by)})`;
    case 'step.started':
      return `${safe(event.step)}${event.attempt > 1 ? `, try ${event.attempt}` : ''} ${briefFields(event.input ?? {}, room)}`;
    case 'step.completed':
      return `${safe(event.step)} in ${spanText(event.ms)}${triesText(event.attempts)}: ${brief(event.output, room)}`;
    case 'step.retrying':
      return `${safe(event.step)}, try ${event.attempt} in ${spanText(event.due - event.at)}: ${errorText(event.error)}`;
    case 'step.failed':
      return `${safe(event.step)} after ${spanText(event.ms)}${triesText(event.attempts)}: ${errorText(event.error)}${remedy(event.error)}${POLICIES[event.policy]}`;
    case 'step.skipped':
      return `${safe(event.step)}: ${SKIPPED[event.reason]}${event.because === undefined ? '' : ` (${safe(event.because)})`}`;
    case 'step.cancelled':
      return `${safe(event.step)}: ${safe(event.reason)}`;
    case 'step.interrupted':
      return `${safe(event.step)} in try ${event.attempt}`;
    case 'step.compensating':
      return safe(event.step);
    case 'step.compensated':
      return `${safe(event.step)}${event.error === undefined ? '' : `, but that failed: ${errorText(event.error)}`}`;
    case 'step.claimed':
      return `${safe(event.step)} by ${who(event.by)} after ${countText(event.turns, 'turn')}: ${brief(event.notes, room)}`;
    case 'step.stuck':
      return `${safe(event.step)}: ${brief(event.why, room)}`;
    case 'client.asked':
      return `${safe(event.step)}${event.again === undefined ? '' : `, again (${who(event.again.by)}: ${brief(event.again.text, room)})`}`;
    case 'client.claimed':
      return `${safe(event.step)} by ${who(event.by)}: ${brief(event.notes, room)}`;
    case 'verify':
      return verifyText(event, room);
    case 'plan.made':
      return `${safe(event.step)}${event.nth > 1 ? ', again' : ''}: ${event.problem === undefined ? brief(event.plan.map(({ action }) => action).join(', '), room) : safe(event.problem)}`;
    case 'plan.acting':
      return `${safe(event.step)} ${event.nth}.${event.index + 1}`;
    case 'plan.acted':
      return `${safe(event.step)} ${event.nth}.${event.index + 1} in ${spanText(event.ms)}: ${event.error === undefined ? brief(event.output ?? null, room) : errorText(event.error)}${event.held ? '' : ', which was not expected'}`;
    case 'if.decided':
      return `${safe(event.at_step)} ${safe(event.test)} is ${event.held}${event.problem === undefined ? '' : `: ${safe(event.problem)}`}`;
    case 'invoke':
      return invokeText(event, room);
    case 'hook.ran':
      return hookText(event);
    case 'component.injected':
      return `${safe(event.component)} into ${safe(event.step)}, ${event.because === 'always' ? 'always' : `because of ${safe(event.because)}`}`;
    case 'timer.set':
      return `${safe(event.id)}, due ${timeText(event.due)}`;
    case 'timer.fired':
      return safe(event.id);
    case 'signal.received':
      return `${safe(event.event)} from ${who(event.from)} ${briefFields(event.data, room)}`;
    case 'variable.changed':
      return `$${safe(event.name)} ${brief(event.from, room)} → ${brief(event.to, room)} (by ${who(event.by)})`;
    case 'review.requested':
      return `${safe(event.review)}: ${safe(event.step)} asks${event.assignee === undefined ? '' : ` ${safe(event.assignee)}`}: ${brief(asked(event.prompt), room)} [${event.options.map(asked).join(' / ')}]`;
    case 'review.resolved':
      return `${safe(event.review)} ${event.answer} (${safe(event.choice)}) by ${who(event.by)}${event.note === undefined ? '' : `: ${brief(event.note, room)}`}`;
    case 'review.voided':
      return `${safe(event.review)} is no longer valid: ${brief(event.changed.join('; '), room)}`;
    case 'budget.charged':
      return `${event.amount} for the ${safe(event.what)}, ${event.balance} left`;
    case 'model.used': {
      const tokens = tokensText(event.usage);
      return `${safe(event.step)}: ${safe(event.model)}, ${tokens}${event.cost_usd > 0 ? `, ${costText(event.cost_usd)}` : ''}`;
    }
    case 'audit':
      return `${who(event.who)}: ${safe(event.what)}`;
    case 'custom':
      return customText(event, room);
  }
}

/** `implement: pass (high) by model fast: reasoning`. */
function verifyText(event: RunEventOf<'verify'>, room: number): string {
  const { step, assessment, confidence, by, reasoning, fallback, cost_usd = 0 } = event;
  const sure = confidence === undefined ? '' : ` (${confidence})`;
  const price = cost_usd > 0 ? `, ${costText(cost_usd)}` : '';
  const why = fallback === undefined ? brief(reasoning, room) : `${safe(fallback)}`;
  return `${safe(step)}: ${assessment}${sure} by ${safe(by)}${price}: ${why}`;
}

const POLICIES: Readonly<Record<RunEventOf<'step.failed'>['policy'], string>> = {
  fail: '',
  continue: '; the run goes on',
  goto: '; the run goes on elsewhere',
};

export const SKIPPED: Readonly<Record<RunEventOf<'step.skipped'>['reason'], string>> = {
  if: 'its "if" is false',
  condition: 'its "condition" is false',
  needs: 'a step that it needs did not succeed',
  race: 'another branch was first',
  goto: 'a jump skipped it',
  changed: 'it is new, and the run is already past it',
};

const triesText = (attempts: number): string => (attempts > 1 ? ` and ${attempts} tries` : '');

function originText({ origin }: RunEventOf<'workflow.started'>): string {
  if (origin.parent !== undefined) return `, for ${safe(origin.parent.step)} of ${safe(origin.parent.run)}`;
  if (origin.trigger !== undefined)
    return `, triggered by ${safe(origin.trigger.id)}${origin.session === undefined ? '' : ` of ${safe(origin.session.id)}`}`;
  if (origin.session === undefined) return '';
  if (origin.leads === true) return `, leading ${safe(origin.session.id)}`;
  return `, for ${origin.action === undefined ? '' : `${safe(origin.action)} of `}${safe(origin.session.id)}`;
}

export function waitingText(waiting: { readonly for: string; readonly due?: number }): string {
  const { for: what, due } = shownWait(waiting);
  return due === undefined ? what : `${what}, until ${timeText(due)}`;
}

/** `: charge skip, ship rerun`. */
function decidedText(decided: RunEventOf<'workflow.changed'>['decided']): string {
  const all = Object.entries(decided).map(([step, { as }]) => `${safe(step)} ${as}`);
  return all.length === 0 ? '' : `: ${all.join(', ')}`;
}

const who = (by: string): string => safe(identityText(by));
