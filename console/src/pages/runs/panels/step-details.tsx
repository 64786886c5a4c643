import { formatClock } from '../../../format/format-time.ts';
import { Button } from '../../../ui/button.tsx';
import { JsonView } from '../../../ui/json-view.tsx';
import { LongText } from '../../session/stream/long-text.tsx';
import type { StepStory } from '../model/step-stories.ts';
import { useRunView } from '../run-view.ts';
import { CourseEntry } from './course-entry.tsx';
import { Part } from './part.tsx';

/** What a step was given, what came of it, and what happened on the way. */
export function StepDetails({ story }: { readonly story: StepStory }) {
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
