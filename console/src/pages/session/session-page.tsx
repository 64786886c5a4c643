import { useCallback, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { Page } from '../../shell/page.tsx';
import { SessionActions } from './header/session-actions.tsx';
import { SessionOrigin } from './header/session-origin.tsx';
import { SessionArrival } from './session-arrival.tsx';
import { SessionContent } from './session-content.tsx';
import { SessionViewContext } from './session-view.ts';
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
        {isThere ? <SessionContent /> : <SessionArrival />}
      </Page>
    </SessionViewContext>
  );
}
