import { RuntimeError } from '../../lib/errors.ts';

const MAX_SHOWN = 500;
/** The server no longer knows the session of the request, and so has not acted on it. */
export const sessionLost = (name: string) =>
  new RuntimeError('mcp_session_lost', `The MCP server "${name}" no longer knows this client's session.`, {
    hint: 'It was greeted anew, and forgot that session, too. Is it several servers behind one address that share no sessions?',
    retryable: true,
  });
export const isSessionLost = (thrown: unknown): boolean =>
  thrown instanceof RuntimeError && thrown.code === 'mcp_session_lost';
/** What sending rejects with, with the server's name; a call that was stopped stays what it is. */
export function cannotReach(name: string, thrown: unknown): unknown {
  if (!(thrown instanceof RuntimeError)) return thrown;
  const { code, message, hint, retryable, cause } = thrown;
  if (code !== 'http_failed' && code !== 'not_permitted') return thrown;
  return new RuntimeError(
    code === 'http_failed' ? 'mcp_failed' : code,
    `The MCP server "${name}" cannot be reached. ${message}`,
    { hint, retryable, cause },
  );
}
export function badStatus(name: string, status: number, said: string): RuntimeError {
  const told = said === '' ? '.' : `: ${clip(said)}`;
  return new RuntimeError(
    'mcp_failed',
    `The MCP server "${name}" answered with the status ${status}${told}`,
    {
      hint: STATUS_HINTS[status],
      retryable: status === 429 || status >= 500,
    },
  );
}
const NO_ACCESS =
  'Give what it asks for under "headers", such as { Authorization: "Bearer ${TOKEN}" }. Signing in by OAuth is not built in: get a token by other means.';
const STATUS_HINTS: Readonly<Record<number, string>> = {
  401: NO_ACCESS,
  403: NO_ACCESS,
  404: 'Look at the path of its "url". A server of the older protocol with two addresses (HTTP+SSE) is not supported.',
  405: 'Look at the path of its "url". A server of the older protocol with two addresses (HTTP+SSE) is not supported.',
};
export const messageTooLarge = (name: string, maxBytes: number) =>
  new RuntimeError('mcp_failed', `The MCP server "${name}" sent a message of more than ${maxBytes} bytes.`, {
    hint: 'Make it print less.',
  });
export const noMessages = (name: string, type: string) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${name}" answered with ${type === '' ? 'no type' : `"${clip(type, 100)}"`}, which holds no messages.`,
    { hint: 'Look at the path of its "url": another thing than an MCP server may answer there.' },
  );
export const noAnswerIn = (name: string) =>
  new RuntimeError('mcp_failed', `What the MCP server "${name}" answered is no answer to what was asked.`);
export const tooMuchJunk = (name: string, count: number) =>
  new RuntimeError('mcp_failed', `The MCP server "${name}" sent ${count} events that are no messages.`);
export const brokeOff = (name: string, tries: number) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${name}" closed the connection before it answered${tries === 0 ? '' : `, and could not be resumed in ${tries} tries`}.`,
    { hint: 'Whether the call had an effect is not known.', retryable: true },
  );
const clip = (text: string, max = MAX_SHOWN) => (text.length > max ? `${text.slice(0, max)}…` : text);
