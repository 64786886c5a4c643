import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { nearest } from '../lib/nearest.ts';
import { MANIFEST_KINDS } from './check-manifest.ts';
import { MANIFEST_LIMITS } from './diagnostic.ts';
import { createNodeFiles } from './files/files.ts';
import { walkFolder } from './files/walk-folder.ts';
import { type LoadOptions, loadManifests, type ManifestText } from './load-manifests.ts';
import type { LoadResult } from './project/project.ts';
import { boundedMap } from './project/source-cache.ts';

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

export interface FoundManifests {
  /** Absolute: files that were named, and of the folders that were named what holds manifests. */
  readonly files: readonly string[];
  /** YAML and JSON files that were looked into in folders. */
  readonly looked: number;
  /** Whether a walk ended at its limit, so that files may be missing. */
  readonly cut: boolean;
  readonly denied: readonly string[];
}

/** Folders become the manifests in them; all other paths stay as they are, to be judged when they are read. */
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

/** A file too large to be a manifest, or that cannot be read, was not asked for by name: it is passed over. */
async function holdsManifest(path: string): Promise<boolean> {
  const bytes = await createNodeFiles().read(path, MANIFEST_LIMITS.fileBytes);
  return bytes.ok && looksLikeManifest(new TextDecoder().decode(bytes.value));
}

const YAML_KIND = /^(?:---[ \t]+)?["']?kind["']?[ \t]*:[ \t]*["']?([A-Za-z]\w*)/gm;
const JSON_KIND = /"kind"\s*:\s*"([A-Za-z]\w*)"/g;
/** Kubernetes' and its neighbors' manifests have kinds too, some by the same names. */
const FOREIGN = /^[ \t{]*["']?apiVersion["']?[ \t]*:/m;

/**
 * Whether a YAML or JSON file that was come across holds manifests of ours: one of its documents has a `kind` that is
 * one of ours or near it (so that a misspelt one is reported, not passed over).
 */
export function looksLikeManifest(text: string): boolean {
  if (FOREIGN.test(text)) return false;
  const kinds = text.trimStart().startsWith('{') ? JSON_KIND : YAML_KIND;
  for (const [, kind = ''] of text.matchAll(kinds))
    if (nearest(kind, MANIFEST_KINDS) !== undefined) return true;
  return false;
}
