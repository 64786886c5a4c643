import type { AgentInfo } from '../../../../telltale/src/client/api.ts';
import { plural } from '../../format/format-number.ts';
import { formatClock } from '../../format/format-time.ts';
import { Icon } from '../../ui/icon.tsx';
import { healthOf } from './health-of.ts';

/** Above the files where they are not what runs. */
export function AgentNotice({ agent }: { readonly agent: AgentInfo }) {
  const { kind } = healthOf(agent);
  if (kind !== 'old' && kind !== 'broken') return null;
  const errors = agent.problems.filter(({ severity }) => severity === 'error').length;
  return (
    <div role="status" className="flex gap-2.5 rounded-lg border border-wait/40 bg-wait-soft px-3 py-2.5">
      <Icon name={kind === 'old' ? 'history' : 'alert'} className="mt-0.5 text-wait" />
      <p>
        {kind === 'old' ? (
          <>
            <strong className="font-semibold">
              The version of {formatClock(agent.loadedAt)} is in force.
            </strong>{' '}
            The files have changed since, and {plural(errors, 'problem')} keep{errors === 1 ? 's' : ''} them
            from being loaded. Sessions go on and start with the old version.
          </>
        ) : (
          <>
            <strong className="font-semibold">This agent cannot be started.</strong> No version of it could be
            loaded; the files below say why.
          </>
        )}
      </p>
    </div>
  );
}
