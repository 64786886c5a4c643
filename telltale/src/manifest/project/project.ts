import type { Manifest, ManifestKind } from '../check-manifest.ts';
import type { Diagnostic } from '../diagnostic.ts';
import type { EnvValue } from '../env/hide-env.ts';

export const IMPORT_LISTS = ['tools', 'relics', 'agents', 'workflows', 'artifacts'] as const;
export type ImportList = (typeof IMPORT_LISTS)[number];

export const KIND_OF_LIST = {
  tools: 'Tool',
  relics: 'Relic',
  agents: 'Agent',
  workflows: 'Workflow',
  artifacts: 'Artifact',
} as const satisfies Record<ImportList, ManifestKind>;

/** One entry of an agent's `import`, resolved. `manifests` are ids, in the order in which they were read. */
export type ResolvedImport =
  | {
      readonly type: 'files';
      readonly list: ImportList;
      readonly entry: string;
      readonly manifests: readonly string[];
    }
  | { readonly type: 'builtin'; readonly list: 'tools'; readonly name: string }
  | { readonly type: 'mcp'; readonly list: 'tools'; readonly name: string };

/** A manifest that has no error of its own. Frozen. */
export interface LoadedManifest {
  /** `Agent/coding_agent`: unique in its project. */
  readonly id: string;
  readonly kind: ManifestKind;
  readonly name: string;
  readonly manifest: Manifest;
  /** Absolute. */
  readonly file: string;
  readonly line: number;
  /**
   * SHA-256 of the document as JSON with sorted keys, environment variables put in: the same for every way of
   * writing the same manifest. Runs are pinned to it.
   */
  readonly hash: string;
  /** What an agent imports; empty for other kinds. */
  readonly imports: readonly ResolvedImport[];
  /** The environment variables that were put in: what is shown of the manifest has their names instead. */
  readonly fromEnv?: readonly EnvValue[];
  /** The parts of a manifest written in code that are not JSON, such as functions. The code that runs it knows their shape. */
  readonly code?: object;
}

export interface LoadedSource {
  /** Absolute, links resolved. */
  readonly file: string;
  readonly bytes: number;
  /** SHA-256 of the bytes. */
  readonly hash: string;
}

/** Manifests that are read together: names are unique in it, and files outside its root are not read. */
export interface Project {
  readonly root: string;
  readonly manifests: readonly LoadedManifest[];
}

export interface LoadResult {
  /** Whether there is no error (there may be warnings). */
  readonly ok: boolean;
  readonly projects: readonly Project[];
  readonly sources: readonly LoadedSource[];
  /** In the order of reading, and from top to bottom in each file. */
  readonly diagnostics: readonly Diagnostic[];
  /** How many documents were found, whether or not they are right. */
  readonly documents: number;
}
