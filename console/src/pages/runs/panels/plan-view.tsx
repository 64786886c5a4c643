import type { RunEventOf } from '../../../../../telltale/src/events/run-event.ts';
import { brief } from '../../session/model/brief-value.ts';

/** What a model plans to do, in order. */
export const PlanView = ({ event }: { readonly event: RunEventOf<'plan.made'> }) => (
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
