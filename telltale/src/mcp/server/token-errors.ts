import { RuntimeError } from '../../kernel/runtime-error.ts';

const AGAIN = 'resume_session gives the step in hand again, with a token.';

export const tokenMalformed = () =>
  new RuntimeError('token_malformed', 'That is no continueToken: one looks like "tt1.….….…".', {
    hint: 'Send the continueToken of the last answer, unchanged.',
  });

export const tokenForged = () =>
  new RuntimeError('token_forged', 'The continueToken was changed: its signature does not fit.', {
    hint: `Send the continueToken of the last answer, unchanged. ${AGAIN}`,
  });

export const tokenForeign = () =>
  new RuntimeError(
    'token_foreign',
    'The continueToken is of another installation or store, or of a key that has been rotated away.',
    { hint: `Send it to the server that gave it. ${AGAIN}` },
  );

export const tokenExpired = (run: string, expiresAt: number) =>
  new RuntimeError('token_expired', `The continueToken expired at ${new Date(expiresAt).toISOString()}.`, {
    hint: `resume_session {"run": "${run}"} gives the step in hand again, with a new one.`,
  });

export const tokenStale = (run: string, why: string) =>
  new RuntimeError('token_stale', `The step of this continueToken is not in hand any more: ${why}`, {
    hint: `resume_session {"run": "${run}"} says where the run is.`,
  });

export const tokenReplayed = (run: string) =>
  new RuntimeError('token_replayed', 'The continueToken was used before, and the run has gone on since.', {
    hint: `Send the continueToken of the last answer. resume_session {"run": "${run}"} gives the step in hand again.`,
  });

export const claimHoldsToken = () =>
  new RuntimeError('claim_refused', 'The step is not completed. What was sent holds a continueToken.', {
    hint: 'A token belongs into "continueToken" only: leave it out of notes, context_updates and artifacts.',
  });
