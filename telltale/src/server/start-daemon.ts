import { DRAIN_MS } from '../agent/messages.ts';
import type { Runtime } from '../agent/runtime-types.ts';
import type { Clock } from '../lib/clock.ts';
import { createTokens, withStartToken } from './auth/tokens.ts';
import type { Listeners } from './background.ts';
import { startBackground } from './background.ts';
import type { AgentCatalog } from './catalog/agent-catalog.ts';
import { createServer, type Mount, type ServerOptions } from './create-server.ts';
import { bodyOf } from './http/read-body.ts';
import { mountProtocols } from './protocols/mount-protocols.ts';
import type { HangWatch } from './recovery/recovery-guard.ts';
import type { Recovered } from './recovery/recovery-service.ts';
import { mountRoutes } from './routes/mount-routes.ts';
import { createStreams } from './stream/create-streams.ts';

export interface DaemonOptions
  extends Pick<
    ServerOptions,
    'host' | 'port' | 'web' | 'requireToken' | 'origins' | 'allowHosts' | 'limits' | 'metrics' | 'onError'
  > {
  readonly runtime: Runtime;
  readonly catalog: AgentCatalog;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly dev: boolean;
  /** Who starts it: signs what is done with its own token. `user:ana` on the command line; `program` if absent. */
  readonly startedBy?: string;
  /** Ends a process that hangs while it recovers something. */
  readonly hangWatch?: HangWatch | undefined;
  /** What whoever watches the process should know, a line each. */
  readonly onNote: (text: string) => void;
}

/** A server that works on its own: HTTP, and all that goes on without anybody asking. */
export interface Daemon {
  readonly url: string;
  readonly port: number;
  /** An admin's token, made anew at each start. It is kept nowhere, and ends with this process. */
  readonly token: string;
  /** The address of the console, with the token behind `#`: a browser sends that part to nobody. */
  readonly link: string;
  /** Resolves once everything that was alive is worked on. */
  readonly recovered: Promise<Recovered>;
  /** Not ready first, then what is being answered, then the rest. Sessions go on at the next start. */
  close(): Promise<void>;
}

/** Sessions' modules are loaded once the first requests have been answered: they take longer than all the rest. */
const PRELOAD_MS = 250;

/** Listens, then takes up what was alive: `/readyz` says so once that is done. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { runtime, catalog, clock, env, onError, onNote, startedBy = 'program' } = options;
  const { tokens, token } = withStartToken(createTokens(runtime.store, clock), startedBy);
  const { fleet } = runtime;
  const streams = createStreams({ runtime, clock, onError });
  let url: string | undefined;
  const background = startBackground({
    runtime,
    catalog,
    clock,
    env,
    onError,
    onNote,
    hangWatch: options.hangWatch,
    pageOf: (kind, stream) => (url === undefined ? undefined : `${url}/#/${kind}s/${stream}`),
  });
  const { audit, listeners, notifications } = background;
  let isRecovering = true;
  let cancelPreload: (() => void) | undefined;
  const closeParts = async (drainMs: number) => {
    cancelPreload?.();
    await background.close(drainMs);
  };
  const server = await createServer({
    ...options,
    streams,
    notifications,
    tokens,
    audit,
    notReady: () => (isRecovering ? 'recovering' : undefined),
    hooks: listeners,
    mounts: [mountHooks(listeners), mountRoutes, mountProtocols],
  }).catch(async (thrown) => {
    await streams.close();
    await closeParts(0);
    throw thrown;
  });
  url = server.url;
  fleet?.answersAt(url);
  const recovered = background.recover().finally(() => {
    isRecovering = false;
    cancelPreload = clock.after(PRELOAD_MS, () => void runtime.preload().catch(onError));
  });
  recovered.catch(onError);
  let closing: Promise<void> | undefined;
  const close = async () => {
    const began = clock.now();
    fleet?.drain();
    await server.drain();
    await closeParts(DRAIN_MS - (clock.now() - began));
    await server.close();
  };
  return {
    url: server.url,
    port: server.port,
    token,
    link: `${server.url}/#token=${token}`,
    recovered,
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/**
 * `POST /hooks/:name`: 202 with what came of it, 200 where it came before and nothing was started. The signature is all
 * that a sender needs; the body is taken as it came, whatever its type.
 */
export const mountHooks =
  (listeners: Pick<Listeners, 'deliver'>): Mount =>
  (app) => {
    app.post('/hooks/:name', async (c) => {
      const { incoming } = c.env;
      const headers = Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [
          name,
          Array.isArray(value) ? value.join(', ') : value,
        ]),
      );
      const outcome = await listeners.deliver(c.req.param('name'), bodyOf(incoming), headers);
      if ('run' in outcome && outcome.run !== undefined) c.set('about', outcome.run);
      return c.json(outcome, outcome.kind === 'replayed' ? 200 : 202);
    });
  };
