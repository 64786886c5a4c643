import { resolve } from 'node:path';
import { type FoundManifests, findManifests } from './find-manifests.ts';
import { type LoadOptions, loadManifests, type ManifestText } from './load-manifests.ts';
import type { LoadResult } from './project/project.ts';

export interface ValidateResult extends LoadResult {
  readonly found: FoundManifests;
}

/** `loadManifests` for paths that may be folders: those are walked for manifests. What `telltale validate` does. */
export async function validateManifests(
  paths: readonly (string | ManifestText)[],
  options: LoadOptions,
): Promise<ValidateResult> {
  const cwd = resolve(options.cwd ?? '.');
  const named = paths.filter((path) => typeof path === 'string');
  const texts = paths.filter((path) => typeof path !== 'string');
  const found = await findManifests(named, { cwd, signal: options.signal });
  return { ...(await loadManifests([...found.files, ...texts], { ...options, cwd })), found };
}
