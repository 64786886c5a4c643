import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { refuseArtifacts } from '../../targets/access/artifact-permission.ts';
import type { ArtifactVersion } from '../../targets/artifacts/artifacts.ts';
import type { InternalDeps } from './definition.ts';

/** How an agent stands in the versions that it writes. */
export const authorOf = ({ name }: AgentManifest): string => `agent:${name}`;

export const mayNotRead = ({ permissions }: AgentManifest): string | undefined =>
  refuseArtifacts(permissions, 'read')?.hint;

/** One that may only read still writes what it is the author of. */
export const writesNone = ({ permissions }: AgentManifest): string | undefined =>
  permissions.artifacts.length > 0 ? undefined : refuseArtifacts(permissions, 'write')?.hint;

/**
 * Throws `not_permitted` where an agent may not write an artifact: it may write any with `permissions.artifacts: [write]`,
 * and without it those whose first version is its own.
 */
export async function mustBeAllowedToWrite(name: string, deps: InternalDeps): Promise<void> {
  const { manifest } = deps;
  const refusal = refuseArtifacts(manifest.permissions, 'write');
  if (refusal === undefined) return;
  const { artifacts } = await deps.desk();
  const first = await artifacts.read(name, 1);
  if (first?.author !== authorOf(manifest)) throw refusal;
}

/** Puts a new version on the log, and says what the model needs of it. */
export function written({ append }: InternalDeps, made: ArtifactVersion) {
  const { name: artifact, version, parent, restores, author: by } = made;
  append({
    type: 'artifact.written',
    artifact,
    version,
    ...(parent === undefined ? {} : { parent }),
    ...(restores === undefined ? {} : { restores }),
    by,
  });
  return { name: artifact, version };
}
