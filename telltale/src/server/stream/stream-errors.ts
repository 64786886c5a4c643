import { RuntimeError } from '../../lib/errors.ts';

/** Answered with 503. */
export const tooManyStreams = (limit: number) =>
  new RuntimeError('too_many_streams', `${limit} event streams are open, which is the limit of the server.`, {
    hint: 'Close one that you do not need, or try again later.',
    retryable: true,
  });

/** Answered with 503. */
export const serverClosing = () =>
  new RuntimeError('closing', 'The server is shutting down and opens no more event streams.', {
    hint: 'Reconnect with the id of the last event when it runs again. Nothing is missed.',
    retryable: true,
  });

/** Answered with 404. */
export const nothingToFollow = (kind: 'session' | 'run', stream: string, location: string) =>
  kind === 'session'
    ? new RuntimeError('session_unknown', `No session "${stream}" is in ${location}.`, {
        hint: 'List them: telltale sessions',
      })
    : new RuntimeError('run_unknown', `No workflow run "${stream}" is in ${location}.`, {
        hint: 'List them: telltale workflow list',
      });

/** An announced event cannot be read. */
export const logTooShort = (stream: string, seq: number, head: number) =>
  new RuntimeError('store_damaged', `Event ${seq} of ${stream} was written, but its log ends with ${head}.`, {
    hint: 'Check the store: telltale store check',
  });
