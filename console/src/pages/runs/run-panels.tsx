import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useMemo, useRef, useState } from 'react';
import { formatDuration } from '../../format/format-duration.ts';
import { ordinal } from '../../format/format-number.ts';
import { formatClock } from '../../format/format-time.ts';
import { Button } from '../../ui/button.tsx';
import { cx } from '../../ui/class-names.ts';
import { Duration } from '../../ui/duration.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Icon } from '../../ui/icon.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { EventDetails } from '../log/event-details.tsx';
import { EventRow } from '../log/event-row.tsx';
import { runEventClause } from '../session/model/run-event-clause.ts';
import { decisionsOf } from './model/decisions.ts';
import { stateVisits } from './model/state-visits.ts';
import { DecisionLine } from './panels/decision-line.tsx';
import { Part } from './panels/part.tsx';
import { StepsPanel } from './panels/steps-panel.tsx';
import { useRunView } from './run-view.ts';

export type RunPanelId = 'steps' | 'states' | 'decisions' | 'data' | 'events' | 'event';

export interface RunTab {
  readonly id: RunPanelId;
  readonly label: string;
  readonly count?: number;
}

/** The panels next to the graph. The panel of states exists only if the workflow has any. */
export function useRunTabs(): readonly RunTab[] {
  const { model, state, seq, selected } = useRunView();
  return [
    { id: 'steps', label: 'Steps', count: state.steps.size },
    ...(state.visited.length === 0
      ? []
      : [{ id: 'states' as const, label: 'States', count: state.visited.length }]),
    { id: 'decisions', label: 'Decisions', count: decisionsOf(model.events, seq).length },
    { id: 'data', label: 'Data' },
    { id: 'events', label: 'Events', count: seq },
    { id: 'event', label: selected === undefined ? 'Event' : `Event ${selected}` },
  ];
}

export interface RunPanelProps {
  readonly id: RunPanelId;
  /** The name of the selected step or state. */
  readonly chosen: string | undefined;
  readonly onChoose: (name: string | undefined) => void;
}

export function RunPanel({ id, chosen, onChoose }: RunPanelProps): ReactNode {
  switch (id) {
    case 'steps':
      return <StepsPanel chosen={chosen} onChoose={onChoose} />;
    case 'states':
      return <StatesPanel chosen={chosen} />;
    case 'decisions':
      return <DecisionsPanel />;
    case 'data':
      return <DataPanel />;
    case 'events':
      return <RunEventsPanel />;
    case 'event':
      return <RunEventPanel />;
  }
}

