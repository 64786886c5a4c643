import { type ReactNode, useEffect, useId, useState } from 'react';
import { Link } from 'wouter';
import { identityText } from '../../../../telltale/src/lib/ids.ts';
import { isTurn } from '../../../../telltale/src/log/run-event.ts';
import { useLoaded } from '../../data/use-loaded.ts';
import { plural } from '../../format/format-number.ts';
import { formatClock } from '../../format/format-time.ts';
import { Button } from '../../ui/button.tsx';
import { cx } from '../../ui/class-names.ts';
import { Cost } from '../../ui/cost.tsx';
import { Duration } from '../../ui/duration.tsx';
import { Icon } from '../../ui/icon.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Tokens } from '../../ui/tokens.tsx';
import { QuarantineNotice, useQuarantine } from '../log/quarantine.tsx';
import { StoppedNotice } from '../log/stopped-notice.tsx';
import { WaitingReviews } from '../reviews/waiting-reviews.tsx';
import { whyStory } from '../session/model/why-story.ts';
import { runPath, sessionPath } from '../workflows/paths.ts';
import { ChangesDialog } from './changes-dialog.tsx';
import { RunGraph } from './run-graph.tsx';
import { RunPanel, type RunPanelId, useRunTabs } from './run-panels.tsx';
import { useRunView } from './run-view.ts';

/** The page below its heading: the graph and the panels, side by side if there is room. */
export function RunBody({ isWide }: { readonly isWide: boolean }) {
  const { id, selected } = useRunView();
  const [tab, setTab] = useState<RunPanelId>(selected === undefined ? 'steps' : 'event');
  const [chosen, setChosen] = useState<string>();
  const tabs = useRunTabs();
  useEffect(() => {
    if (selected !== undefined) setTab('event');
  }, [selected]);
  const active = tabs.some(({ id }) => id === tab) ? tab : 'steps';
  return (
    <>
      <RunFigures />
      <RunWhy />
      <RunNotices />
      <WaitingReviews stream={id} />
      <RunMoment />
      <div className={cx('gap-3', isWide ? 'grid min-h-0 flex-1 grid-cols-2' : 'flex flex-col')}>
        <RunGraph
          chosen={chosen}
          onChoose={(name, isState) => {
            setChosen(name === chosen ? undefined : name);
            setTab(isState ? 'states' : 'steps');
          }}
          className={isWide ? 'min-h-0' : 'h-88'}
        />
        <section
          aria-label="Details"
          className={cx('flex flex-col rounded-lg border border-line bg-surface', isWide && 'min-h-0')}
        >
          <Tabs
            label="Details"
            tabs={tabs}
            active={active}
            onChange={setTab}
            className="min-h-0 flex-1"
            panelClassName={cx(isWide && active !== 'events' && 'overflow-y-auto')}
          >
            <RunPanel id={active} chosen={chosen} onChoose={setChosen} />
          </Tabs>
        </section>
      </div>
    </>
  );
}

/** Why the run started, in a sentence. The whole chain opens on demand. */
function RunWhy() {
  const { id, state, select } = useRunView();
  const chain = useLoaded(`why ${id}`, (client, signal) => client.why(id, 1, { signal }));
  const isOwn = state.origin.session === undefined && state.origin.parent === undefined;
  const byHand = isOwn && state.origin.trigger === undefined;
  const text = byHand
    ? 'A person or a program started it.'
    : chain.kind === 'ready'
      ? whyStory(chain.value).summary
      : chain.kind === 'failed'
        ? `The reason could not be read:  ${chain.error.message}`
        : 'Reading why it started…';
  return (
    <div className="flex flex-wrap items-start gap-x-2 gap-y-1.5 text-body">
      <Icon name="why" className="mt-0.5 text-accent" />
      <p className="line-clamp-4 min-w-0 flex-1 basis-60 break-words" title={text}>
        <span className="font-semibold">Why it ran. </span>
        {text}
      </p>
      <Button size="small" kind="quiet" className="-my-1" onClick={() => select(1)}>
        The whole chain
      </Button>
    </div>
  );
}

/** The time slider, which shows the run at any event. */
function RunMoment() {
  const { model, seq, isLive, seek } = useRunView();
  const id = useId();
  const last = model.events.length;
  if (last < 2) return null;
  const at = model.events[seq - 1]?.at;
  return (
    <div className="flex items-center gap-3 text-small text-ink-faint">
      <label htmlFor={id} className="shrink-0">
        Event <span className="inline-block min-w-12 tabular-nums">{`${seq} of ${last}`}</span>
      </label>
      <input
        id={id}
        type="range"
        min={1}
        max={last}
        value={seq}
        aria-valuetext={`event ${seq} of ${last}${at === undefined ? '' : `, ${formatClock(at)}`}`}
        onChange={(event) => {
          const to = Number(event.target.value);
          seek(to >= last ? undefined : to);
        }}
        className="h-5 min-w-0 flex-1 accent-accent"
      />
      <span className="hidden shrink-0 tabular-nums sm:inline">
        {at === undefined ? '' : formatClock(at, true)}
      </span>
      <Button
        size="small"
        icon="stepForward"
        blocked={isLive ? 'You see the newest event.' : undefined}
        onClick={() => seek(undefined)}
      >
        Now
      </Button>
    </div>
  );
}

