import type { EventBody } from '../../events/event.ts';
import type { SessionState } from '../../events/state.ts';
import { notesMissing } from '../../protocol/calls/call-faults.ts';
import type { SessionContext } from '../context.ts';
import { DIALECT_WORDS } from './dialect-words.ts';
import { keptFromActing } from './kept-from-acting.ts';

/** After a restart it may have been said before. */
export function tellOnce({ log, state }: SessionContext, code: string, message: string): void {
  if (!state.news.faults.some((fault) => fault.code === code)) log.append({ type: 'fault', code, message });
}

/** Tells a model whose last turn came to nothing that it did, and `next`. */
export function remind({ state, log }: SessionContext, running: readonly string[], next: string): void {
  if (state.idleTurns === 0 || running.length > 0) return;
  const { faults, rejected, messages } = state.news;
  const isInVain = rejected.length > 0 || keptFromActing(faults).length > 0;
  const reminder = `${isInVain ? IN_VAIN : IDLE} ${next}`;
  const reminded = messages.some(({ text }) => text === reminder);
  if (!reminded) log.append({ type: 'message.received', from: 'runtime', text: reminder });
}

const IDLE = 'Your last turn brought no action, no metadata and no response.';
const IN_VAIN = 'Nothing in your last turn took effect: your mistakes say why.';

export const noTags = (
  { manifest }: SessionContext,
  text: string,
  led?: 'led',
): Extract<EventBody, { type: 'fault' }> => ({
  type: 'fault',
  code: 'no_tags',
  message:
    manifest.dialect === 'tags' && /^\s*(?:`{3}|~{3})/.test(text)
      ? 'Your whole turn stood in a code fence, where nothing is a tag. Write the tags outside of it.'
      : DIALECT_WORDS[manifest.dialect][led === undefined ? 'bare' : 'bareLed'],
});

/** Whether a step lacked its notes. The fault says all that there is to say of that. */
export const lacksNotes = ({ news }: SessionState): boolean =>
  news.faults.some(({ message }) => message === NOTES_MISSING);

const NOTES_MISSING = notesMissing().message;
