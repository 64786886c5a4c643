import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import { holdsInfinity } from '../../kernel/holds-infinity.ts';
import { hookTooLarge, hookUnknown } from '../../session/outside/hook-errors.ts';
import { MAX_HOOK_BYTES } from '../../session/outside/receive-hook.ts';
import type { Listeners } from '../hooks/listeners.ts';
import type { AppEnv } from '../server-edges.ts';
import { withHeaders } from './error-answer.ts';
import { isReading } from './guard.ts';
import { badJson, bodyTooLarge, clientGone, jsonTooDeep, wrongMediaType } from './http-errors.ts';
import { isTooDeep, jsonFault } from './json-fault.ts';
import type { ServerLimits } from './limits.ts';

type BodyLimits = Pick<ServerLimits, 'bodyBytes' | 'jsonDepth'>;

/** Where @hono/node-server looks for a body that was read already. */
type WithRawBody = IncomingMessage & { rawBody?: Buffer };

/** What is posted there is of the sender's making, and signed as it is. */
export const HOOKS = '/hooks/';

/**
 * Anybody may post to a hook, so what nobody listens to, and what is too large for any hook, is refused by its head:
 * nothing of the body is kept, and the connection is closed. Stands in front of whatever reads bodies.
 */
export const refuseUnknownHooks =
  (listeners: Pick<Listeners, 'hooks'>): MiddlewareHandler<AppEnv> =>
  async (c, next) => {
    const { path, method } = c.req;
    if (!isReading(method) && path.startsWith(HOOKS)) {
      const asked = decoded(path.slice(HOOKS.length));
      const known = listeners.hooks().map(({ hook }) => hook);
      if (!known.includes(asked)) throw withHeaders(hookUnknown(asked, known), CLOSE);
      if (Number(c.env.incoming.headers['content-length'] ?? 0) > MAX_HOOK_BYTES)
        throw withHeaders(hookTooLarge(asked, MAX_HOOK_BYTES), CLOSE);
    }
    await next();
  };

const CLOSE = { connection: 'close' };

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Reads the whole body, within its limits, and lets only JSON through; empty ones are nobody's concern. */
export const readBody =
  (limits: BodyLimits): MiddlewareHandler<AppEnv> =>
  async (c, next) => {
    if (!isReading(c.req.method)) {
      const { incoming, outgoing } = c.env;
      const isHook = c.req.path.startsWith(HOOKS);
      const limit = isHook ? Math.min(limits.bodyBytes, MAX_HOOK_BYTES) : limits.bodyBytes;
      const body = await bytesOf(incoming, outgoing, limit);
      (incoming as WithRawBody).rawBody = body;
      if (body.length > 0 && !isHook) checkJson(body, incoming.headers, limits.jsonDepth);
    }
    await next();
  };

/** What `readBody` has read. */
export const bodyOf = (incoming: IncomingMessage): Buffer =>
  (incoming as WithRawBody).rawBody ?? Buffer.alloc(0);

async function bytesOf(incoming: IncomingMessage, outgoing: ServerResponse, limit: number): Promise<Buffer> {
  const { headers } = incoming;
  if (Number(headers['content-length'] ?? 0) > limit) throw bodyTooLarge(limit);
  if (headers.expect !== undefined) outgoing.writeContinue();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    // What is too long is answered, too: the connection stays open for that.
    for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > limit) throw bodyTooLarge(limit);
      chunks.push(chunk);
    }
  } catch (thrown) {
    if (size > limit) throw thrown;
    throw clientGone();
  }
  return Buffer.concat(chunks);
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i;

function checkJson(body: Buffer, headers: IncomingMessage['headers'], depth: number): void {
  const { 'content-type': type, 'content-encoding': encoding } = headers;
  if (type === undefined) throw wrongMediaType('of no type');
  if (!JSON_TYPE.test(type)) throw wrongMediaType(`"${type}"`);
  if (encoding !== undefined && encoding !== 'identity') throw wrongMediaType(`compressed ("${encoding}")`);
  if (isTooDeep(body, depth)) throw jsonTooDeep(depth);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw badJson('it is not UTF-8');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const { line, column, wanted } = jsonFault(text);
    throw badJson(`line ${line}, column ${column}: ${wanted} was expected`);
  }
  if (holdsInfinity(value)) throw badJson('a number in it is beyond 1.8e308');
}
