/**
 * Who did something, as logs and the audit keep it: `user:ana` is a user of the operating system, `token:ci` a token of
 * that name, `mcp:token:ci (Claude)` an MCP client with that token which calls itself Claude. Any other word, such as
 * `runtime`, is the runtime itself or what a program said. A token's name holds no colon, so that no token can pass for a
 * user, whatever it is called.
 */

const USER = 'user:';
const TOKEN = 'token:';
const MCP = 'mcp:';
const MAX_NAME = 100;

export const userIdentity = (name: string): string => `${USER}${plain(name) || 'unknown'}`;

export const tokenIdentity = (name: string): string => `${TOKEN}${name}`;

/** `identity` is whose key the client has. What it calls itself is a label, and proves nothing. */
export function mcpIdentity(identity: string, label: string): string {
  const shown = plain(label);
  return `${MCP}${identity}${shown === '' ? '' : ` (${shown})`}`;
}

/** The same person or token, on behalf of somebody else: only what stands before the label is known. */
export const onBehalfOf = (identity: string, label: string): string => `${identity} (for ${plain(label)})`;

/** An identity in words: `ana`, `ci (token)`. Words of older logs stay as they are. */
export function identityText(identity: string): string {
  if (identity.startsWith(MCP)) return `${identityText(identity.slice(MCP.length))} over MCP`;
  if (identity.startsWith(USER)) return identity.slice(USER.length);
  if (!identity.startsWith(TOKEN)) return identity;
  const [name = '', ...label] = identity.slice(TOKEN.length).split(' ');
  return [name, '(token)', ...label].join(' ');
}

/** One line of visible characters. Parentheses are left out, so that a label cannot close its own and go on as another. */
const plain = (text: string): string =>
  text
    .replace(/[\p{C}\p{Z}()]+/gu, ' ')
    .trim()
    .slice(0, MAX_NAME);
