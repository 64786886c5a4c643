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
  /** The process need not stay for it: a stream that is only listened to. */
  readonly isBackground?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** As it comes, unpacked. Whoever does not read it to its end has to discard it. */
  readonly body: AsyncIterable<Uint8Array>;
  discard(): void;
}

/** Talks to one address, as far as the agent may reach it. */
export interface HttpSender {
  /** Resolves when the response begins. Rejects with `http_failed`, `not_permitted`, or as the signal says. */
  send(message: HttpMessage): Promise<HttpAnswer>;
  close(): void;
}

/** Not by `import`, which loads all that they export. */
const load = createRequire(import.meta.url);

const MAX_REDIRECTS = 5;
/** Most servers close a connection that was quiet for five seconds; one of theirs that ends as we write is lost. */
const KEEP_MS = 4_000;
const KEEPS_METHOD: ReadonlySet<number> = new Set([307, 308]);

/**
 * Keeps connections to the one address, and follows redirects within its origin only: what is sent may hold secrets.
 * Every connection is judged as it is made.
 */
export function createHttpSender(address: string, deps: HttpDeps): HttpSender {
  const own = readUrl(address, undefined);
  let kept: Agent | undefined;
  const agent = () => {
    const { Agent: HttpAgent } = load(
      own.protocol === 'https:' ? 'node:https' : 'node:http',
    ) as typeof import('node:http');
    kept ??= new HttpAgent({ keepAlive: true, timeout: KEEP_MS });
    return kept;
  };
  return {
    async send(message) {
      const headers = checkedHeaders(message);
      // A stream that is only listened to has a connection of its own: it is let go of, and never comes back.
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
            // One that has come whole leaves its connection to the next.
            discard: () => void (response.complete ? response.resume() : response.destroy()),
          };
        response.destroy();
        const next = readUrl(location, url);
        if (next.origin !== own.origin || !(KEEPS_METHOD.has(status) || message.method === 'GET'))
          throw redirected(message.what, own, next);
        if (redirects === MAX_REDIRECTS) throw redirectsOn(message.what, own);
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
    { hint: 'Write the address that it redirects to as "url", if that is where it should go.' },
  );

const redirectsOn = (what: string, { origin }: URL) =>
  new RuntimeError('http_failed', `${what} (${origin}) redirects more than ${MAX_REDIRECTS} times.`);
