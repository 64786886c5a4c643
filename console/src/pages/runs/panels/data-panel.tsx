import { JsonView } from '../../../ui/json-view.tsx';
import { RelativeTime } from '../../../ui/relative-time.tsx';
import { useRunView } from '../run-view.ts';
import { Part } from './part.tsx';

/** What went in, what came out, and what the run holds in between. */
export function DataPanel() {
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
