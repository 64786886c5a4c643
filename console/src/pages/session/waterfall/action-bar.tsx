import { formatDuration } from '../../../format/format-duration.ts';
import { cx } from '../../../ui/class-names.ts';
import { type Moment, type Phase, phasesAt, statusAt } from '../model/action-phases.ts';
import type { TimeAxis } from '../model/time-axis.ts';
import type { ActionRow } from '../model/waterfall-rows.ts';
import { EndMark } from './end-mark.tsx';

export interface ActionBarProps {
  readonly row: ActionRow;
  readonly axis: TimeAxis;
  readonly moment: Moment;
  readonly actionOf: (id: string) => ActionRow | undefined;
}

const WAITS: Readonly<Record<Exclude<Phase['kind'], 'run'>, string>> = {
  dependency: 'wf-wait wf-wait-dependency',
  queue: 'wf-wait wf-wait-queue',
  review: 'wf-wait-review',
  retry: 'wf-wait wf-wait-retry',
};
const RUNS = {
  completed: 'wf-done',
  compensated: 'wf-undone',
  failed: 'wf-failed',
  running: 'wf-running',
  waiting: 'wf-running',
  skipped: 'wf-off',
  cancelled: 'wf-off',
  interrupted: 'wf-off',
} as const;

/** An action from its declaration to its end: thin lines for waits, a bar for each attempt. */
export function ActionBar({ row, axis, moment, actionOf }: ActionBarProps) {
  const phases = phasesAt(row, moment, actionOf);
  const status = statusAt(row, moment);
  const from = axis.x(row.at);
  const until = axis.x(phases.at(-1)?.to ?? row.at);
  const ran = phases.reduce((sum, { kind, from: a, to }) => (kind === 'run' ? sum + to - a : sum), 0);
  return (
    <>
      <span className="absolute top-[7px] h-3 w-px bg-line-strong" style={{ left: from }} />
      {phases.map((phase) => {
        const left = axis.x(phase.from);
        const width = axis.x(phase.to) - left;
        const isRun = phase.kind === 'run';
        const seq = isRun ? row.attempts.find(({ at }) => at === phase.from)?.seq : row.seq;
        const look =
          phase.kind === 'run' ? (phase.failed === true ? RUNS.failed : RUNS[status]) : WAITS[phase.kind];
        return (
          <span
            key={`${phase.kind} ${phase.from}`}
            data-seq={seq}
            className={cx('absolute', isRun ? 'top-[7px] h-3 rounded-[3px]' : 'top-[7px] h-3', look)}
            style={{ left, width: isRun ? Math.max(3, width) : width }}
          />
        );
      })}
      {row.childMarks.map(({ seq, at, what }) =>
        seq > moment.seq ? null : (
          <span
            key={seq}
            className={cx(
              'absolute w-0.5 bg-surface',
              what === 'turn' ? 'top-[7px] h-3' : 'top-[10px] h-1.5',
            )}
            style={{ left: axis.x(at) - 1 }}
          />
        ),
      )}
      <EndMark
        status={status}
        left={Math.max(until, from + 3)}
        seq={row.end?.seq ?? row.seq}
        text={ran > 0 ? formatDuration(ran) : ''}
      />
    </>
  );
}
