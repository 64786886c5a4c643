import type { HttpBindings } from '@hono/node-server';
import type { Runtime } from '../agent/runtime-types.ts';
import type { Clock } from '../lib/clock.ts';
import type { Audit } from './auth/audit.ts';
import type { Tokens, TokensCaller } from './auth/tokens.ts';
import type { AgentCatalog } from './catalog/agent-catalog.ts';
import type { Notifications } from './notify/create-notifications.ts';
import type { Streams } from './stream/create-streams.ts';

export type { TokensCaller as Caller };

/** What every part of the server uses. */
export interface ServerDeps {
  readonly runtime: Runtime;
  readonly catalog: AgentCatalog;
  readonly streams: Streams;
  readonly tokens: Tokens;
  readonly audit: Audit;
  readonly notifications: Notifications;
  readonly clock: Clock;
  readonly version: string;
  readonly dev: boolean;
  /** Tells which providers' keys are set. Only the runtime uses the keys themselves. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Aborted when the server starts to close, so that long waits end. */
  readonly closing: AbortSignal;
  /** Receives errors that no client can be sent. */
  readonly onError: (thrown: unknown) => void;
}

/** The types of the Hono app: `c.get('caller')`, `c.env.outgoing`. */
export interface AppEnv {
  Bindings: HttpBindings;
  Variables: {
    readonly caller: TokensCaller;
    /** The subject of the request, for the audit: `c.set('about', id)`. */
    about?: string;
    /** For a request with an `Idempotency-Key`: when it first started, and its digest. See `onceId`. */
    once?: { readonly since: number; readonly digest: Uint8Array };
    /** Whether the response contains a secret, which is shown once and never stored. */
    isSecret?: boolean;
  };
}
