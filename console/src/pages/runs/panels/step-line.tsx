import { useState } from 'react';
import type { StepStatus } from '../../../../../telltale/src/events/run-state.ts';
import { plural } from '../../../format/format-number.ts';
import { cx } from '../../../ui/class-names.ts';
import { Duration } from '../../../ui/duration.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { MARK_LOOKS } from '../../workflows/graph/mark-looks.ts';
import { STEP_MARKS } from '../../workflows/graph/run-position.ts';
import type { StepStory } from '../model/step-stories.ts';
import { useRunView } from '../run-view.ts';
import { StepDetails } from './step-details.tsx';

const WORDS: Readonly<Partial<Record<StepStatus, string>>> = {
  retrying: 'Waits for its next try',
  interrupted: 'Cut off',
  compensated: 'Undone',
};

/** Levels that are indented. */
const MAX_INDENT = 4;

/** One time that a step was begun; opened, it says everything about it. */
export function StepLine({ story, isOpen: opened }: { readonly story: StepStory; readonly isOpen: boolean }) {
  const { isLive, state } = useRunView();
  const [isOpen, setOpen] = useState(opened);
  const { step, depth, endedAt, notes } = story;
  const isWaiting = step.status === 'running' && state.status === 'waiting';
  const look = MARK_LOOKS[isWaiting ? 'waiting' : STEP_MARKS[step.status]];
  const goesOn = isLive && endedAt === undefined && state.status === 'running';
  return (
    <li>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        style={{ paddingLeft: 12 + Math.min(depth, MAX_INDENT) * 14 }}
        className="flex w-full items-center gap-2 py-2 pr-3 text-left -outline-offset-2 hover:bg-hover"
      >
        <Icon name={isOpen ? 'chevronDown' : 'chevronRight'} size={12} className="text-ink-faint" />
        <span title={look.label} className={cx('flex shrink-0', look.ink)}>
          <Icon
            name={look.icon}
            size={14}
            className={step.status === 'running' && goesOn ? 'animate-turn' : ''}
          />
          <span className="sr-only">{WORDS[step.status] ?? look.label}</span>
        </span>
        <span className="shrink-0 font-medium">{step.step}</span>
        <span className="min-w-0 flex-1 truncate text-small text-ink-soft">
          {step.error?.message ?? notes ?? step.reason ?? WORDS[step.status] ?? ''}
        </span>
        {step.attempts > 1 ? (
          <span className="shrink-0 text-small text-wait">{plural(step.attempts, 'try', 'tries')}</span>
        ) : null}
        {step.status === 'skipped' || (endedAt === undefined && !goesOn) ? null : (
          <span className="shrink-0 text-small text-ink-faint">
            <Duration from={step.startedAt} to={goesOn ? undefined : endedAt} />
          </span>
        )}
      </button>
      {isOpen ? <StepDetails story={story} /> : null}
    </li>
  );
}
