import { useState } from 'react';
import type { StepStatus } from '../../../../../telltale/src/log/run-state.ts';
import { plural } from '../../../format/format-number.ts';
import { formatClock } from '../../../format/format-time.ts';
import { Button } from '../../../ui/button.tsx';
import { cx } from '../../../ui/class-names.ts';
import { Duration } from '../../../ui/duration.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { JsonView } from '../../../ui/json-view.tsx';
import { LongText } from '../../session/stream/long-text.tsx';
import { MARK_LOOKS } from '../../workflows/graph/mark-looks.ts';
import { STEP_MARKS } from '../../workflows/graph/run-position.ts';
import type { StepStory } from '../model/step-stories.ts';
import { useRunView } from '../run-view.ts';
import { CourseEntry } from './course-entry.tsx';
import { Part } from './part.tsx';

const WORDS: Readonly<Partial<Record<StepStatus, string>>> = {
  retrying: 'Waits for its next try',
  interrupted: 'Cut off',
  compensated: 'Undone',
};

/** How many levels are indented. */
const MAX_INDENT = 4;

/** One execution of a step. When opened, it shows everything about it. */
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

/** The input and output of a step, and what happened in between. */
function StepDetails({ story }: { readonly story: StepStory }) {
  const { select } = useRunView();
  const { step, notes, course, seq, endedAt } = story;
  return (
    <div className="flex flex-col gap-3 border-l-2 border-line px-4 pt-1 pb-4 text-body">
      <p className="flex flex-wrap items-center gap-x-3 text-small text-ink-faint">
        <span>
          Started {formatClock(step.startedAt, true)}
          {endedAt === undefined ? '' : `, ended ${formatClock(endedAt, true)}`}
        </span>
        {step.policy === 'continue' ? <span>Its failure does not end the run.</span> : null}
        {step.policy === 'goto' ? <span>Its failure led to another step.</span> : null}
        <Button size="small" kind="quiet" icon="why" onClick={() => select(seq)}>
          Why
        </Button>
      </p>
      {step.error === undefined ? null : (
        <div className="rounded-md bg-fail-soft px-3 py-2">
          <p className="break-words">{step.error.message}</p>
          {step.error.hint === undefined ? null : (
            <p className="break-words text-ink-soft">{step.error.hint}</p>
          )}
          <code className="text-small text-ink-soft">{step.error.code}</code>
        </div>
      )}
      {notes === undefined ? null : (
        <Part title="Notes">
          <LongText markdown text={notes} />
        </Part>
      )}
      {course.length === 0 ? null : (
        <Part title="What happened">
          <ol className="flex flex-col gap-2">
            {course.map((event) => (
              <CourseEntry key={event.seq} event={event} />
            ))}
          </ol>
        </Part>
      )}
      {step.input === undefined ? null : (
        <Part title="Input">
          <JsonView value={step.input} label="What it was given" />
        </Part>
      )}
      {step.output === undefined ? null : (
        <Part title="Output">
          <JsonView value={step.output} label="What came out" />
        </Part>
      )}
    </div>
  );
}
