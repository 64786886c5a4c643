import { deepEqual } from '../../conditions/deep-equal.ts';
import type { ArtifactDraft, ArtifactVersion } from './artifacts.ts';

/** The author of a version that a manifest brought. */
export const MANIFEST_AUTHOR = 'manifest';

type Load = (name: string, version: number) => Promise<ArtifactVersion | undefined>;

/** Whether a manifest brought it, or what it puts back: then the file counts. */
export async function isOfManifest(version: ArtifactVersion, load: Load): Promise<boolean> {
  let at: ArtifactVersion | undefined = version;
  while (at?.restores !== undefined) at = await load(at.name, at.restores);
  return at?.author === MANIFEST_AUTHOR;
}

export const says = (
  before: ArtifactVersion,
  { source, methods, description }: Omit<ArtifactDraft, 'name'>,
): boolean =>
  before.source === source && before.description === description && deepEqual(before.methods, methods);
