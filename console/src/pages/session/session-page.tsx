import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { isSpeaker } from '../../../../telltale/src/log/fold-life.ts';
import { useKept } from '../../data/use-kept.ts';
import { useNow } from '../../data/use-now.ts';
import { formatDuration } from '../../format/format-duration.ts';
import { Page } from '../../shell/page.tsx';
import { Button } from '../../ui/button.tsx';
import { Cost } from '../../ui/cost.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { Loading } from '../../ui/loading.tsx';
import { StateChip } from '../../ui/state-chip.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { Tokens } from '../../ui/tokens.tsx';
import { QuarantineNotice, useQuarantine } from '../log/quarantine.tsx';
import { StoppedNotice } from '../log/stopped-notice.tsx';
import { useFollowedModel } from '../log/use-followed-model.ts';
import { WaitingReviews } from '../reviews/waiting-reviews.tsx';
import { SessionActions } from './header/session-actions.tsx';
import { createSessionModel } from './model/session-model.ts';
import { SessionBody } from './session-body.tsx';
import { SessionViewContext, useSessionView } from './session-view.ts';
import { TimeBar } from './time/time-bar.tsx';
import { TOUR, TOUR_KEY } from './tour.ts';
import { SILENT_AFTER_MS, useMoment } from './use-moment.ts';
import './session-page.css';
import './waterfall/waterfall.css';

/** How many characters of the input are in the window's title. */
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

const useSessionModel = (id: string) => useFollowedModel(createSessionModel, id);

/** The session that this one was forked from or called by. */
function SessionOrigin() {
  const { model } = useSessionView();
  const first = model.events[0];
  if (first?.type !== 'session.started') return null;
  const { forked, parent } = first;
  const from = forked?.session ?? parent?.session;
  if (from === undefined) return null;
  const at = forked === undefined ? '' : `?at=${forked.seq}`;
  return (
    <>
      {' · '}
      <Link href={`/sessions/${encodeURIComponent(from)}${at}`} className="text-accent hover:underline">
        {forked !== undefined
          ? `forked at event ${forked.seq}`
          : parent !== undefined && isSpeaker(parent)
            ? 'part of a conversation'
            : `called as ${parent?.action ?? 'a sub-agent'}`}
      </Link>
    </>
  );
}

/** In the tour's session: what to look at, step by step. */
function TourGuide() {
  const { id } = useSessionView();
  const [session, setSession] = useKept<string | undefined>(TOUR_KEY, undefined);
  const [at, setAt] = useState(0);
  const stop = TOUR[at];
  if (session !== id || stop === undefined) return null;
  const isLast = at === TOUR.length - 1;
  return (
    <section
      aria-label="Tour"
      className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-2 rounded-lg border border-accent/40 bg-accent-soft px-3 py-2"
    >
      <p aria-live="polite" className="min-w-0 flex-1 basis-64">
        <span className="mr-2 text-small text-ink-soft tabular-nums">
          {at + 1} of {TOUR.length}
        </span>
        <strong className="font-semibold">{stop.title}.</strong> {stop.text}
      </p>
      <div className="flex items-center gap-2">
        {at === 0 ? null : (
          <Button size="small" onClick={() => setAt(at - 1)}>
            Back
          </Button>
        )}
        <Button size="small" kind="primary" onClick={() => (isLast ? setSession(undefined) : setAt(at + 1))}>
          {isLast ? 'Finish' : 'Next'}
        </Button>
        {isLast ? null : (
          <IconButton icon="close" label="Close the tour" onClick={() => setSession(undefined)} />
        )}
      </div>
    </section>
  );
}

/** Warns that newer events may be missing. */
function LogNotice() {
  const { id, model } = useSessionView();
  return (
    <>
      <QuarantineNotice kind="session" id={id} seq={model.events.length} onReleased={model.open} />
      <FollowingNotice />
    </>
  );
}

function FollowingNotice() {
  const { model } = useSessionView();
  const status = model.status();
  if (status.kind === 'loading')
    return (
      <p role="status" className="flex shrink-0 items-center gap-2 text-small text-ink-soft">
        <Icon name="spinner" size={13} className="animate-turn text-accent" />
        Reading the log: {model.events.length.toLocaleString('en')} events so far…
      </p>
    );
  if (status.kind !== 'lost' && status.kind !== 'failed') return <Silence />;
  return <StoppedNotice kind="session" message={status.error.message} onRetry={model.open} />;
}

/** Warns that a running session has been silent for a long time, so its process may be gone. */
function Silence() {
  const { model } = useSessionView();
  const now = useNow();
  const state = model.stateAt(model.events.length);
  if (state.status !== 'running' || now - state.at < SILENT_AFTER_MS) return null;
  return (
    <p role="status" className="flex shrink-0 items-center gap-2 text-small text-ink-soft">
      <Icon name="clock" size={14} className="text-wait" />
      No events from this session for {formatDuration(now - state.at)}. If its process is gone, resume it.
    </p>
  );
}

/** The state of the session at the shown moment, in one line. */
function SessionFigures() {
  const { id, model, moment, isLive } = useSessionView();
  const state = model.stateAt(moment.seq);
  const {
    status,
    totals,
    turn,
    startedAt,
    downMs,
    maxTurns,
    model: modelName,
    balance,
    metadata,
    thread,
  } = state;
  const { quarantine } = useQuarantine('session', id, model.events.length);
  const worked = Math.max(0, moment.at - startedAt - downMs);
  return (
    <dl className="flex min-w-0 flex-wrap items-center gap-x-4 gap-y-1 text-small text-ink-soft">
      <Figure label="Status">
        <StatusBadge status={isLive && quarantine !== undefined ? 'quarantined' : status} />
      </Figure>
      {model.history.states.map((field) => (
        <Figure key={field} label={field}>
          <StateChip field={field} value={metadata[field] ?? null} />
        </Figure>
      ))}
      <Figure label="Turn" seen>
        {turn}
        {maxTurns === undefined ? '' : ` of ${maxTurns}`}
      </Figure>
      <Figure label="Tokens" seen>
        <Tokens input={totals.input} output={totals.output} estimated={totals.estimated} />
      </Figure>
      <Figure label="Cost" seen>
        <Cost usd={totals.cost_usd} />
      </Figure>
      <Figure label="Worked" seen>
        <span title={downMs > 0 ? `plus ${formatDuration(downMs)} without work` : undefined}>
          {formatDuration(worked)}
        </span>
      </Figure>
      {thread === undefined ? null : (
        <Figure label="Speaking" seen>
          <Link
            href={`/sessions/${encodeURIComponent(thread.session)}`}
            className="text-accent hover:underline"
          >
            {thread.speaker}
          </Link>
        </Figure>
      )}
      {balance === undefined ? null : (
        <Figure label="Budget" seen>
          {balance.toLocaleString('en')} left
        </Figure>
      )}
      <Figure label="Model" seen>
        <span className="font-mono">{modelName}</span>
      </Figure>
    </dl>
  );
}

interface FigureProps {
  readonly label: string;
  /** Whether the label is visible, or only for screen readers. */
  readonly seen?: boolean;
  readonly children: ReactNode;
}

const Figure = ({ label, seen = false, children }: FigureProps) => (
  <div className="flex items-center gap-1.5">
    <dt className={seen ? 'text-ink-faint' : 'sr-only'}>{label}</dt>
    <dd className="flex items-center font-medium text-ink tabular-nums">{children}</dd>
  </div>
);