/** One event: what it says, and why it happened. */
function RunEventPanel() {
  const view = useRunView();
  const { model, selected } = view;
  const event = selected === undefined ? undefined : model.events[selected - 1];
  if (event === undefined)
    return (
      <EmptyState icon="dot" title="No event selected.">
        Choose one among the events, the decisions or the states.
      </EmptyState>
    );
  const clause = runEventClause(event);
  const sentence = `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
  return <EventDetails {...{ view, event, sentence }} count={model.events.length} />;
}

const ROW = 28;

/** The log up to the shown moment. */
function RunEventsPanel() {
  const { model, seq, selected, select } = useRunView();
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: seq,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 10,
  });
  return (
    <div ref={scroller} className="h-full max-h-[70vh] min-h-40 overflow-auto lg:max-h-none">
      <ol className="relative min-w-max" aria-label="Events" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const event = model.events[index];
          return event === undefined ? null : (
            <EventRow
              key={event.seq}
              {...{ event, words: runEventClause(event), top: start, height: ROW, select }}
              isSelected={selected === event.seq}
              isNarrow
            />
          );
        })}
      </ol>
    </div>
  );
}

const FIRST = 150;
const STEP = 500;

/** Every decision: by artifacts (with their fallbacks), tests and hooks. */
function DecisionsPanel() {
  const { model, seq, version } = useRunView();
  const [shown, setShown] = useState(FIRST);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that the events, which stay one list, are more.
  const decisions = useMemo(() => decisionsOf(model.events, seq), [model, seq, version]);
  if (decisions.length === 0)
    return (
      <EmptyState icon="artifacts" title="No decisions yet.">
        Conditions, artifacts and hooks decide. Each decision appears here with its result.
      </EmptyState>
    );
  return (
    <>
      <ol aria-label="Decisions" className="divide-y divide-line">
        {decisions.slice(0, shown).map((decision) => (
          <DecisionLine key={decision.seq} decision={decision} />
        ))}
      </ol>
      {decisions.length > shown ? (
        <Button size="small" kind="quiet" className="m-2" onClick={() => setShown(shown + STEP)}>
          {(decisions.length - shown).toLocaleString('en')} more
        </Button>
      ) : null}
    </>
  );
}

/** The path of a state machine. */
function StatesPanel({ chosen }: { readonly chosen: string | undefined }) {
  const { model, seq, isLive, state, select } = useRunView();
  const visits = stateVisits(model.events, seq);
  return (
    <ol aria-label="States" className="divide-y divide-line">
      {visits.map(({ state: name, visit, by, seq: at, from, to }) => (
        <li
          key={at}
          className={cx(
            'flex flex-wrap items-center gap-x-3 gap-y-0.5 px-3 py-2 text-small',
            name === chosen && 'bg-accent-soft',
          )}
        >
          <Icon
            name={to === undefined ? 'arrowRight' : 'check'}
            size={14}
            className={to === undefined ? 'text-accent' : 'text-done'}
          />
          <span className="text-body font-medium">{name}</span>
          {visit > 1 ? <span className="text-ink-faint">for the {ordinal(visit)} time</span> : null}
          <span className="min-w-0 flex-1 truncate text-ink-soft">by {by}</span>
          <span className="text-ink-faint tabular-nums">{formatClock(from)}</span>
          <span className="w-16 text-right text-ink-faint tabular-nums">
            {to !== undefined ? (
              formatDuration(to - from)
            ) : isLive && state.status === 'running' ? (
              <Duration from={from} />
            ) : (
              ''
            )}
          </span>
          <button
            type="button"
            onClick={() => select(at)}
            className="font-mono text-micro text-accent hover:underline"
          >
            event {at}
          </button>
        </li>
      ))}
    </ol>
  );
}

/** The run's input, output and variables. */
function DataPanel() {
  const { state, model } = useRunView();
  const { input, output, variables, signals, reviews, origin } = state;
  return (
    <div className="flex flex-col gap-4 p-3">
      <Part title="Input">
        <JsonView value={input} label="Input" />
      </Part>
      {origin.trigger === undefined ? null : (
        <Part title={`What the trigger ${origin.trigger.id} saw`}>
          <JsonView value={origin.trigger.seen} label="What the trigger saw" />
        </Part>
      )}
      {output === undefined ? null : (
        <Part title="Output">
          <JsonView value={output} label="Output" />
        </Part>
      )}
      <Part title="Variables">
        {variables.size === 0 ? (
          <p className="text-small text-ink-faint">None.</p>
        ) : (
          <JsonView value={Object.fromEntries(variables)} label="Variables" />
        )}
      </Part>
      {signals.length === 0 ? null : (
        <Part title="Signals">
          <ul className="flex flex-col gap-2">
            {signals.map(({ event, data, seq }) => (
              <li key={seq} className="text-small">
                <strong className="font-semibold">{event}</strong>{' '}
                <RelativeTime at={model.events[seq - 1]?.at ?? state.at} className="text-ink-faint" />
                <JsonView value={data} label={`Data of ${event}`} className="mt-1" />
              </li>
            ))}
          </ul>
        </Part>
      )}
      {reviews.length === 0 ? null : (
        <Part title="Reviews">
          <ul className="flex flex-col gap-1.5 text-small">
            {reviews.map(({ review, step, prompt, choice, by, note, voided }) => (
              <li key={review} className="break-words">
                <strong className="font-semibold">{choice ?? 'not answered'}</strong>
                {by === undefined ? '' : ` by ${by}`}, at {step}:{' '}
                <span className="text-ink-soft">{prompt}</span>
                {note === undefined ? null : <span className="block text-ink-soft">“{note}”</span>}
                {voided === undefined ? null : (
                  <span className="block text-wait">No longer valid: {voided.join(', ')}</span>
                )}
              </li>
            ))}
          </ul>
        </Part>
      )}
    </div>
  );
}
