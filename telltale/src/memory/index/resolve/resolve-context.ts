import type { Json } from '../../../kernel/json.ts';

/** What a folder's own manifests say of how imports are written. Plain data: it comes from a thread. */
export interface ResolveContext {
  /** By name. */
  readonly packages: ReadonlyMap<string, PackageHome>;
  /** The deepest first. */
  readonly configs: readonly PathMapping[];
  /** Path of a Go module, and its folder. */
  readonly goModules: readonly { readonly module: string; readonly folder: string }[];
  /** Folders of Rust crates, by the name that code has for them. */
  readonly crates: ReadonlyMap<string, string>;
}

export interface PackageHome {
  /** `''` for the folder itself. */
  readonly folder: string;
  readonly main?: string;
  readonly exports?: Json;
  readonly imports?: Json;
}

/** `paths` and `baseUrl` that hold for the files of a tsconfig; as all paths here, relative to the folder that is read. */
export interface PathMapping {
  readonly folder: string;
  readonly baseUrl?: string;
  /** The most exact pattern first. */
  readonly paths: readonly (readonly [pattern: string, targets: readonly string[]])[];
}

export const EMPTY_CONTEXT: ResolveContext = {
  packages: new Map(),
  configs: [],
  goModules: [],
  crates: new Map(),
};
