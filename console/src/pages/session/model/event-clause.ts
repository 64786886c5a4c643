import type { ErrorJson } from '../../../../../telltale/src/lib/errors.ts';
import { identityText } from '../../../../../telltale/src/lib/ids.ts';
import { visibleText } from '../../../../../telltale/src/lib/text.ts';
import type { EventOf, SessionEvent } from '../../../../../telltale/src/log/event.ts';
import { speakerOf } from '../../../../../telltale/src/log/fold-handoffs.ts';
import { TURN_CUT_SHORT } from '../../../../../telltale/src/log/fold-turns.ts';
import { faultForPeople, stuckForPeople } from '../../../../../telltale/src/log/for-people.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { brief, quoted } from './brief-value.ts';
import { isInterruption } from './note-turn.ts';

/** What happened, as a sentence. */
export const describeEvent = (event: SessionEvent): string =>
  eventClause(event).replace(/^./u, (first) => first.toUpperCase());

/** What happened, as a clause: `metadata status changed to CODING`. */
export function eventClause(event: SessionEvent): string {
  switch (event.type) {
    case 'session.started':
      return startClause(event);
    case 'session.completed':
      return `the session completed with ${quoted(brief(event.result))}`;
    case 'session.failed':
      return `the session failed: ${errorClause(event.error)}`;
    case 'session.stalled':
      return `the session stalled: ${errorClause(event.error)}`;
    case 'session.cancelled':
      return `the session was cancelled by ${identityText(event.by)}: ${event.reason}`;
    case 'session.resumed':
      return SELF.has(event.by)
        ? 'the session continued'
        : `the session was resumed by ${identityText(event.by)}`;
    case 'session.waiting':
      return waitClause(event.for);
    case 'turn.started':
      return `turn ${event.turn} began`;
    case 'turn.completed':
      return `turn ${event.turn} ended after ${formatDuration(event.ms)}`;
    case 'turn.failed': {
      const next =
        (event.retry_in ?? 0) === 0 ? '' : `, tried again in ${formatDuration(event.retry_in ?? 0)}`;
      if (event.error.code === TURN_CUT_SHORT)
        return `turn ${event.turn} was interrupted, and the next turn continues it`;
      const how = isInterruption(event.error) ? 'was interrupted' : 'failed';
      return `turn ${event.turn} ${how}: ${errorClause(event.error)}${next}`;
    }
    case 'model.output':
      return `the model wrote ${quoted(event.text)}`;
    case 'thought':
      return `the model thought ${quoted(event.text)}`;
    case 'text':
      return `the model wrote outside of its tags ${quoted(event.text)}`;
    case 'response':
      return `the model ${event.final ? 'answered' : 'said meanwhile'} ${quoted(event.text)}`;
    case 'message.received':
      return messageClause(event);
    case 'audit':
      return WAITS_BELOW.test(event.what)
        ? `${identityText(event.who)} is waiting for a person’s answer`
        : `${identityText(event.who)}: ${event.what}`;
    case 'review.requested':
      return visibleText(
        `approval was requested for ${event.target} (action ${event.action}): ${brief(event.what)}`,
      );
    case 'review.resolved':
      return event.answer === 'withdrawn'
        ? `the question was withdrawn by ${identityText(event.by)}${noteOf(event.note)}`
        : `${identityText(event.by)} ${event.answer} it${noteOf(event.note)}`;
    case 'handoff':
      return `${event.from} handed the conversation to ${event.to}${noteOf(event.reason)}`;
    case 'handoff.requested':
      return `the agent asked to hand the conversation to ${event.to}${noteOf(event.reason)}`;
    case 'review.voided':
      return `the approval is no longer valid: ${event.changed.join(', ')}`;
    case 'action.declared':
      return `the model asked for ${event.action.name} (action ${event.action.id})`;
    case 'action.started':
      return `action ${event.id} began${event.attempt > 1 ? ` try ${event.attempt}` : ''}`;
    case 'action.completed':
      return `action ${event.id} completed in ${formatDuration(event.ms)}`;
    case 'action.failed':
      return `action ${event.id} failed: ${errorClause(event.error)}`;
    case 'action.skipped':
      return `action ${event.id} was skipped: ${event.reason}${event.because === undefined ? '' : ` (${event.because})`}`;
    case 'action.retrying':
      return `action ${event.id} failed and will be tried again in ${formatDuration(event.delay_ms)}`;
    case 'action.cancelled':
      return `action ${event.id} was cancelled: ${event.reason}`;
    case 'action.interrupted':
      return `action ${event.id} was cut off when the process ended`;
    case 'action.compensated':
      return `action ${event.id} was undone by ${event.by}`;
    case 'metadata.changed':
      return `metadata ${changesClause(event.changes)}${event.by === 'model' ? '' : ` (by ${event.by})`}`;
    case 'metadata.rejected':
      return `metadata was refused: ${event.errors.map(({ field, message }) => `${field}: ${message}`).join('; ')}`;
    case 'variable.changed':
      return `variable ${event.name} changed to ${brief(event.to)} (by ${identityText(event.by)})`;
    case 'fault':
      return faultForPeople(event).replace(/^The/, 'the');
    case 'if.decided':
      return `the test ${quoted(event.test)} ${event.held ? 'held' : 'did not hold'}${noteOf(event.problem)}`;
    case 'budget.charged':
      return `the ${event.what} cost ${event.amount} of the budget; ${event.balance} left`;
    case 'prompt.compacted':
      return `the turns up to ${event.through} were summarized`;
    case 'timer.set':
      return `the timer ${event.id} was set`;
    case 'timer.fired':
      return `the timer ${event.id} fired`;
    case 'trigger.fired':
      return `workflow ${event.workflow} was triggered`;
    case 'trigger.suppressed':
      return `workflow ${event.workflow} was not triggered: ${event.message}`;
    case 'workflow.completed':
      return `workflow ${event.workflow} completed`;
    case 'workflow.failed':
      return `workflow ${event.workflow} failed: ${errorClause(event.error)}`;
    case 'workflow.cancelled':
      return `workflow ${event.workflow} was cancelled: ${event.reason}`;
    case 'workflow.asked':
      return `workflow ${event.workflow} asked for ${event.what}`;
    case 'invoke':
      return `artifact ${event.artifact}.${event.method} decided ${event.where}: ${brief(event.result)}${event.fallback === undefined ? '' : ` (fallback: ${event.fallback.message})`}`;
    case 'hook.ran':
      return `the hook ${event.by} (${event.hook}) ${event.outcome}${noteOf(event.reason)}`;
    case 'artifact.written':
      return `artifact ${event.artifact} got version ${event.version} from ${event.by}`;
    case 'task.given':
      return `the agent got a step: ${quoted(event.prompt)}`;
    case 'task.claimed':
      return `the agent said that the step was done: ${quoted(event.notes)}`;
    case 'task.stuck':
      return `the agent is stuck: ${brief(stuckForPeople(event.why))}`;
    case 'task.turn':
      return 'the verifier checked the turn';
    case 'task.answered':
      return `${identityText(event.by)} answered${event.text === undefined ? ': go on' : ` ${quoted(event.text)}`}`;
    case 'task.over':
      return 'the step was over';
    case 'feed.added':
      return `feed ${event.id} was added by ${event.by}`;
    case 'feed.removed':
      return `feed ${event.id} was removed by ${event.by}`;
    case 'feed.updated':
      return `feed ${event.id} loaded ${event.tokens.toLocaleString('en')} tokens${event.cached === true ? ' from the cache' : ''}`;
    case 'feed.failed':
      return `feed ${event.id} failed: ${errorClause(event.error)}`;
    case 'custom':
      return `${event.name}: ${brief(event.data)}`;
    default:
      return childClause(event, eventClause);
  }
}

