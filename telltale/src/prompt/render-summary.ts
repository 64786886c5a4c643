import type { SessionState } from '../events/state.ts';
import { cutText } from './cut-text.ts';
import type { Escape } from './escape.ts';
import { MAX_SHOWN, MAX_SUMMARY } from './limits.ts';
import { renderFeeds } from './render-feeds.ts';
import { renderTask, type TaskStyle } from './render-task.ts';

/** What the first block begins with once old turns were compacted: what was asked for, and what came of it so far. */
export function renderSummary({ compaction, input }: SessionState, style: TaskStyle): string {
  const { safe } = style;
  if (compaction === undefined) return '';
  const task = compaction.task === undefined ? '' : `\n\n${renderTask(compaction.task, style)}`;
  const feeds = compaction.feeds === undefined ? '' : `\n\n${renderFeeds(compaction.feeds, style)}`;
  return `The conversation up to and with turn ${compaction.through} was replaced by a summary. It began with this message:\n${shortened(input, MAX_SHOWN, safe)}\n\nSummary of what happened since:\n${shortened(compaction.summary, MAX_SUMMARY, safe)}${feeds}${task}`;
}

function shortened(text: string, max: number, safe: Escape): string {
  const { head, tail, omitted } = cutText(text, max);
  return omitted === 0 ? safe(head) : `${safe(head)}\n[… ${omitted} characters left out …]\n${safe(tail)}`;
}
