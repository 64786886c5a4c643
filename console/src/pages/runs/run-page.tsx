import { useCallback, useEffect, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { useHashQuery } from '../../shell/hash-location.ts';
import { Page } from '../../shell/page.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { useMedia } from '../../ui/use-media.ts';
import { workflowPath } from '../workflows/paths.ts';
import { RunActions } from './run-actions.tsx';
import { RunBody } from './run-body.tsx';
import { type RunView, RunViewContext } from './run-view.ts';
import { useRunModel } from './use-run-model.ts';

const askedEvent = (query: string): number | undefined => {
  const seq = Number(new URLSearchParams(query).get('event') ?? Number.NaN);
  return Number.isSafeInteger(seq) && seq > 0 ? seq : undefined;
};

/** One run of a workflow: where it is, why it started, and what was decided. */
export function RunPage({ id }: { readonly id: string }) {
  const { model, version } = useRunModel(id);
  const query = useHashQuery();
  const [at, setAt] = useState<number>();
  const [selected, setSelected] = useState(() => askedEvent(query));
  useEffect(() => setSelected(askedEvent(query)), [query]);
  const isWide = useMedia('(min-width: 64rem)');
  const select = useCallback((seq: number | undefined) => setSelected(seq), []);
  const seek = useCallback((seq: number | undefined) => setAt(seq), []);
  const last = model.events.length;
  const isLive = at === undefined || at >= last;
  const seq = isLive ? last : at;
  const state = model.stateAt(seq);
  const view = useMemo(
    (): RunView => ({ id, model, version, state, seq, isLive, seek, selected, select }),
    [id, model, version, state, seq, isLive, seek, selected, select],
  );
  const following = model.following();
  const { workflow, manifest } = state;
  const isThere = last > 0;
  return (
    <RunViewContext value={view}>
      <Page
        fill={isWide && isThere}
        title={isThere ? `Run of ${workflow}` : 'Run'}
        crumbs={
          <>
            <Link href="/workflows" className="hover:underline">
              Workflows
            </Link>
            {isThere ? (
              <>
                {' / '}
                <Link href={workflowPath(manifest.agent, workflow)} className="hover:underline">
                  {manifest.agent} / {workflow}
                </Link>
              </>
            ) : null}
            <span className="hidden sm:inline">
              {' / '}
              <span className="font-mono break-all">{id}</span>
            </span>
          </>
        }
        actions={isThere ? <RunActions /> : undefined}
      >
        {isThere ? (
          <RunBody isWide={isWide} />
        ) : following.kind === 'refused' ? (
          <ErrorState
            title="The run could not be read."
            list={{ href: '/workflows', label: 'See all workflows' }}
            error={following.error}
            onRetry={model.open}
          />
        ) : (
          <Loading label="Reading the run" rows={8} />
        )}
      </Page>
    </RunViewContext>
  );
}
