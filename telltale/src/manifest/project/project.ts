import type { Manifest, ManifestKind } from '../check-manifest.ts';
import type { Diagnostic } from '../diagnostic.ts';
import type { EnvValue } from '../environment.ts';

export const IMPORT_LISTS = ['tools', 'relics', 'agents', 'workflows', 'artifacts'] as const;
export type ImportList = (typeof IMPORT_LISTS)[number];

export const KIND_OF_LIST = {
  tools: 'Tool',
  relics: 'Relic',
  agents: 'Agent',
  workflows: 'Workflow',
  artifacts: 'Artifact',
} as const satisfies Record<ImportList, ManifestKind>;

/** One resolved entry of an agent's `import`. `manifests` are ids, in the order in which they were read. */
export type ResolvedImport =
  | {
      readonly type: 'files';
      readonly list: ImportList;
      readonly entry: string;
      readonly manifests: readonly string[];
    }
  | { readonly type: 'builtin'; readonly list: 'tools'; readonly name: string }
  | { readonly type: 'mcp'; readonly list: 'tools'; readonly name: string };

/** A frozen manifest without errors of its own. */
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
   * SHA-256 of the document as JSON with sorted keys, after environment variables were inserted. It is the same for
   * every way of writing the same manifest. Runs are pinned to it.
   */
  readonly hash: string;
  /** The imports of an agent. Empty for other kinds. */
  readonly imports: readonly ResolvedImport[];
  /**
   * The environment variables that were inserted. Wherever the manifest is shown, their names appear instead of the
   * values.
   */
  readonly fromEnv?: readonly EnvValue[];
  /** The parts of a manifest written in code that are not JSON, such as functions. The code that runs it knows their shape. */
  readonly code?: object;
}

export interface LoadedSource {
  /** Absolute, with links resolved. */
  readonly file: string;
  readonly bytes: number;
  /** SHA-256 of the bytes. */
  readonly hash: string;
}

/** Manifests that are read together. Names are unique in a project, and files outside its root are not read. */
export interface Project {
  readonly root: string;
  readonly manifests: readonly LoadedManifest[];
}

export interface LoadResult {
  /** Whether there is no error. There may be warnings. */
  readonly ok: boolean;
  readonly projects: readonly Project[];
  readonly sources: readonly LoadedSource[];
  /** In the order of reading, and from top to bottom within each file. */
  readonly diagnostics: readonly Diagnostic[];
  /** The number of documents, valid or not. */
  readonly documents: number;
}
