import { createHash } from 'node:crypto';
import { isAbsolute, relative, sep } from 'node:path';
import { decodeSource } from '../decode-source.ts';
import type { Diagnostic } from '../diagnostic.ts';
import type { Env } from '../env/substitute-env.ts';
import type { FileProblem, Files } from '../files/files.ts';
import { isInside } from '../files/project-root.ts';
import { MANIFEST_LIMITS } from '../limits.ts';
import { type ReadDocument, readManifests } from '../read-manifests.ts';
import type { LoadedSource } from './project.ts';

/** A file that has been read, or why it could not be. */
export type ReadSource =
  | {
      readonly type: 'read';
      /** Links resolved. */
      readonly file: string;
      readonly label: string;
      readonly documents: readonly ReadDocument[];
      /** Whether some of its documents could not be read at all: what they would have named is not known. */
      readonly isBroken: boolean;
      readonly diagnostics: readonly Diagnostic[];
    }
  | { readonly type: 'problem'; readonly problem: FileProblem }
  | { readonly type: 'outside' }
  | { readonly type: 'full'; readonly what: 'files' | 'bytes' };

/** Reads each file once, however many ways lead to it, and keeps count of what the load has cost. */
export interface SourceCache {
  read(path: string, realRoot: string): Promise<ReadSource>;
  add(label: string, bytes: Uint8Array): ReadSource;
  /** A path as diagnostics show it. */
  label(path: string): string;
  sources(): readonly LoadedSource[];
  documents(): number;
}

export interface SourceCacheOptions {
  readonly env: Env;
  readonly cwd: string;
  readonly files: Files;
  readonly onProgress?: ((read: number) => void) | undefined;
}

export function createSourceCache({ env, cwd, files, onProgress }: SourceCacheOptions): SourceCache {
  const reads = new Map<string, Promise<ReadSource>>();
  const sources: LoadedSource[] = [];
  let bytesRead = 0;
  let documents = 0;

  const label = (path: string) =>
    isInside(path, cwd) ? relative(cwd, path).split(sep).join('/') || '.' : path;

  const keep = (file: string, shown: string, bytes: Uint8Array): ReadSource => {
    sources.push(
      Object.freeze({ file, bytes: bytes.length, hash: createHash('sha256').update(bytes).digest('hex') }),
    );
    onProgress?.(sources.length);
    const decoded = decodeSource(shown, bytes);
    if (!decoded.ok)
      return {
        type: 'read',
        file,
        label: shown,
        documents: [],
        isBroken: true,
        diagnostics: [decoded.diagnostic],
      };
    const read = readManifests(decoded.source, env);
    documents += read.count;
    return {
      type: 'read',
      file,
      label: shown,
      documents: read.documents,
      isBroken: read.count > read.documents.length,
      diagnostics: read.diagnostics,
    };
  };

  const readFile = async (path: string, file: string): Promise<ReadSource> => {
    const bytes = await files.read(file, MANIFEST_LIMITS.fileBytes);
    if (!bytes.ok) return { type: 'problem', problem: bytes.error };
    bytesRead += bytes.value.length;
    if (bytesRead > MANIFEST_LIMITS.totalBytes) return { type: 'full', what: 'bytes' };
    return keep(file, label(path), bytes.value);
  };

  return {
    async read(path, realRoot) {
      const file = await files.realPath(path);
      if (isAbsolute(file) && !isInside(file, realRoot)) return { type: 'outside' };
      const known = reads.get(file);
      if (known !== undefined) return known;
      if (reads.size >= MANIFEST_LIMITS.files) return { type: 'full', what: 'files' };
      const reading = readFile(path, file);
      reads.set(file, reading);
      return reading;
    },
    add: (shown, bytes) => keep(shown, shown, bytes),
    label,
    sources: () => sources.toSorted((a, b) => (a.file < b.file ? -1 : 1)),
    documents: () => documents,
  };
}
