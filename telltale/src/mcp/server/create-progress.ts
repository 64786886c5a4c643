import type { LoggingLevel, ServerNotification } from '@modelcontextprotocol/sdk/types.js';
import type { Progress } from './served-tool.ts';

/** Levels at which an `info` is heard; a `warning` is heard at two more. */
const INFO: ReadonlySet<LoggingLevel> = new Set(['debug', 'info']);
const WARNING: ReadonlySet<LoggingLevel> = new Set(['debug', 'info', 'notice', 'warning']);

/** Tells a client what goes on in its call, as progress and as log messages; undefined where it wants neither. */
export function createProgress(
  send: (notification: ServerNotification) => Promise<void>,
  token: string | number | undefined,
  from: LoggingLevel | undefined,
  onError: (error: unknown) => void,
): Progress | undefined {
  if (token === undefined && from === undefined) return undefined;
  let progress = 0;
  return (message, level = 'info') => {
    const isHeard = from !== undefined && (level === 'info' ? INFO : WARNING).has(from);
    if (isHeard)
      send({ method: 'notifications/message', params: { level, logger: 'telltale', data: message } }).catch(
        onError,
      );
    if (token === undefined) return;
    progress++;
    send({
      method: 'notifications/progress',
      params: { progressToken: token, progress, message },
    }).catch(onError);
  };
}
