import { createHash } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import type { Role } from '../../client/api.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Tokens } from '../auth/tokens.ts';
import type { AppEnv, Caller } from '../server-edges.ts';
import { withHeaders } from './error-answer.ts';
import { isReading } from './guard.ts';
import { rateLimited, roleNeeded, tokenMissing, tokenRefused } from './http-errors.ts';
import type { ServerLimits } from './limits.ts';
import { createRateLimiter, type Rate } from './rate-limiter.ts';
import { HOOKS } from './read-body.ts';
import { remoteKey } from './remote-key.ts';
import { createTokenWatch } from './watch-tokens.ts';

const RANK: Readonly<Record<Role, number>> = { read: 0, run: 1, admin: 2 };

/** Lets a request through whose caller has the role: `app.post('/tokens', needs('admin'), …)`. */
export const needs =
  (role: Role): MiddlewareHandler<AppEnv> =>
  async (c, next) => {
    checkRole(c.get('caller'), role);
    await next();
  };

function checkRole({ role }: Caller, needed: Role): void {
  if (RANK[role] < RANK[needed]) throw roleNeeded(needed, role);
}

export interface AccessEdges {
  readonly tokens: Pick<Tokens, 'check'>;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  /** Whether a request without a token is refused. */
  readonly needsToken: boolean;
  readonly limits: Pick<ServerLimits, 'perSecond' | 'burst' | 'failuresPerMinute'>;
}

const LOCAL: Caller = { name: 'local', role: 'admin' };
/** Tokens that were good lately: a stranger's failures do not lock out who shares an address with them. */
const MAX_GOOD = 1_000;
/** What is longer is no token, and is not hashed. */
const MAX_TOKEN_CHARS = 200;

/**
 * Says who calls, or refuses. Reading needs `read` and all else `run`; routes that need more say so by `needs`. A token
 * that is sent is looked at also where none is needed, since whoever sends one counts on it.
 */
export function createAccess({ tokens, clock, needsToken, limits }: AccessEdges): MiddlewareHandler<AppEnv> {
  const requests = createRateLimiter(limits);
  const failing: Rate = { perSecond: limits.failuresPerMinute / 60, burst: limits.failuresPerMinute };
  const failures = createRateLimiter(failing);
  const good = new Set<string>();
  const watch = createTokenWatch(tokens, clock);

  const callerOf = async (token: string, address: string): Promise<Caller> => {
    const hash = createHash('sha256').update(token.slice(0, MAX_TOKEN_CHARS)).digest('base64');
    const waitMs = failures.wait(address, clock.monotonic());
    if (waitMs > 0 && !good.has(hash)) throw slowDown('tokens that are none, from this address', waitMs);
    const caller = token.length > MAX_TOKEN_CHARS ? undefined : await tokens.check(token);
    good.delete(hash);
    if (caller === undefined) {
      failures.take(address, clock.monotonic());
      throw tokenRefused();
    }
    good.add(hash);
    const [oldest] = good;
    if (good.size > MAX_GOOD && oldest !== undefined) good.delete(oldest);
    return caller;
  };

  const identify = async (c: Context<AppEnv>, address: string): Promise<Caller> => {
    // Signed on their own: who calls is known once the signature has been looked at.
    if (isHook(c)) return { name: `hook ${c.req.path.slice(HOOKS.length)}`, role: 'run' };
    const sent = c.req.header('authorization');
    if (!needsToken && sent !== undefined && isOtherKey(c.req.path, sent)) return LOCAL;
    if (sent !== undefined) {
      const token = /^bearer +(\S+)$/i.exec(sent)?.[1] ?? '';
      const caller = await callerOf(token, address);
      watch.add(token, c.env.outgoing);
      return caller;
    }
    if (needsToken) throw tokenMissing();
    return LOCAL;
  };

  return async (c, next) => {
    const address = remoteKey(c.env.incoming.socket.remoteAddress ?? '');
    const byAddress = `address ${address}`;
    // What is sent to a hook besides its signature says nothing of the sender.
    const hasToken = !isHook(c) && c.req.header('authorization') !== undefined;
    // Without a token the address is what counts, before anything is looked up.
    const early = hasToken ? 0 : requests.take(byAddress, clock.monotonic());
    if (early > 0) throw slowDown('requests', early);
    const caller = await identify(c, address);
    const late = hasToken ? requests.take(`token ${caller.name}`, clock.monotonic()) : 0;
    if (late > 0) throw slowDown('requests', late);
    c.set('caller', caller);
    checkRole(caller, isReading(c.req.method) ? 'read' : 'run');
    await next();
  };
}

const isHook = ({ req }: Context<AppEnv>): boolean => req.method === 'POST' && req.path.startsWith(HOOKS);

/** Clients of OpenAI's always send some key. Where none is needed, one that was never ours is not taken for a wrong one. */
const isOtherKey = (path: string, sent: string): boolean =>
  path.startsWith('/v1/') && !/^bearer +tt_/i.test(sent);

const slowDown = (what: string, waitMs: number): RuntimeError =>
  withHeaders(rateLimited(what), { 'retry-after': String(Math.ceil(waitMs / 1_000)) });
