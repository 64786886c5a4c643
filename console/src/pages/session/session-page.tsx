import { useCallback, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { Page } from '../../shell/page.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { WaitingReviews } from '../reviews/waiting-reviews.tsx';
import { SessionActions } from './header/session-actions.tsx';
import { SessionFigures } from './header/session-figures.tsx';
import { SessionOrigin } from './header/session-origin.tsx';
import { LogNotice } from './log-notice.tsx';
import { SessionBody } from './session-body.tsx';
import { SessionViewContext } from './session-view.ts';
import { TimeBar } from './time/time-bar.tsx';
import { TourGuide } from './tour-guide.tsx';
import { useMoment } from './use-moment.ts';
import { useSessionModel } from './use-session-model.ts';
import './session-page.css';
import './waterfall/waterfall.css';

/** Characters of the input in the window's title. */
const MAX_TITLE = 60;

/** One session: the conversation, the waterfall, and its state at any event. */
export function SessionPage({ id }: { readonly id: string }) {
  const { model, version } = useSessionModel(id);
  const { moment, isLive, seek } = useMoment(model);
  const [selected, setSelected] = useState<number>();
  const select = useCallback((seq: number | undefined) => setSelected(seq), []);
  const view = useMemo(
    () => ({ id, model, version, moment, isLive, seek, selected, select }),
    [id, model, version, moment, isLive, seek, selected, select],
  );
  const { agent, input, status } = model.stateAt(model.events.length);
  const isThere = model.events.length > 0;
  const arrival = model.status();
  return (
    <SessionViewContext value={view}>
      <Page
        fill
        title={isThere ? `${agent}: ${input.slice(0, MAX_TITLE)}` : 'Session'}
        crumbs={
          <>
            <Link href="/sessions" className="hover:underline">
              Sessions
            </Link>{' '}
            / <span className="font-mono">{id}</span>
            <SessionOrigin />
          </>
        }
        heading={
          isThere ? (
            <>
              {agent} <span className="font-normal text-ink-soft">{input}</span>
            </>
          ) : (
            'Session'
          )
        }
        actions={isThere ? <SessionActions status={status} /> : undefined}
      >
        {isThere ? (
          <>
            <SessionFigures />
            <TourGuide />
            <LogNotice />
            <WaitingReviews stream={id} className="lg:max-h-[40%] lg:overflow-y-auto" />
            <TimeBar />
            <SessionBody />
          </>
        ) : arrival.kind === 'failed' ? (
          <ErrorState
            title="The session could not be read."
            list={{ href: '/sessions', label: 'See all sessions' }}
            error={arrival.error}
            onRetry={model.open}
          />
        ) : (
          <Loading label="Reading the session" rows={8} />
        )}
      </Page>
    </SessionViewContext>
  );
}
