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
  /** Signs what is done with the daemon's own token: `user:ana` on the command line, `program` by default. */
  readonly startedBy?: string;
  /** Kills a process that hangs during recovery. */
  readonly hangWatch?: HangWatch | undefined;
  /** Receives notes for whoever watches the process, one line each. */
  readonly onNote: (text: string) => void;
}

/** A complete server: HTTP and all background work. */
export interface Daemon {
  readonly url: string;
  readonly port: number;
  /** An admin token, created at each start. It is never stored, and expires with this process. */
  readonly token: string;
  /** The URL of the console, with the token after `#`, which browsers do not send. */
  readonly link: string;
  /** Resolves once everything that was alive is running again. */
  readonly recovered: Promise<Recovered>;
  /** First stops being ready, then finishes requests, then the rest. Sessions continue at the next start. */
  close(): Promise<void>;
}

/** The modules of sessions are loaded after the first responses, because they take longer than everything else. */
const PRELOAD_MS = 250;

/** Starts listening, then recovers what was alive. `/readyz` reports when that is done. */
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
 * `POST /hooks/:name`: 202 with the outcome, or 200 if the delivery is a repetition and nothing was started. The
 * signature is the only authentication, and the body may have any type.
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
