import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { nearest } from '../lib/nearest.ts';
import { MANIFEST_KINDS } from './check-manifest.ts';
import { MANIFEST_LIMITS } from './diagnostic.ts';
import { createNodeFiles, walkFolder } from './files.ts';
import { type LoadOptions, loadManifests, type ManifestText } from './load-manifests.ts';
import type { LoadResult } from './project/project.ts';
import { boundedMap } from './project/source-cache.ts';

export interface ValidateResult extends LoadResult {
  readonly found: FoundManifests;
}

/** `loadManifests` for paths that may be folders, which are searched for manifests. `telltale validate` uses it. */
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

export interface FoundManifests {
  /** Absolute paths: the named files, and the files with manifests in the named folders. */
  readonly files: readonly string[];
  /** How many YAML and JSON files in folders were examined. */
  readonly looked: number;
  /** Whether a walk stopped at its limit, so that files may be missing. */
  readonly cut: boolean;
  readonly denied: readonly string[];
}

/** Replaces folders by the manifests in them. Other paths stay; reading them reports what is wrong. */
export async function findManifests(
  paths: readonly string[],
  options: { readonly cwd: string; readonly signal?: AbortSignal | undefined },
): Promise<FoundManifests> {
  const files: string[] = [];
  const denied: string[] = [];
  let looked = 0;
  let cut = false;
  for (const path of paths) {
    const absolute = resolve(options.cwd, path);
    const isFolder = await stat(absolute).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
    if (!isFolder) {
      files.push(absolute);
      continue;
    }
    const walked = await walkFolder(absolute, options.signal);
    const kept = await boundedMap(walked.files, MANIFEST_LIMITS.concurrentReads, async (file) => {
      options.signal?.throwIfAborted();
      return (await holdsManifest(file)) ? [file] : [];
    });
    files.push(...kept.flat());
    looked += walked.files.length;
    cut ||= walked.cut;
    denied.push(...walked.denied);
  }
  return { files: [...new Set(files)], looked, cut, denied };
}

/** Skips a file that is too large or unreadable, because nobody named it. */
async function holdsManifest(path: string): Promise<boolean> {
  const bytes = await createNodeFiles().read(path, MANIFEST_LIMITS.fileBytes);
  return bytes.ok && looksLikeManifest(new TextDecoder().decode(bytes.value));
}

const YAML_KIND = /^(?:---[ \t]+)?["']?kind["']?[ \t]*:[ \t]*["']?([A-Za-z]\w*)/gm;
const JSON_KIND = /"kind"\s*:\s*"([A-Za-z]\w*)"/g;
/** Manifests of Kubernetes and similar systems also have kinds, some with the same names. */
const FOREIGN = /^[ \t{]*["']?apiVersion["']?[ \t]*:/m;

/**
 * Whether a YAML or JSON file contains a manifest of ours: the `kind` of one of its documents is one of ours or similar
 * to one, so that a misspelled one is reported instead of skipped.
 */
export function looksLikeManifest(text: string): boolean {
  if (FOREIGN.test(text)) return false;
  const kinds = text.trimStart().startsWith('{') ? JSON_KIND : YAML_KIND;
  for (const [, kind = ''] of text.matchAll(kinds))
    if (nearest(kind, MANIFEST_KINDS) !== undefined) return true;
  return false;
}
