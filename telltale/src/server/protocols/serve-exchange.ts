import type { Context } from 'hono';
import type { ObservedEvent } from '../../events/event.ts';
import type { AppEnv, ServerDeps } from '../server-edges.ts';
import type { Exchange } from './exchange/exchange.ts';
import type { ExchangeEnd } from './exchange/exchange-end.ts';
import { createSseBody, SSE_HEADERS } from './sse-body.ts';

/** How a protocol tells an exchange. */
export interface ExchangeFolder {
  begin(): readonly object[];
  take(event: ObservedEvent): readonly object[];
  end(end: ExchangeEnd): readonly object[];
}

export interface ServeOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent behind the last event, as it is. */
  readonly last?: string;
  /** The client went away before the end. */
  readonly onGone: () => void;
}

/** Answers with an exchange as server-sent events. Undefined where its beginning is not kept any more. */
export function serveExchange(
  c: Context<AppEnv>,
  { clock }: Pick<ServerDeps, 'clock'>,
  exchange: Exchange,
  fold: ExchangeFolder,
  { headers = {}, last, onGone }: ServeOptions,
): Response | undefined {
  let leave: (() => void) | undefined;
  const body = createSseBody({
    clock,
    signal: c.req.raw.signal,
    cut: () => void c.env.outgoing.destroy(),
    onGone() {
      leave?.();
      onGone();
    },
  });
  const send = (events: readonly object[]) => {
    for (const event of events) body.send(JSON.stringify(event));
  };
  send(fold.begin());
  leave = exchange.follow({
    event: (event) => send(fold.take(event)),
    end(end) {
      send(fold.end(end));
      if (last !== undefined) body.send(last);
      body.end();
    },
  });
  if (leave === undefined) {
    body.end();
    return undefined;
  }
  c.set('about', exchange.session.id);
  return c.body(body.stream, 200, { ...SSE_HEADERS, ...headers, [SESSION_HEADER]: exchange.session.id });
}

/** Which session an answer comes from. */
export const SESSION_HEADER = 'x-telltale-session';
