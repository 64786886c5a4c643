import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { CommandLimits } from '../process/sandbox-limits.ts';
import type { ClosedLocations } from './closed-locations.ts';
import { type CommandsPlace, createPermittedCommands, type PermittedCommands } from './permitted-commands.ts';
import { createPermittedHosts, type PermittedHosts } from './permitted-hosts.ts';
import { createPermittedPaths, type PermittedPaths } from './permitted-paths.ts';

/** What the agent's manifest lets its actions touch. Everything here refuses with `not_permitted` and its remedy. */
export interface Permissions {
  readonly paths: PermittedPaths;
  /** Where configuration and code are loaded from: to be read, and not written. */
  readonly closed: ClosedLocations;
  readonly hosts: PermittedHosts;
  readonly commands: PermittedCommands;
  /** Where the agent may write manifests and modules once a person has approved the change. */
  readonly manifests: readonly string[];
  /** Whether a command is refused where an approval cannot cover all that it runs. */
  readonly isStrict: boolean;
  readonly sandbox: AgentManifest['permissions']['sandbox'];
  /** Of each command in the sandbox. */
  readonly limits: CommandLimits;
  /** Names of environment variables that are in view. */
  readonly environment: readonly string[];
}

const DEFAULT_PROCESSES = 1_024;
const DEFAULT_MEMORY = '4G';

/**
 * `folder` is the agent's; `commands`: how command lines are read, and where programs are; `own`: what no agent may
 * touch.
 */
export function createPermissions(
  { paths, network, shell, approval, sandbox, limits, environment, manifests }: AgentManifest['permissions'],
  folder: string,
  commands: CommandsPlace,
  { own, closed }: { readonly own: PermittedPaths['own']; readonly closed: ClosedLocations },
): Permissions {
  return {
    paths: createPermittedPaths(folder, paths, own),
    closed,
    hosts: createPermittedHosts(network),
    commands: createPermittedCommands(shell, { folder, ...commands }),
    manifests,
    isStrict: approval === 'strict',
    sandbox,
    limits: {
      processes: limits?.processes ?? DEFAULT_PROCESSES,
      memoryBytes: bytesOf(limits?.memory ?? DEFAULT_MEMORY),
    },
    environment,
  };
}

/** `512M`, `4G`. */
const bytesOf = (size: string): number => Number(size.slice(0, -1)) * 1024 ** (size.endsWith('G') ? 3 : 2);
