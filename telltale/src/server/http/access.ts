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

/** Throws `role_needed` where the caller has less. */
export function checkRole({ role }: Pick<Caller, 'role'>, needed: Role): void {
  if (RANK[role] < RANK[needed]) throw roleNeeded(needed, role);
}

export interface AccessDeps {
  readonly tokens: Pick<Tokens, 'check'>;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly limits: Pick<ServerLimits, 'perSecond' | 'burst' | 'failuresPerMinute'>;
}

/** Says nothing of this server that its documentation does not say. */
const DESCRIPTION = '/openapi.json';
const ANYONE: Caller = { name: 'anyone', by: 'anyone', role: 'read' };
/** Tokens that were good lately: a stranger's failures do not lock out who shares an address with them. */
const MAX_GOOD = 1_000;
/** What is longer is no token, and is not hashed. */
const MAX_TOKEN_CHARS = 200;

/**
 * Says who calls, or refuses: every request needs a token, from this machine, too, since agents and web pages can send
 * requests from there. Reading needs `read` and all else `run`; routes that need more say so by `needs`.
 */
export function createAccess({ tokens, clock, limits }: AccessDeps): MiddlewareHandler<AppEnv> {
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
    if (isHook(c)) {
      const hook = `hook ${c.req.path.slice(HOOKS.length)}`;
      return { name: hook, by: hook, role: 'run' };
    }
    const sent = c.req.header('authorization');
    if (sent === undefined) {
      if (isReading(c.req.method) && c.req.path === DESCRIPTION) return ANYONE;
      throw tokenMissing();
    }
    const token = /^bearer +(\S+)$/i.exec(sent)?.[1] ?? '';
    const caller = await callerOf(token, address);
    watch.add(token, c.env.outgoing);
    return caller;
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
    const late = hasToken ? requests.take(caller.by, clock.monotonic()) : 0;
    if (late > 0) throw slowDown('requests', late);
    c.set('caller', caller);
    checkRole(caller, isReading(c.req.method) ? 'read' : 'run');
    await next();
  };
}

const isHook = ({ req }: Context<AppEnv>): boolean => req.method === 'POST' && req.path.startsWith(HOOKS);

const slowDown = (what: string, waitMs: number): RuntimeError =>
  withHeaders(rateLimited(what), { 'retry-after': String(Math.ceil(waitMs / 1_000)) });
