import type { IncomingMessage } from 'node:http';
import { hostNameOf, isLoopback } from '../../kernel/host-name.ts';

export interface GuardOptions {
  /** Whether the server listens on this machine only. */
  readonly isOwnOnly: boolean;
  /** Whether its token is valid. */
  readonly isKnown: boolean;
  readonly path: string;
}

export interface RequestRefusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: object;
}

const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'POST', 'DELETE']);

/**
 * Why a request is not listened to. A page on the web can have a browser send requests to this machine, under a name of
 * its own that it points here: so the names in Host and Origin must be this machine's.
 */
export function refuseRequest(
  { headers, method, url = '/' }: Pick<IncomingMessage, 'headers' | 'method' | 'url'>,
  { isOwnOnly, isKnown, path }: GuardOptions,
): RequestRefusal | undefined {
  const { host = '', origin } = headers;
  if (isOwnOnly && !isLoopback(hostNameOf(`http://${host}`)))
    return { status: 403, message: 'Host is not this machine.' };
  if (origin !== undefined && !isOwnSite(hostNameOf(origin), hostNameOf(`http://${host}`)))
    return { status: 403, message: 'Origin is another site.' };
  if (!isKnown) return NO_TOKEN;
  if (url.split('?')[0] !== path) return { status: 404, message: `MCP is served at ${path}.` };
  if (!METHODS.has(method))
    return {
      status: 405,
      message: 'GET, POST and DELETE are answered.',
      headers: { allow: 'GET, POST, DELETE' },
    };
  return undefined;
}

/** What has no name, such as `null`, is nobody's. */
const isOwnSite = (site: string, own: string): boolean => isLoopback(site) || (site !== '' && site === own);

/** What a client sends as its bearer token; undefined where that is none. */
export const bearerOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined =>
  /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];

/** Of a request without a token that is valid here. */
const NO_TOKEN: RequestRefusal = {
  status: 401,
  message: 'A bearer token is needed.',
  headers: { 'www-authenticate': 'Bearer' },
};
