import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createNodeFiles } from './files/node-files.ts';
import { walkFolder } from './files/walk-folder.ts';
import { MANIFEST_LIMITS } from './limits.ts';
import { looksLikeManifest } from './looks-like-manifest.ts';
import { boundedMap } from './project/bounded-map.ts';

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
