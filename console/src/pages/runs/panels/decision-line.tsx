import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { RunEventOf } from '../../../../../telltale/src/log/run-event.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { Icon } from '../../../ui/icon.tsx';
import type { IconName } from '../../../ui/icon-shapes.ts';
import { brief } from '../../session/model/brief-value.ts';
import { artifactPath } from '../../workflows/paths.ts';
import type { Decision } from '../model/decisions.ts';
import { useRunView } from '../run-view.ts';

/** One decision: who was asked, the answer, and whether it was the fallback. */
export function DecisionLine({ decision }: { readonly decision: Decision }) {
  switch (decision.type) {
    case 'invoke':
      return <Invoked event={decision} />;
    case 'if.decided':
      return (
        <Line icon={decision.held ? 'check' : 'minus'} event={decision} where={decision.at_step}>
          <code className="break-words">{decision.test}</code>{' '}
          <strong className="font-semibold">{decision.held ? 'held' : 'did not hold'}</strong>
          {decision.problem === undefined ? null : (
            <span className="block text-wait">{decision.problem}</span>
          )}
        </Line>
      );
    case 'hook.ran':
      return (
        <Line icon="bolt" event={decision} where={`hook ${decision.hook}`}>
          {decision.by} <strong className="font-semibold">{decision.outcome}</strong>
          {decision.reason === undefined ? null : (
            <span className="block text-ink-soft">{decision.reason}</span>
          )}
        </Line>
      );
  }
}

function Invoked({ event }: { readonly event: RunEventOf<'invoke'> }) {
  const { artifact, method, args, version, result, fallback, cached, ms, cost, where } = event;
  return (
    <Line icon={fallback === undefined ? 'artifacts' : 'alert'} event={event} where={where}>
      <p className="break-words">
        <Link href={artifactPath(artifact)} className="font-medium text-accent hover:underline">
          {artifact}
        </Link>
        <code>
          .{method}({brief(args, 120).replace(/^\[|\]$/g, '')})
        </code>{' '}
        <span aria-hidden="true">→</span> <strong className="font-semibold">{brief(result, 160)}</strong>
      </p>
      {fallback === undefined ? null : (
        <p className="mt-0.5 rounded bg-wait-soft px-2 py-1">
          <strong className="font-semibold text-wait">The fallback counts ({fallback.reason}).</strong>{' '}
          {fallback.message}
        </p>
      )}
      <p className="text-ink-faint">
        {version === undefined ? 'no version' : `version ${version}`}
        {cached ? ' · said before in this run' : ` · ${formatDuration(ms)}`}
        {cost === 0 ? '' : ` · cost ${cost} of the budget`}
      </p>
    </Line>
  );
}

interface LineProps {
  readonly icon: IconName;
  readonly event: Decision;
  readonly where: string;
  readonly children: ReactNode;
}

function Line({ icon, event, where, children }: LineProps) {
  const { select } = useRunView();
  return (
    <li className="flex gap-2.5 px-3 py-2 text-small">
      <Icon
        name={icon}
        size={14}
        className={icon === 'alert' ? 'mt-0.5 text-wait' : 'mt-0.5 text-ink-faint'}
      />
      <div className="min-w-0 flex-1">
        {children}
        <p className="font-mono text-micro text-ink-faint">{where}</p>
      </div>
      <button
        type="button"
        onClick={() => select(event.seq)}
        className="shrink-0 self-start font-mono text-micro text-accent hover:underline"
      >
        event {event.seq}
      </button>
    </li>
  );
}
