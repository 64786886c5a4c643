import type { HttpBindings } from '@hono/node-server';
import type { Runtime } from '../agent/runtime-types.ts';
import type { Clock } from '../lib/clock.ts';
import type { Audit } from './auth/audit.ts';
import type { Tokens, TokensCaller } from './auth/tokens.ts';
import type { AgentCatalog } from './catalog/agent-catalog.ts';
import type { Notifications } from './notify/create-notifications.ts';
import type { Streams } from './stream/create-streams.ts';

export type { TokensCaller as Caller };

/** What every part of the server has at hand. */
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
  /** Says which providers' keys are set; the keys themselves are for the runtime. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Aborted when the server begins to close: what waits for long ends by it. */
  readonly closing: AbortSignal;
  /** What no client can be told of. */
  readonly onError: (thrown: unknown) => void;
}

/** Of the Hono app: `c.get('caller')`, `c.env.outgoing`. */
export interface AppEnv {
  Bindings: HttpBindings;
  Variables: {
    readonly caller: TokensCaller;
    /** What the request turned out to be about, for the audit: `c.set('about', id)`. */
    about?: string;
    /** With an `Idempotency-Key`: when it was first begun, and a digest of it. See `onceId`. */
    once?: { readonly since: number; readonly digest: Uint8Array };
    /** The answer holds what is shown once: it is kept nowhere. */
    isSecret?: boolean;
  };
}
