import type { IncomingMessage } from 'node:http';
import { hostNameOf, isAddress, isLoopback } from '../../kernel/host-name.ts';
import type { RuntimeError } from '../../kernel/runtime-error.ts';
import { refusePath } from './check-path.ts';
import { badRequest, headersTooLarge, hostRefused, originRefused } from './http-errors.ts';

export interface GuardRules {
  /** What is listened on. */
  readonly host: string;
  /** Further names that the server is reached by. */
  readonly allowHosts: readonly string[];
  /** Pages of other origins that may use it: `https://app.example.com`. */
  readonly origins: readonly string[];
  readonly headers: number;
}

export type Head = Pick<IncomingMessage, 'headers' | 'method' | 'url' | 'rawHeaders'>;

const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i;

/** Methods that change nothing. */
export const isReading = (method: string | undefined): boolean => method === 'GET' || method === 'HEAD';

/**
 * Why a request is not listened to, by its head alone. A page on the web can have a browser send requests to this
 * machine, under a name of its own that it points here: so the names in Host and Origin must be the server's.
 */
export function refuseHead(head: Head, rules: GuardRules): RuntimeError | undefined {
  return refuseHost(head, rules) ?? refuseOrigin(head, rules) ?? refusePath(head.url ?? '/');
}

function refuseHost({ headers, rawHeaders }: Head, rules: GuardRules): RuntimeError | undefined {
  if (rawHeaders.length > 2 * rules.headers) return headersTooLarge(`${rules.headers} lines`);
  const named = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  const { host = '' } = headers;
  if (named.length !== 1 || !HOST.test(host))
    return badRequest('The request does not say once which server it is for.', 'Send one "host" header.');
  const name = hostNameOf(`http://${host}`);
  if (isLoopback(name) || rules.allowHosts.includes(name)) return undefined;
  if (isLoopback(rules.host)) return hostRefused(name, true);
  return isAddress(name) || name === rules.host.toLowerCase() ? undefined : hostRefused(name, false);
}

function refuseOrigin({ headers, method }: Head, { origins }: GuardRules): RuntimeError | undefined {
  const { origin, host = '' } = headers;
  if (isReading(method)) return undefined; // without leave in the answer a browser gives nothing of it to the page
  if (origin === undefined)
    return headers['sec-fetch-site'] === 'cross-site' ? originRefused('another site') : undefined;
  if (origins.includes(origin) || isSameOrigin(origin, host)) return undefined;
  return originRefused(origin === 'null' ? 'no origin' : origin);
}

/** Whatever the scheme: in front of the server a proxy may speak TLS. */
function isSameOrigin(origin: string, host: string): boolean {
  const { host: own } = URL.parse(origin) ?? { host: '' };
  return own !== '' && own === host.toLowerCase().replace(origin.startsWith('https:') ? /:443$/ : /:80$/, '');
}
