import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { createPermittedCommands, type PermittedCommands } from './permitted-commands.ts';
import { createPermittedHosts, type PermittedHosts } from './permitted-hosts.ts';
import { createPermittedPaths, type PermittedPaths } from './permitted-paths.ts';

/** What the agent's manifest lets its actions touch. Everything here refuses with `not_permitted` and its remedy. */
export interface Permissions {
  readonly paths: PermittedPaths;
  readonly hosts: PermittedHosts;
  readonly commands: PermittedCommands;
  readonly sandbox: AgentManifest['permissions']['sandbox'];
  /** Names of environment variables that are in view. */
  readonly environment: readonly string[];
  /** Why decision artifacts may not be read or written; undefined where they may. */
  refuseArtifacts(use: 'read' | 'write'): RuntimeError | undefined;
}

/**
 * `folder` is the agent's; `forSh`: command lines are for sh, whose words can be told apart; `kept`: what no agent
 * may touch, or write.
 */
export function createPermissions(
  { paths, network, shell, sandbox, artifacts, environment }: AgentManifest['permissions'],
  folder: string,
  forSh: boolean,
  kept: Partial<Pick<PermittedPaths, 'own' | 'fixed'>> = {},
): Permissions {
  return {
    paths: createPermittedPaths(folder, paths, kept),
    hosts: createPermittedHosts(network),
    commands: createPermittedCommands(shell, forSh),
    sandbox,
    environment,
    refuseArtifacts: (use) => (artifacts.includes(use) ? undefined : artifactsDenied(use)),
  };
}

const artifactsDenied = (use: 'read' | 'write') =>
  new RuntimeError('not_permitted', `This agent may not ${use} artifacts.`, {
    hint: `Add "${use}" to "permissions: { artifacts }" of its manifest.`,
  });
