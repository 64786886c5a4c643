import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Context, MiddlewareHandler } from 'hono';
import type { Role } from '../../client/api.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RuntimeError } from '../../lib/errors.ts';
import type { Tokens } from '../auth/tokens.ts';
import type { AppEnv, Caller } from '../server-edges.ts';
import { rateLimited, roleNeeded, tokenMissing, tokenRefused, withHeaders } from './error-answer.ts';
import type { ServerLimits } from './open-http.ts';
import { HOOKS, isReading } from './read-body.ts';

const RANK: Readonly<Record<Role, number>> = { read: 0, run: 1, admin: 2 };

/** Allows only callers with the role: `app.post('/tokens', needs('admin'), …)`. */
export const needs =
  (role: Role): MiddlewareHandler<AppEnv> =>
  async (c, next) => {
    checkRole(c.get('caller'), role);
    await next();
  };

/** Throws `role_needed` if the caller's role is lower. */
export function checkRole({ role }: Pick<Caller, 'role'>, needed: Role): void {
  if (RANK[role] < RANK[needed]) throw roleNeeded(needed, role);
}

export interface AccessDeps {
  readonly tokens: Pick<Tokens, 'check'>;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly limits: Pick<ServerLimits, 'perSecond' | 'burst' | 'failuresPerMinute'>;
}

/** The API description. It contains nothing that the public documentation does not. */
const DESCRIPTION = '/openapi.json';
const ANYONE: Caller = { name: 'anyone', by: 'anyone', role: 'read' };
/** Recently valid tokens. Failed attempts from the same address do not lock their owners out. */
const MAX_GOOD = 1_000;
/** Longer texts cannot be tokens, so they are not hashed. */
const MAX_TOKEN_CHARS = 200;

/**
 * Authenticates every request, including those from this machine, because agents and web pages can send requests from
 * here. Reading needs `read`, everything else `run`. Routes that need more use `needs`.
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
    if (waitMs > 0 && !good.has(hash)) throw slowDown('invalid tokens from this address', waitMs);
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
    // Hooks are signed. The route verifies the signature.
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
    // Only a hook's signature identifies its sender, so an authorization header does not count.
    const hasToken = !isHook(c) && c.req.header('authorization') !== undefined;
    // Without a token, the address is limited before anything is looked up.
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

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/** A household gets at least this many groups of an IPv6 address, with any number of addresses below them. */
const GROUPS = 4;

/** The key under which requests of a remote address are counted. */
export function remoteKey(address: string): string {
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [head = '', tail = ''] = (address.split('%', 1)[0] ?? '').split('::', 2);
  const before = head === '' ? [] : head.split(':');
  const after = tail === '' ? [] : tail.split(':');
  const gap = address.includes('::') ? Array(Math.max(0, 8 - before.length - after.length)).fill('0') : [];
  return [...before, ...gap, ...after].slice(0, GROUPS).join(':');
}

/** Watches long responses such as streams, and closes those whose token has been revoked. */
export interface TokenWatch {
  /** Watches the response until it is finished. */
  add(token: string, response: ServerResponse): void;
}

/** How often the tokens of open responses are checked, each once, however many responses it has. */
const LOOK_MS = 5_000;

export function createTokenWatch(tokens: Pick<Tokens, 'check'>, clock: Pick<Clock, 'after'>): TokenWatch {
  const open = new Map<string, Set<ServerResponse>>();
  let disarm: (() => void) | undefined;

  const arm = () => {
    disarm ??= clock.after(LOOK_MS, () => {
      disarm = undefined;
      void look();
    });
  };
  const look = async (): Promise<void> => {
    await Promise.all(
      [...open].map(async ([token, responses]) => {
        // A store that does not answer revokes nothing. The next check may.
        const isRevoked = await tokens.check(token).then(
          (caller) => caller === undefined,
          () => false,
        );
        if (isRevoked) for (const response of responses) response.destroy();
      }),
    );
    if (open.size > 0) arm();
  };

  return {
    add(token, response) {
      if (response.destroyed) return;
      const responses = open.get(token) ?? new Set();
      open.set(token, responses.add(response));
      arm();
      response.once('close', () => {
        responses.delete(response);
        if (responses.size > 0 || open.get(token) !== responses) return;
        open.delete(token);
        if (open.size > 0) return;
        disarm?.();
        disarm = undefined;
      });
    },
  };
}

/** Allows `burst` at once, and `perSecond` in the long run. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Token buckets by key. Times are monotonic milliseconds. */
export interface RateLimiter {
  /** Takes one. Returns 0 on success, otherwise the milliseconds until one is available. */
  take(key: string, nowMs: number): number;
  /** The same without taking one. */
  wait(key: string, nowMs: number): number;
  readonly size: number;
}

/** The most keys remembered. The least recently used one is dropped first. */
const MAX_KEYS = 10_000;

interface Bucket {
  readonly left: number;
  readonly atMs: number;
}

export function createRateLimiter({ perSecond, burst }: Rate, maxKeys = MAX_KEYS): RateLimiter {
  /** In the order of their last use. */
  const buckets = new Map<string, Bucket>();

  const leftOf = (key: string, nowMs: number): number => {
    const bucket = buckets.get(key);
    if (bucket === undefined) return burst;
    return Math.min(burst, bucket.left + ((nowMs - bucket.atMs) / 1_000) * perSecond);
  };
  const waitOf = (left: number): number => (left >= 1 ? 0 : Math.ceil(((1 - left) / perSecond) * 1_000));

  return {
    take(key, nowMs) {
      const left = leftOf(key, nowMs);
      const waitMs = waitOf(left);
      buckets.delete(key);
      buckets.set(key, { left: waitMs === 0 ? left - 1 : left, atMs: nowMs });
      const [oldest] = buckets.keys();
      if (buckets.size > maxKeys && oldest !== undefined) buckets.delete(oldest);
      return waitMs;
    },
    wait: (key, nowMs) => waitOf(leftOf(key, nowMs)),
    get size() {
      return buckets.size;
    },
  };
}
