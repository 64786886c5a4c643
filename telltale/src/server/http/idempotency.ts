import { createHash } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { derivedId, tokenIdentity } from '../../lib/ids.ts';
import type { Json } from '../../lib/json.ts';
import type { Tables, TimedWrite } from '../../store/store.ts';
import type { AppEnv, Caller } from '../server-edges.ts';
import {
  badIdempotencyKey,
  idempotencyMismatch,
  idempotencyNotKept,
  idempotencyRunning,
} from './error-answer.ts';
import { bodyOf, HOOKS } from './read-body.ts';

const TABLE = 'server.idempotency';
/**
 * When a request with the key first started, stored until its response is. The ids of what it creates derive from this.
 */
const BEGUN = 'server.idempotency_begun';
const HEADER = 'idempotency-key';
const KEY = /^[ -~]{1,255}$/;
const KEEP_MS = 24 * 60 * 60 * 1_000;
/** A claim is renewed while its process lives, and expires this long after the process died. */
const CLAIM_MS = 60_000;
const RENEW_MS = 20_000;
const MAX_KEPT_CHARS = 1024 * 1024;

/** A request's fingerprint, with either the claim of the server instance that handles it, or its response. */
interface IdempotencyRow {
  /** A hash of method, path and body. */
  readonly asked: string;
  readonly claim?: string;
  readonly answer?: {
    readonly status: number;
    /** Undefined if it was not stored. */
    readonly body?: string;
    /** Whether it contained a secret. Otherwise it was too long. */
    readonly secret?: true;
    readonly type: string;
    readonly location?: string;
  };
}

interface IdempotencyBegun {
  readonly asked: string;
  readonly since: number;
}

export interface IdempotencyDeps {
  readonly tables: Tables;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly onError: (thrown: unknown) => void;
}

/**
 * Executes a POST with an `Idempotency-Key` once: the same key of the same caller returns the first response. The claim
 * is stored before anything is done. Responses with status 500 and above, retryable errors and streams are not stored,
 * so such a request may be repeated. If the process dies meanwhile, the key is free again a minute later. Anything
 * created with `onceId` is then found and not created again. Hooks have their own guard, because anyone can post to
 * one.
 */
export function createIdempotency(deps: IdempotencyDeps): MiddlewareHandler<AppEnv> {
  const { tables, clock, newId, onError } = deps;

  /** Renews a claim until the returned function is called. */
  const renew = (key: string, row: IdempotencyRow): (() => void) => {
    let cancel = (): void => undefined;
    const again = () => {
      tables.exchange([at(key, row)], [at(key, row, CLAIM_MS)]).catch(onError);
      cancel = clock.after(RENEW_MS, again);
    };
    cancel = clock.after(RENEW_MS, again);
    return () => cancel();
  };

  return async (c, next) => {
    const sent = c.req.header(HEADER);
    if (sent === undefined || c.req.method !== 'POST' || c.req.path.startsWith(HOOKS)) return next();
    if (!KEY.test(sent)) throw badIdempotencyKey();
    const key = hashOf(scopeOf(c.get('caller')), sent);
    const asked = hashOf(c.req.method, c.env.incoming.url ?? '', bodyOf(c.env.incoming));
    const claim: IdempotencyRow = { asked, claim: newId() };
    const before = (await tables.get(BEGUN, key)) as unknown as IdempotencyBegun | undefined;
    const begun: IdempotencyBegun = before?.asked === asked ? before : { asked, since: clock.now() };
    const isFirst = await tables.exchange(
      [at(key, undefined), { table: BEGUN, key, value: before as unknown as Json | undefined }],
      [at(key, claim, CLAIM_MS), { table: BEGUN, key, value: { ...begun }, ttlMs: KEEP_MS }],
    );
    if (!isFirst) return replay(c, (await tables.get(TABLE, key)) as IdempotencyRow | undefined, asked);
    c.set('once', { since: begun.since, digest: createHash('sha256').update(`${key} ${asked}`).digest() });
    const release = renew(key, claim);
    try {
      await next();
    } finally {
      release();
    }
    const kept = await keptOf(c, asked);
    const over: TimedWrite = { table: BEGUN, key, value: undefined };
    const writes =
      kept !== undefined
        ? [at(key, kept, KEEP_MS), over]
        : // It may be half done, and a repeated request finds that half.
          [at(key, undefined), ...(c.res.status >= 500 ? [] : [over])];
    // The work is done, so a failure to store the response must not withhold it from the client.
    await tables.exchange([at(key, claim)], writes).catch(onError);
  };
}

/**
 * Token names are used alone, so that keys stored before identities had a kind still match. No name contains a colon.
 */
const scopeOf = ({ by, name }: Caller): string => (by === tokenIdentity(name) ? name : by);

/** The id of what a request creates, the same for each repetition under its key. Undefined if it has no key. */
export function onceId(c: Context<AppEnv>, prefix: string): string | undefined {
  const once = c.get('once');
  return once === undefined ? undefined : derivedId(prefix, once.since, once.digest);
}

/** Whether the item with `onceId` exists already, because a process created it and died before it could respond. */
export const isMadeBefore = (thrown: unknown): boolean =>
  thrown instanceof RuntimeError && thrown.code === 'stream_exists';

const at = (key: string, row: IdempotencyRow | undefined, ttlMs?: number): TimedWrite => ({
  table: TABLE,
  key,
  value: row === undefined ? undefined : JSON.parse(JSON.stringify(row)),
  ...(ttlMs === undefined ? {} : { ttlMs }),
});

function replay(c: Context<AppEnv>, row: IdempotencyRow | undefined, asked: string): Response {
  // The claim was given up or expired meanwhile.
  if (row === undefined) throw idempotencyRunning();
  if (row.asked !== asked) throw idempotencyMismatch();
  if (row.answer === undefined) throw idempotencyRunning();
  const { status, body, type, location, secret } = row.answer;
  if (body === undefined)
    throw idempotencyNotKept(secret ? 'a secret in it' : `more than ${MAX_KEPT_CHARS} characters`);
  c.header('idempotency-replayed', 'true');
  if (location !== undefined) c.header('location', location);
  if (type === '') return c.body(null, status as 204);
  return c.body(body, status as ContentfulStatusCode, { 'content-type': type });
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i;

/** What to store of a response. Undefined if nothing. */
async function keptOf(c: Context<AppEnv>, asked: string): Promise<IdempotencyRow | undefined> {
  const { res, error } = c;
  const type = res.headers.get('content-type') ?? '';
  if (res.status >= 500 || (error instanceof RuntimeError && error.retryable)) return undefined;
  if (c.env.outgoing.headersSent || (res.body !== null && !JSON_TYPE.test(type))) return undefined;
  const body = await res.clone().text();
  const location = res.headers.get('location') ?? undefined;
  return {
    asked,
    answer: {
      status: res.status,
      type,
      ...(c.get('isSecret') === true ? { secret: true } : body.length > MAX_KEPT_CHARS ? {} : { body }),
      ...(location === undefined ? {} : { location }),
    },
  };
}

function hashOf(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}\0`).update(part);
  return hash.digest('hex');
}
