import type { Clock } from './clock.ts';

/** Crockford's base 32 in lower case: sorts as it counts, and has no i, l, o, u to misread. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARS = 10;
const RANDOM_CHARS = 16;

export interface IdSource {
  /** A new id, `prefix_` in front if one is given. Ids of one source sort in the order they were made. */
  next(prefix?: string): string;
}

export interface IdSourceDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** Fills the array with random bytes; the system's generator by default. */
  readonly random?: (bytes: Uint8Array) => void;
}

/**
 * Ids of 26 characters: 48 bits of time, 80 bits of randomness. Within one millisecond, or when the clock is set
 * back, the random part counts up instead, so order holds and no two are alike.
 */
export function createIdSource({ clock, random = systemRandom }: IdSourceDeps): IdSource {
  let lastTime = -1;
  const digits = new Uint8Array(RANDOM_CHARS);

  const countUp = () => {
    for (let i = RANDOM_CHARS - 1; i >= 0; i--) {
      const digit = digits[i] ?? 0;
      if (digit < 31) {
        digits[i] = digit + 1;
        return;
      }
      digits[i] = 0;
    }
    lastTime++;
  };

  return {
    next(prefix) {
      const now = Math.max(0, Math.floor(clock.now())); // a clock before 1970 has no place in 48 bits
      if (now > lastTime) {
        lastTime = now;
        random(digits);
        for (let i = 0; i < RANDOM_CHARS; i++) digits[i] = (digits[i] ?? 0) & 31;
      } else countUp();
      let id = prefix === undefined ? '' : `${prefix}_`;
      id += encodeTime(lastTime);
      for (const digit of digits) id += ALPHABET[digit];
      return id;
    },
  };
}

/** The id that a time and a digest give, the same each time: for what must not be made twice. The digest has 16 bytes or more. */
export const derivedId = (prefix: string, timeMs: number, digest: Uint8Array): string =>
  `${prefix}_${encodeTime(Math.max(0, Math.floor(timeMs)))}${Array.from(
    digest.subarray(0, RANDOM_CHARS),
    (byte) => ALPHABET[byte & 31],
  ).join('')}`;

function encodeTime(ms: number): string {
  let text = '';
  for (let rest = ms, i = 0; i < TIME_CHARS; i++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function systemRandom(bytes: Uint8Array): void {
  crypto.getRandomValues(bytes as Uint8Array<ArrayBuffer>);
}

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
