import { RuntimeError } from '../../kernel/runtime-error.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { MAX_FEED_VALUE } from '../max-feed-value.ts';

/** `what`: `feed "metrics"`. */
export const feedTooLarge = (what: string, cause?: unknown) =>
  new RuntimeError('feed_too_large', `The source of ${what} gave more than ${MAX_FEED_VALUE} bytes.`, {
    hint: 'Ask it for less: by its "params", or by another source.',
    cause,
  });

/** `found`: `The file "logo.png"`. */
export const notText = (found: string) =>
  new RuntimeError('not_text', `${clip(found, 300)} is no text.`, {
    hint: 'A model reads text: name a source that gives text or JSON.',
  });

/** `doing`: `call tool "deploy"`. */
export const needsApproval = (what: string, doing: string, because: string) =>
  new RuntimeError(
    'feed_needs_approval',
    `The ${what} would ${clip(doing, 300)}, which needs approval by a person, but a feed cannot ask for it.`,
    { hint: `It is asked for because of "${clip(because, 200)}". Have an action do it, or allow it there.` },
  );

/** `call`: `relic "journal" (append)`. */
export const mayChange = (what: string, call: string) =>
  new RuntimeError(
    'not_permitted',
    `The ${what} was added or changed by the model, and its call of ${call} may change something.`,
    {
      hint: 'Such a feed may only make calls that can be made again without harm: name an operation that reads.',
    },
  );

export const badParams = (what: string, message: string, hint: string) =>
  new RuntimeError('bad_parameters', `The parameters of ${what} are wrong: ${message}`, { hint });
