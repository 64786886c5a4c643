import { identityText } from '../../../../../telltale/src/lib/ids.ts';
import { visibleText } from '../../../../../telltale/src/lib/text.ts';
import type { RunEvent, RunEventOf } from '../../../../../telltale/src/log/run-event.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { brief, quoted } from './brief-value.ts';

/** An event of a workflow run, as a clause. */
export function runEventClause(event: RunEvent): string {
  switch (event.type) {
    case 'workflow.started':
      return `workflow ${event.workflow} began${originOf(event)}`;
    case 'workflow.resumed':
      return `the run was resumed by ${identityText(event.by)}`;
    case 'workflow.changed':
      return `${identityText(event.by)} accepted that the workflow had changed`;
    case 'workflow.waiting':
      return `the run waited for ${event.for}`;
    case 'workflow.cancelling':
      return `${identityText(event.by)} asked the run to end: ${event.reason}`;
    case 'workflow.completed':
      return 'the run completed';
    case 'workflow.failed':
      return `the run failed: ${event.error.message}`;
    case 'workflow.cancelled':
      return `the run was cancelled: ${event.reason}`;
    case 'state.entered':
      return `the run entered the state ${event.state} (by ${event.by})`;
    case 'step.started':
      return `step ${event.step} began${event.attempt > 1 ? ` try ${event.attempt}` : ''}`;
    case 'step.completed':
      return `step ${event.step} completed in ${formatDuration(event.ms)}`;
    case 'step.failed':
      return `step ${event.step} failed: ${event.error.message}`;
    case 'step.skipped':
      return `step ${event.step} was skipped: ${event.reason}`;
    case 'step.cancelled':
      return `step ${event.step} was cancelled: ${event.reason}`;
    case 'step.retrying':
      return `step ${event.step} failed and will be tried again`;
    case 'step.interrupted':
      return `step ${event.step} was cut off when the process ended`;
    case 'step.compensating':
      return `step ${event.step} is being undone`;
    case 'step.compensated':
      return `step ${event.step} was undone`;
    case 'step.claimed':
      return `${identityText(event.by)} said that step ${event.step} was done: ${quoted(event.notes)}`;
    case 'step.stuck':
      return `${event.by} was stuck at step ${event.step}: ${brief(event.why)}`;
    case 'client.asked':
      return `step ${event.step} was sent to the client`;
    case 'client.claimed':
      return `${identityText(event.by)} said that step ${event.step} was done: ${quoted(event.notes)}`;
    case 'verify':
      return `${event.by} judged step ${event.step}: ${event.assessment}, ${quoted(event.reasoning)}`;
    case 'plan.made':
      return `a plan of ${event.plan.length} actions was made for step ${event.step}`;
    case 'plan.acting':
    case 'plan.acted':
      return `action ${event.index + 1} of the plan of step ${event.step} ${event.type === 'plan.acting' ? 'began' : 'ended'}`;
    case 'if.decided':
      return `the test ${quoted(event.test)} ${event.held ? 'held' : 'did not hold'}`;
    case 'invoke':
      return `artifact ${event.artifact}.${event.method} decided ${event.where}: ${brief(event.result)}`;
    case 'hook.ran':
      return `the hook ${event.by} (${event.hook}) ${event.outcome}`;
    case 'component.injected':
      return `component ${event.component} was added to step ${event.step}`;
    case 'timer.set':
      return `the timer ${event.id} was set`;
    case 'timer.fired':
      return `the timer ${event.id} fired`;
    case 'signal.received':
      return `the signal ${event.event} came from ${event.from}`;
    case 'variable.changed':
      return `variable ${event.name} changed to ${brief(event.to)} (by ${identityText(event.by)})`;
    case 'review.requested':
      return visibleText(`a person was asked: ${quoted(event.prompt)}`);
    case 'review.resolved':
      return `${identityText(event.by)} answered ${quoted(event.choice)}`;
    case 'review.voided':
      return 'the approval is no longer valid';
    case 'budget.charged':
      return `an artifact cost ${event.amount} of the budget`;
    case 'model.used':
      return `step ${event.step} used ${event.model}`;
    case 'audit':
      return `${identityText(event.who)}: ${event.what}`;
    case 'custom':
      return `${event.name}: ${brief(event.data)}`;
  }
}

function originOf({ origin }: RunEventOf<'workflow.started'>): string {
  if (origin.parent !== undefined) return ` for step ${origin.parent.step} of ${origin.parent.run}`;
  if (origin.trigger !== undefined) return '';
  return origin.action === undefined ? '' : ` for action ${origin.action}`;
}
