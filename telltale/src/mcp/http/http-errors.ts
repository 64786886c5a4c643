import { RuntimeError } from '../../lib/errors.ts';

const MAX_SHOWN = 500;
/** The server does not know the session of the request any more, so it has not executed it. */
export const sessionLost = (name: string) =>
  new RuntimeError('mcp_session_lost', `The MCP server "${name}" no longer knows this client's session.`, {
    hint: 'It also lost the new session that was opened. Check whether several servers behind one address do not share their sessions.',
    retryable: true,
  });
export const isSessionLost = (thrown: unknown): boolean =>
  thrown instanceof RuntimeError && thrown.code === 'mcp_session_lost';
/** The error of a failed request, with the server's name. A cancelled call keeps its own error. */
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
  return new RuntimeError('mcp_failed', `The MCP server "${name}" responded with status ${status}${told}`, {
    hint: STATUS_HINTS[status],
    retryable: status === 429 || status >= 500,
  });
}
const NO_ACCESS =
  'Give what it asks for under "headers", such as { Authorization: "Bearer ${TOKEN}" }. OAuth sign-in is not supported, so get a token by other means.';
const STATUS_HINTS: Readonly<Record<number, string>> = {
  401: NO_ACCESS,
  403: NO_ACCESS,
  404: 'Check the path of its "url". A server of the older protocol with two addresses (HTTP+SSE) is not supported.',
  405: 'Check the path of its "url". A server of the older protocol with two addresses (HTTP+SSE) is not supported.',
};
export const messageTooLarge = (name: string, maxBytes: number) =>
  new RuntimeError('mcp_failed', `The MCP server "${name}" sent a message of more than ${maxBytes} bytes.`, {
    hint: 'Make it print less.',
  });
export const noMessages = (name: string, type: string) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${name}" responded with ${type === '' ? 'no content type' : `"${clip(type, 100)}"`}, which cannot contain messages.`,
    { hint: 'Check the path of its "url". Something other than an MCP server may respond there.' },
  );
export const noAnswerIn = (name: string) =>
  new RuntimeError('mcp_failed', `The response of the MCP server "${name}" does not answer the request.`);
export const tooMuchJunk = (name: string, count: number) =>
  new RuntimeError('mcp_failed', `The MCP server "${name}" sent ${count} events that are not messages.`);
export const brokeOff = (name: string, tries: number) =>
  new RuntimeError(
    'mcp_failed',
    `The MCP server "${name}" closed the connection before it answered${tries === 0 ? '' : `, and could not be resumed in ${tries} attempts`}.`,
    { hint: 'It is unknown whether the call had an effect.', retryable: true },
  );
const clip = (text: string, max = MAX_SHOWN) => (text.length > max ? `${text.slice(0, max)}…` : text);
