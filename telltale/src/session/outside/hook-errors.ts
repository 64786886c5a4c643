import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { HookSignature } from '../../triggers/outside-triggers.ts';

export const hookUnknown = (hook: string, known: readonly string[]) =>
  new RuntimeError('hook_unknown', `No workflow has a trigger for the hook "${hook}".`, {
    hint: suggest(hook, known, 'Hooks'),
  });

const HOW: Readonly<Record<HookSignature, string>> = {
  standard:
    'Send webhook-id, webhook-timestamp and "webhook-signature: v1,BASE64", the HMAC-SHA256 of "ID.TIMESTAMP.BODY" with the trigger\'s "secret".',
  github:
    'Send "x-hub-signature-256: sha256=HEX", the HMAC-SHA256 of the body with the trigger\'s "secret": at GitHub it is the "Secret" of the webhook.',
};

/** `missing` is the header that is not there, where one is. */
export const badSignature = (hook: string, scheme: HookSignature, missing?: string) =>
  new RuntimeError(
    'bad_signature',
    missing === undefined
      ? `What came to the hook "${hook}" is not signed with its secret.`
      : `What came to the hook "${hook}" has no header "${missing}".`,
    { hint: HOW[scheme] },
  );

/** Longer than any time that fits. */
const MAX_SHOWN = 24;

export const hookStale = (hook: string, stamp: string, now: number) =>
  new RuntimeError(
    'hook_stale',
    `What came to the hook "${hook}" is of the time "${stamp.slice(0, MAX_SHOWN)}"; here it is ${Math.floor(now / 1_000)}.`,
    {
      hint: 'webhook-timestamp is in seconds since 1970, of when it is sent, and may be off by 5 minutes: sign it anew for each try, and set the clocks.',
    },
  );

export const idMalformed = (hook: string, header: string) =>
  new RuntimeError('bad_request', `What came to the hook "${hook}" has a ${header} that is no id.`, {
    hint: 'An id has 1 to 256 printable characters, and no space.',
  });

export const hookReplayed = (hook: string, id: string) =>
  new RuntimeError(
    'hook_replayed',
    `The hook "${hook}" has taken "${id}" before, and that was something else.`,
    { hint: 'Give each message an id of its own; only a repeated one has the same.' },
  );

export const hookInHand = (hook: string) =>
  new RuntimeError('hook_replayed', `The hook "${hook}" is taking this very message already.`, {
    hint: 'Send it again in a minute to hear what came of it.',
    retryable: true,
  });

export const hookTwice = (hook: string, workflows: readonly string[]) =>
  new RuntimeError(
    'bad_manifest',
    `Two triggers listen to the hook "${hook}": of ${workflows.join(' and ')}.`,
    { hint: 'Give one of them another "hook", or let one workflow start the other.' },
  );

export const hookTooLarge = (hook: string, limit: number) =>
  new RuntimeError('hook_too_large', `What came to the hook "${hook}" has more than ${limit} bytes.`, {
    hint: 'Send where it can be found instead of the whole of it.',
  });
