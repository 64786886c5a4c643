import { Link } from 'wouter';
import { identityText } from '../../../../../telltale/src/lib/ids.ts';
import { visibleText } from '../../../../../telltale/src/lib/text.ts';
import type { RunEvent, RunEventOf } from '../../../../../telltale/src/log/run-event.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { formatClock } from '../../../format/format-time.ts';
import { cx } from '../../../ui/class-names.ts';
import { Cost } from '../../../ui/cost.tsx';
import { Icon } from '../../../ui/icon.tsx';
import type { IconName } from '../../../ui/icon-shapes.ts';
import { brief } from '../../session/model/brief-value.ts';
import { runEventClause } from '../../session/model/run-event-clause.ts';
import { LongText } from '../../session/stream/long-text.tsx';
import { sessionPath } from '../../workflows/paths.ts';

const VERDICTS = {
  pass: ['check', 'text-done', 'Passed'],
  retry: ['refresh', 'text-wait', 'Retry'],
  escalate: ['person', 'text-stall', 'Escalated to a person'],
} as const;

const ICONS: Readonly<Partial<Record<RunEvent['type'], IconName>>> = {
  'step.retrying': 'refresh',
  'step.claimed': 'message',
  'step.stuck': 'alert',
  'client.claimed': 'message',
  'review.requested': 'person',
  'review.resolved': 'check',
  'review.voided': 'slash',
  'model.used': 'tokens',
  'component.injected': 'plus',
  'plan.acted': 'bolt',
};

/** Something that happened to a step between its start and its end. */
export function CourseEntry({ event }: { readonly event: RunEvent }) {
  const [icon, ink] =
    event.type === 'verify' ? VERDICTS[event.assessment] : [ICONS[event.type] ?? 'dot', 'text-ink-faint'];
  return (
    <li className="flex gap-2 text-small">
      <Icon name={icon} size={14} className={cx('mt-0.5', ink)} />
      <div className="min-w-0 flex-1 break-words">
        <Told event={event} />
      </div>
      <time className="shrink-0 text-micro leading-4.5 text-ink-faint tabular-nums">
        {formatClock(event.at)}
      </time>
    </li>
  );
}

function Told({ event }: { readonly event: RunEvent }) {
  switch (event.type) {
    case 'verify':
      return (
        <>
          <strong className="font-semibold">{VERDICTS[event.assessment][2]}</strong> by {event.by}
          {event.confidence === undefined ? '' : `, confidence ${event.confidence}`}, in{' '}
          {formatDuration(event.ms)}
          {event.cost_usd === undefined ? null : (
            <>
              {', '}
              <Cost usd={event.cost_usd} />
            </>
          )}
          <LongText markdown text={event.reasoning} className="text-ink-soft" />
          {event.instruction === undefined ? null : <p>Instruction to the agent: {event.instruction}</p>}
          {event.fallback === undefined ? null : (
            <p className="text-wait">Decided by the fallback, not by the verifier: {event.fallback}</p>
          )}
        </>
      );
    case 'step.claimed':
    case 'client.claimed':
      return (
        <>
          <strong className="font-semibold">Reported as done</strong> by{' '}
          {event.type === 'step.claimed' && event.by.startsWith('ses') ? (
            <Link href={sessionPath(event.by)} className="text-accent underline">
              {event.by}
            </Link>
          ) : (
            identityText(event.by)
          )}
          <LongText markdown text={event.notes} className="text-ink-soft" />
          {event.type === 'step.claimed' && event.evidence !== undefined ? (
            <p className="text-ink-faint">Evidence: {event.evidence.join(', ')}</p>
          ) : null}
        </>
      );
    case 'plan.made':
      return <PlanView event={event} />;
    case 'plan.acted':
      return (
        <>
          Action {event.index + 1} of the plan{' '}
          {event.held ? 'did what was expected' : 'did not do what was expected'}, in{' '}
          {formatDuration(event.ms)}
          {event.error === undefined ? null : <p className="text-fail">{event.error.message}</p>}
        </>
      );
    case 'step.retrying':
      return (
        <>
          Failed, then tried again (attempt {event.attempt}):{' '}
          <span className="text-ink-soft">{event.error.message}</span>
        </>
      );
    case 'review.resolved':
      return (
        <>
          {identityText(event.by)} answered <strong className="font-semibold">{event.choice}</strong>
          {event.note === undefined ? '' : `: ${event.note}`}
        </>
      );
    case 'review.requested':
      return (
        <>
          A person was asked:{' '}
          <span className="whitespace-pre-wrap text-ink-soft">{visibleText(event.prompt)}</span>{' '}
          <Link href={`/reviews/${encodeURIComponent(event.review)}`} className="text-accent underline">
            Open the review
          </Link>
        </>
      );
    case 'model.used':
      return (
        <>
          {event.model}: {(event.usage.input + event.usage.output).toLocaleString('en')} tokens,{' '}
          <Cost usd={event.cost_usd} />
        </>
      );
    default: {
      const clause = runEventClause(event);
      return <>{`${clause.charAt(0).toUpperCase()}${clause.slice(1)}`}</>;
    }
  }
}

/** What a model plans to do, in order. */
const PlanView = ({ event }: { readonly event: RunEventOf<'plan.made'> }) => (
  <>
    <strong className="font-semibold">{event.nth > 1 ? `Plan ${event.nth}` : 'A plan'}</strong>
    {event.problem === undefined ? null : (
      <span className="text-fail"> that cannot be executed: {event.problem}</span>
    )}
    <ol className="mt-1 list-decimal pl-5 text-ink-soft">
      {event.plan.map(({ action, parameters, expect }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: actions of a plan are known by their place.
        <li key={at} className="break-words">
          <code className="font-medium text-ink">{action}</code> <code>{brief(parameters, 120)}</code>
          {expect === undefined ? null : <span className="block text-ink-faint">expects {expect}</span>}
        </li>
      ))}
    </ol>
  </>
);
