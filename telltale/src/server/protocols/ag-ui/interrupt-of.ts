import type { ReviewRequest } from '../../../events/review-event.ts';
import { uncoveredText, visibleCovered } from '../../../kernel/approved-files.ts';
import { visibleText } from '../../../kernel/visible-text.ts';
import type { AgUiInterrupt } from './ag-ui-event.ts';

/** Unlike that of any other session: a conversation may go on in a new one. */
export const toolCallId = (session: string, action: string): string => `${session}.${action}`;

/** A review, as the client asks its user. */
export const interruptOf = (review: ReviewRequest, session: string): AgUiInterrupt => ({
  id: review.review,
  reason: 'approval',
  message: [visibleText(`${review.what} (${review.target}) ${review.because}`), uncoveredText(review)]
    .filter(Boolean)
    .join('\n'),
  toolCallId: toolCallId(session, review.action),
  responseSchema: {
    type: 'object',
    properties: { approved: { type: 'boolean' }, note: { type: 'string' } },
    required: ['approved'],
  },
  metadata: {
    telltale: {
      target: review.target,
      because: review.because,
      input: review.input,
      ...visibleCovered(review),
    },
  },
});
