import type { CSSProperties } from 'react';
import { cx } from '../../../ui/class-names.ts';
import type { Moment } from '../model/action-phases.ts';
import { factsText, rowFacts } from '../model/row-facts.ts';
import type { TimeAxis } from '../model/time-axis.ts';
import type { Waterfall } from '../model/waterfall.ts';
import type { WaterfallRow as Row, TurnRow } from '../model/waterfall-rows.ts';
import { ActionBar } from './action-bar.tsx';
import { RowLabel } from './row-label.tsx';
import { RunBar } from './run-bar.tsx';
import { TurnBar } from './turn-bar.tsx';

export interface WaterfallRowProps {
  readonly id: string;
  readonly row: Row;
  /** The turn of the row. Its speech is drawn behind all of its rows. */
  readonly turn: TurnRow | undefined;
  readonly index: number;
  readonly count: number;
  readonly axis: TimeAxis;
  readonly moment: Moment;
  readonly waterfall: Waterfall;
  readonly gutter: number;
  readonly isActive: boolean;
  readonly isSelected: boolean;
  readonly style: CSSProperties;
}

export function WaterfallRow(props: WaterfallRowProps) {
  const { id, row, turn, index, count, axis, moment, waterfall, gutter, isActive, isSelected, style } = props;
  const facts = rowFacts(row, { moment, start: waterfall.start, actionOf: waterfall.action });
  return (
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isSelected}
      aria-posinset={index + 1}
      aria-setsize={count}
      data-index={index}
      className={cx(
        'group absolute left-0 flex w-full',
        row.kind === 'turn' && index > 0 && 'border-t border-line',
        isSelected ? 'bg-accent-soft' : 'hover:bg-hover',
        isActive &&
          "after:pointer-events-none after:absolute after:inset-0 after:z-20 after:border-2 after:border-accent after:content-['']",
      )}
      style={style}
    >
      <span className="sr-only">{factsText(facts)}</span>
      <RowLabel row={row} width={gutter} />
      <span aria-hidden="true" className="relative h-full flex-1">
        {turn === undefined ? null : <Speech turn={turn} axis={axis} moment={moment} isBar={row === turn} />}
        {row.kind === 'turn' ? <TurnBar row={row} axis={axis} moment={moment} /> : null}
        {row.kind === 'action' ? (
          <ActionBar row={row} axis={axis} moment={moment} actionOf={waterfall.action} />
        ) : null}
        {row.kind === 'run' ? <RunBar row={row} axis={axis} moment={moment} /> : null}
      </span>
    </div>
  );
}

interface SpeechProps {
  readonly turn: TurnRow;
  readonly axis: TimeAxis;
  readonly moment: Moment;
  readonly isBar: boolean;
}

/** The time in which the model spoke. Whatever started within it did not wait for the end. */
function Speech({ turn, axis, moment, isBar }: SpeechProps) {
  const end = turn.end !== undefined && turn.end.seq <= moment.seq ? turn.end : undefined;
  const left = axis.x(turn.at);
  return (
    <span
      aria-hidden="true"
      className={cx(
        'absolute bottom-0 wf-while',
        isBar ? 'top-[23px]' : 'top-0',
        end !== undefined && 'wf-while-over',
      )}
      style={{ left, width: Math.max(0, axis.x(end?.spokeUntil ?? moment.at) - left) }}
    />
  );
}
