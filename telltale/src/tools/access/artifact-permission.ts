import { RuntimeError } from '../../lib/errors.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';

/** Why an agent may not read or write decision artifacts; undefined where it may. */
export const refuseArtifacts = (
  { artifacts }: AgentManifest['permissions'],
  use: 'read' | 'write',
): RuntimeError | undefined => (artifacts.includes(use) ? undefined : artifactsDenied(use));

const artifactsDenied = (use: 'read' | 'write') =>
  new RuntimeError('not_permitted', `This agent is not allowed to ${use} artifacts.`, {
    hint: `Add "${use}" to "permissions: { artifacts }" of its manifest.`,
  });
