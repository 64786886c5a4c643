import type { ArtifactDraft, Artifacts, ArtifactVersion } from './artifacts.ts';
import { isOfManifest, MANIFEST_AUTHOR, says } from './manifest-version.ts';

/** What a manifest says of an artifact, and no version does, since somebody else's is in force. */
export interface UnusedEdit {
  readonly inForce: ArtifactVersion;
  /** The newest version that a manifest brought: rolling back to it has the manifest count again. */
  readonly ofManifest?: number;
}

/** Versions that are looked at, from the newest on. Whoever has written more since has the first one named. */
const MAX_LOOKED_AT = 200;

/**
 * Whether a manifest's artifact was edited without effect: `seed` keeps it out, and no manifest said the same before. One
 * that is as it was when it was brought is no edit, whatever others have made of it.
 */
export async function findUnusedEdit(
  artifacts: Pick<Artifacts, 'read'>,
  draft: ArtifactDraft,
): Promise<UnusedEdit | undefined> {
  const { name } = draft;
  const inForce = await artifacts.read(name);
  if (inForce === undefined || says(inForce, draft)) return undefined;
  if (await isOfManifest(inForce, artifacts.read)) return undefined;
  let ofManifest: number | undefined;
  const last = Math.max(2, inForce.version - MAX_LOOKED_AT);
  for (let at = inForce.version; at > 0; at = at > last ? at - 1 : at > 1 ? 1 : 0) {
    const version = await artifacts.read(name, at);
    if (version?.author !== MANIFEST_AUTHOR) continue;
    if (says(version, draft)) return undefined;
    ofManifest ??= at;
  }
  return { inForce, ...(ofManifest === undefined ? {} : { ofManifest }) };
}