/** Problems of the run, or of what is known about it. */
function RunNotices() {
  const { id, model, state } = useRunView();
  const [isAsking, setAsking] = useState(false);
  const following = model.following();
  const { error, status, cancelling } = state;
  return (
    <>
      <QuarantineNotice
        {...{ kind: 'run', id }}
        seq={model.events.length}
        onReleased={model.open}
        onShowChanges={() => setAsking(true)}
      />
      <ChangesDialog open={isAsking} onClose={() => setAsking(false)} onResumed={model.open} />
      {following.kind === 'lost' || following.kind === 'refused' ? (
        <StoppedNotice kind="run" message={following.error.message} onRetry={model.open} />
      ) : null}
      {cancelling !== undefined && (status === 'running' || status === 'waiting') ? (
        <p role="status" className="flex gap-2 rounded-lg bg-off-soft px-3 py-2 text-small">
          <Icon name="stop" size={14} className="mt-0.5 text-off" />
          {identityText(cancelling.by)} is cancelling this run: {cancelling.reason}. Running steps are
          stopped, and undone where possible.
        </p>
      ) : null}
      {error === undefined ? null : status === 'cancelled' ? (
        <p role="status" className="flex gap-2 rounded-lg bg-off-soft px-3 py-2">
          <Icon name="slash" className="mt-0.5 text-off" />
          <span className="min-w-0 break-words">
            <strong className="font-semibold">This run was cancelled.</strong> {error.message}
          </span>
        </p>
      ) : (
        <div role="status" className="flex gap-2.5 rounded-lg border border-fail/40 bg-fail-soft px-3 py-2">
          <Icon name="alert" className="mt-0.5 text-fail" />
          <div className="min-w-0">
            <p className="font-semibold break-words">{error.message}</p>
            {error.hint === undefined ? null : <p className="break-words text-ink-soft">{error.hint}</p>}
            <code className="text-small text-ink-soft">{error.code}</code>
          </div>
        </div>
      )}
    </>
  );
}

/** The state of the run at the shown moment, in one line. */
function RunFigures() {
  const { id, model, state, isLive } = useRunView();
  const { status, startedAt, at, usage, origin, waiting, balance } = state;
  const { quarantine } = useQuarantine('run', id, model.events.length);
  const goesOn = isLive && status === 'running';
  const done = [...state.steps.values()].filter((step) => step.status === 'completed').length;
  return (
    <dl className="flex min-w-0 flex-wrap items-center gap-x-4 gap-y-1 text-small text-ink-soft">
      <Figure label="Status" silent>
        <StatusBadge status={isLive && quarantine !== undefined ? 'quarantined' : status} />
      </Figure>
      {waiting === undefined ? null : (
        <Figure label="Waiting for">
          {waiting.for.startsWith('review ') ? 'an answer' : waiting.for}
          {waiting.due === undefined || isTurn(waiting.for) ? null : (
            <>
              {', until '}
              <RelativeTime at={waiting.due} />
            </>
          )}
        </Figure>
      )}
      {state.state === undefined ? null : <Figure label="State">{state.state}</Figure>}
      <Figure label="Steps done">{done}</Figure>
      <Figure label="Took">
        <Duration from={startedAt} to={goesOn ? undefined : at} />
      </Figure>
      <Figure label="Began">
        <RelativeTime at={startedAt} />
      </Figure>
      {usage.input + usage.output === 0 ? null : (
        <Figure label="Tokens">
          <Tokens input={usage.input} output={usage.output} />
        </Figure>
      )}
      {usage.cost_usd === 0 ? null : (
        <Figure label="Cost">
          <Cost usd={usage.cost_usd} />
        </Figure>
      )}
      {balance === undefined ? null : <Figure label="Budget">{balance.toLocaleString('en')} left</Figure>}
      {state.invokes === 0 ? null : <Figure label="Asked">{plural(state.invokes, 'decision')}</Figure>}
      {origin.session === undefined ? null : (
        <Figure label={origin.leads === true ? 'Leads' : 'Of'}>
          <Link href={sessionPath(origin.session.id)} className="text-accent hover:underline">
            its session
          </Link>
        </Figure>
      )}
      {origin.parent === undefined ? null : (
        <Figure label="Called by">
          <Link href={runPath(origin.parent.run)} className="text-accent hover:underline">
            step {origin.parent.step} of a run
          </Link>
        </Figure>
      )}
    </dl>
  );
}

interface FigureProps {
  readonly label: string;
  /** The label is only for screen readers. */
  readonly silent?: boolean;
  readonly children: ReactNode;
}

const Figure = ({ label, silent = false, children }: FigureProps) => (
  <div className="flex items-center gap-1.5">
    <dt className={silent ? 'sr-only' : 'text-ink-faint'}>{label}</dt>
    <dd className="font-medium text-ink tabular-nums">{children}</dd>
  </div>
);