/** Who resumes a session on their own. */
const SELF: ReadonlySet<string> = new Set(['runtime', 'parent']);

/** What a session logs when its sub-agent waits. The text names ids and a command, for the command line. */
const WAITS_BELOW = / waits for a person \(review /;

function waitClause(what: string): string {
  if (what === 'message') return 'the session is waiting for the next message';
  if (/(^|: )review /.test(what)) return 'the session paused until a person answers';
  if (what.startsWith('agent ')) return 'the session paused until its sub-agent continues';
  return `the session paused until ${what} comes`;
}

const noteOf = (note: string | undefined): string => (note === undefined ? '' : `: ${brief(note)}`);

const errorClause = ({ message }: ErrorJson): string => message.replace(/\.$/, '');

function changesClause(changes: EventOf<'metadata.changed'>['changes']): string {
  const all = Object.entries(changes);
  if (all.length === 0) return 'stays as it was';
  const told = all.slice(0, 3).map(([field, { to }]) => `${field} changed to ${brief(to, 40)}`);
  return `${told.join(', ')}${all.length > told.length ? ` and ${all.length - told.length} more` : ''}`;
}

type ChildEvent = Extract<SessionEvent, { readonly type: `child.${string}` }>;

/** An event of a sub-agent on its parent's log. */
function childClause(event: ChildEvent, clauseOf: (event: SessionEvent) => string): string {
  if (event.type === 'child.usage') return `${event.action} used ${tokensOf(event)}`;
  const { type, event: said, child, action, ...head } = event;
  const own = { ...head, ...said, type: type.slice('child.'.length), ...child } as SessionEvent;
  const speaker = speakerOf(action);
  return `${speaker ?? `in sub-agent ${action}`}: ${clauseOf(own)}`;
}

const tokensOf = ({ usage }: EventOf<'child.usage'>): string =>
  `${((usage?.input ?? 0) + (usage?.output ?? 0)).toLocaleString('en')} tokens`;

const MESSAGE: Readonly<Record<EventOf<'message.received'>['from'], string>> = {
  user: 'you said',
  steer: 'somebody steered:',
  parent: 'the calling agent said',
  workflow: 'a workflow said',
  runtime: 'the runtime told the model',
  verifier: 'the verifier said',
};

/** How a session started. */
function startClause({ input, parent, forked, agent }: EventOf<'session.started'>): string {
  if (forked !== undefined)
    return `the session was forked from ${forked.session} at event ${forked.seq}: ${quoted(input)}`;
  const who = parent === undefined ? 'your message' : `the task of ${parent.agents.at(-1) ?? parent.session}`;
  return `${agent} began with ${who} ${quoted(input)}`;
}

const messageClause = ({ from, text }: EventOf<'message.received'>): string =>
  `${MESSAGE[from]} ${quoted(text)}`;
