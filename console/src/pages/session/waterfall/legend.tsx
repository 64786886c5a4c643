import { useState } from 'react';
import { Dialog } from '../../../ui/dialog.tsx';
import { IconButton } from '../../../ui/icon-button.tsx';
import { Kbd } from '../../../ui/kbd.tsx';

const BARS: readonly (readonly [look: string, what: string])[] = [
  ['h-4 wf-speech rounded-sm', 'The model writes its response'],
  ['h-2.5 wf-held', 'The response waits for an action'],
  ['h-4 wf-while wf-while-over', 'Actions that start here did not wait for the response to end'],
  ['h-3 rounded-[3px] wf-done', 'An action ran and completed'],
  ['h-3 rounded-[3px] wf-running', 'An action runs'],
  ['h-3 rounded-[3px] wf-failed', 'An attempt failed'],
  ['h-3 wf-wait wf-wait-dependency', 'Waits for another action'],
  ['h-3 wf-wait wf-wait-queue', 'Waits for a free slot'],
  ['h-3 wf-wait-review', 'Waits for a person'],
  ['h-3 wf-wait wf-wait-retry', 'Pauses before the next attempt'],
  ['h-3 rounded-full wf-run', 'A workflow run'],
  ['h-4 wf-gap', 'Idle time, left out'],
];
const TAGS: readonly (readonly [kind: string, shape: string, what: string])[] = [
  ['thought', 'M8 8m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0', 'A thought'],
  ['action', 'M8 8m-4.2 -3.4h8.4l-4.2 7.6z', 'The model asked for an action'],
  ['metadata', 'M8 8m0 -4.6l4.6 4.6l-4.6 4.6l-4.6 -4.6z', 'The agent declared a state'],
  ['response', 'M8 8m-3.4 -3.4h6.8v6.8h-6.8z', 'A response'],
  ['fault', 'M8 8m-3.4 -3.4l6.8 6.8m0 -6.8l-6.8 6.8', 'A soft error'],
];

/** What the shapes mean, and the keys. */
export function Legend() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <IconButton icon="info" label="What the shapes mean" onClick={() => setOpen(true)} />
      <Dialog title="The waterfall" open={open} onClose={() => setOpen(false)}>
        <ul className="flex flex-col gap-2 text-small">
          {TAGS.map(([kind, shape, what]) => (
            <li key={kind} className="flex items-center gap-3">
              <svg aria-hidden="true" width={64} height={16} className="shrink-0">
                <rect x={0} y={2} width={64} height={12} rx={2} fill="var(--accent)" opacity={0.85} />
                <path d={shape} transform="translate(24 0)" className={`wf-tag wf-tag-${kind}`} />
              </svg>
              {what}
            </li>
          ))}
          {BARS.map(([look, what]) => (
            <li key={what} className="flex items-center gap-3">
              <span className={`w-16 shrink-0 ${look}`} />
              {what}
            </li>
          ))}
        </ul>
        <p className="mt-4 text-small text-ink-soft">
          <Kbd>↑</Kbd> <Kbd>↓</Kbd> rows, <Kbd>←</Kbd> <Kbd>→</Kbd> time, <Kbd>+</Kbd> <Kbd>-</Kbd> or Ctrl
          and the wheel zoom, <Kbd>0</Kbd> all of it, <Kbd>Enter</Kbd> opens the event.
        </p>
      </Dialog>
    </>
  );
}
