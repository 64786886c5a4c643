import type { Result } from '../../kernel/result.ts';

/** Why a file cannot be had. */
export type FileProblem =
  | {
      readonly type: 'missing' /** Names in its folder; undefined where the folder itself is missing. */;
      readonly siblings: readonly string[] | undefined;
    }
  | { readonly type: 'denied' }
  | { readonly type: 'folder' }
  | { readonly type: 'special'; readonly what: string }
  | { readonly type: 'too_large'; readonly bytes: number }
  | { readonly type: 'link_loop' }
  | { readonly type: 'unreadable'; readonly reason: string };

export type GlobProblem =
  | { readonly type: 'too_many'; readonly limit: number }
  | { readonly type: 'unreadable'; readonly reason: string };

/** What loading needs of a file system. Paths are absolute. Nothing rejects for what the disk holds. */
export interface Files {
  /** A regular file's bytes; never more than `maxBytes`, looked at before reading. Never waits on a pipe or device. */
  read(path: string, maxBytes: number): Promise<Result<Uint8Array, FileProblem>>;
  /** The path with links resolved; the path itself where that is impossible. */
  realPath(path: string): Promise<string>;
  exists(path: string): Promise<boolean>;
  /** Regular files below `folder` that match, sorted, absolute. Symbolic links are not followed. */
  glob(
    pattern: string,
    folder: string,
    signal?: AbortSignal,
  ): Promise<Result<readonly string[], GlobProblem>>;
}
