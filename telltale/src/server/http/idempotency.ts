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
/** When a request with the key was first begun, until its answer is kept: what it makes has an id that follows from it. */
const BEGUN = 'server.idempotency_begun';
const HEADER = 'idempotency-key';
const KEY = /^[ -~]{1,255}$/;
const KEEP_MS = 24 * 60 * 60 * 1_000;
/** A claim is renewed as long as its process lives, and forgotten this long after it died. */
const CLAIM_MS = 60_000;
const RENEW_MS = 20_000;
const MAX_KEPT_CHARS = 1024 * 1024;

/** What was asked for, and by whose instance of the server it is being answered, or the answer. */
interface IdempotencyRow {
  /** Method, path and body, hashed. */
  readonly asked: string;
  readonly claim?: string;
  readonly answer?: {
    readonly status: number;
    /** Undefined where it was not kept. */
    readonly body?: string;
    /** Why: else it was too long. */
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
 * Does a POST with an `Idempotency-Key` once: the same key of the same caller again gives the first answer. A claim is
 * in the store before anything is done. Answers of 500 and above, of errors that say `retryable`, and streams are not
 * kept: such a request may be made again. When the process dies in between, the key is free again a minute later; what
 * is made under `onceId` is found then, and not made again. Hooks have a guard of their own, and anybody can post to one.
 */
export function createIdempotency(deps: IdempotencyDeps): MiddlewareHandler<AppEnv> {
  const { tables, clock, newId, onError } = deps;

  /** Holds a claim until the returned function is called. */
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
        : // It may have been half done: who tries again finds that half.
          [at(key, undefined), ...(c.res.status >= 500 ? [] : [over])];
    // What was done is done: that its answer could not be kept is no reason to keep it from the client.
    await tables.exchange([at(key, claim)], writes).catch(onError);
  };
}

/** A token's name alone: keys that were kept before identities had a kind still count. No name holds a colon. */
const scopeOf = ({ by, name }: Caller): string => (by === tokenIdentity(name) ? name : by);

/** The id of what a request makes: the same whenever it is made again under its key. Undefined where it has none. */
export function onceId(c: Context<AppEnv>, prefix: string): string | undefined {
  const once = c.get('once');
  return once === undefined ? undefined : derivedId(prefix, once.since, once.digest);
}

/** Whether what was to be made under `onceId` is there already: a process made it, and died before it could say so. */
export const isMadeBefore = (thrown: unknown): boolean =>
  thrown instanceof RuntimeError && thrown.code === 'stream_exists';

const at = (key: string, row: IdempotencyRow | undefined, ttlMs?: number): TimedWrite => ({
  table: TABLE,
  key,
  value: row === undefined ? undefined : JSON.parse(JSON.stringify(row)),
  ...(ttlMs === undefined ? {} : { ttlMs }),
});

function replay(c: Context<AppEnv>, row: IdempotencyRow | undefined, asked: string): Response {
  // Given up, or run out, since it was found.
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

/** What is to be kept of an answer, if it is to be. */
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
