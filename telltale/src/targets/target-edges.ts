import type { Clock } from '../kernel/clock.ts';
import type { OwnAddresses } from './access/own-addresses.ts';
import type { Permissions } from './access/permissions.ts';
import type { Resolver } from './http/checked-lookup.ts';
import type { McpServers } from './mcp/mcp-server.ts';
import type { Env } from './process/child-environment.ts';
import type { Confinement } from './process/confinement.ts';
import type { Sandbox } from './sandbox/sandbox.ts';

/** What the targets of one agent have of the world. */
export interface TargetDeps {
  /** The agent's folder, absolute. */
  readonly folder: string;
  readonly agentName: string;
  readonly clock: Clock;
  readonly env: Env;
  readonly permissions: Permissions;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  readonly resolveHost: Resolver;
  /** The addresses of Telltale's own servers, which no action reaches. */
  readonly own: OwnAddresses;
  /** Keeps commands to what they may touch. */
  readonly confinement: Confinement;
  /** What is to be ended when the table is closed. */
  readonly atClose: (close: () => Promise<void>) => void;
  readonly sandbox: Sandbox;
  /** The agent's MCP servers, which run. */
  readonly servers: McpServers;
}
