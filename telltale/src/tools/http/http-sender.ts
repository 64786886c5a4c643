import type { Agent } from 'node:http';
import { createRequire } from 'node:module';
import { RuntimeError } from '../../lib/errors.ts';
import { checkedHeaders, exchange, flatHeaders, type HttpDeps, readUrl, unpacked } from './http-request.ts';

export interface HttpMessage {
  /** For messages: `the MCP server "github"`. */
  readonly what: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
  /** Whether the process may exit while it runs: a stream that is only listened to. */
  readonly isBackground?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The unpacked body as it arrives. Whoever does not read it to the end must discard it. */
  readonly body: AsyncIterable<Uint8Array>;
  discard(): void;
}

/** Sends requests to one address, within the agent's permissions. */
export interface HttpSender {
  /** Resolves when the response starts. Rejects with `http_failed`, `not_permitted`, or the signal's reason. */
  send(message: HttpMessage): Promise<HttpAnswer>;
  close(): void;
}

/** `require`, because `import` would load everything the modules export. */
const load = createRequire(import.meta.url);

const MAX_REDIRECTS = 5;
/** Most servers close a connection after five idle seconds. A request written just as the server closes is lost. */
const IDLE_MS = 4_000;
const KEEPS_METHOD: ReadonlySet<number> = new Set([307, 308]);

/**
 * Keeps connections to the address, and follows redirects within its origin only, because requests may contain secrets.
 * Every connection is checked when it is made.
 */
export function createHttpSender(address: string, deps: HttpDeps): HttpSender {
  const own = readUrl(address, undefined);
  let kept: Agent | undefined;
  const agent = () => {
    const { Agent: HttpAgent } = load(
      own.protocol === 'https:' ? 'node:https' : 'node:http',
    ) as typeof import('node:http');
    kept ??= new HttpAgent({ keepAlive: true, timeout: IDLE_MS });
    return kept;
  };
  return {
    async send(message) {
      const headers = checkedHeaders(message);
      // A background stream gets a connection of its own, which is never reused.
      const way = message.isBackground === true ? { isBackground: true } : { agent: agent() };
      let url = own;
      for (let redirects = 0; ; redirects++) {
        const response = await exchange({ ...message, headers, ...way }, url, deps);
        const status = response.statusCode ?? 0;
        const { location } = response.headers;
        if (status < 300 || status >= 400 || status === 304 || location === undefined)
          return {
            status,
            headers: flatHeaders(response),
            body: unpacked(response, () => undefined),
            // A complete response frees its connection for the next request.
            discard: () => void (response.complete ? response.resume() : response.destroy()),
          };
        response.destroy();
        const next = readUrl(location, url);
        if (next.origin !== own.origin || !(KEEPS_METHOD.has(status) || message.method === 'GET'))
          throw redirected(message.what, own, next);
        if (redirects === MAX_REDIRECTS) throw tooManyRedirects(message.what, own);
        url = next;
      }
    },
    close: () => kept?.destroy(),
  };
}

const redirected = (what: string, from: URL, to: URL) =>
  new RuntimeError(
    'http_failed',
    `${what} (${from.origin}) redirects to ${to.origin === from.origin ? 'another path' : to.origin.slice(0, 200)}, which is not followed.`,
    { hint: 'If the redirect is right, use its target as "url".' },
  );

const tooManyRedirects = (what: string, { origin }: URL) =>
  new RuntimeError('http_failed', `${what} (${origin}) redirects more than ${MAX_REDIRECTS} times.`);
