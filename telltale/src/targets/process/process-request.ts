import type { Clock } from '../../kernel/clock.ts';
import type { KeptOutput } from '../output/kept-output.ts';

/** A file as it was approved: the sandbox shows these bytes in its place. */
export interface PinnedFile {
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number;
}

/** Where a command in a sandbox may write. */
export interface WritablePlaces {
  /** The folders and files that the permissions name. */
  readonly roots: readonly string[];
  /** Folders that Telltale loads from: a command creates nothing directly in them, but may write what is `open`. */
  readonly steady: readonly { readonly path: string; readonly open: readonly string[] }[];
}

export interface ProcessRequest {
  /** For messages: `tool "build"`. */
  readonly what: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | undefined;
  /** Bytes of stdout that are kept, and of stderr. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Output as it comes, before anything is dropped. */
  readonly onOutput?: ((stream: 'stdout' | 'stderr', chunk: Uint8Array) => void) | undefined;
  /** For Windows' own shell, whose quoting differs from every other program's. */
  readonly verbatimArguments?: boolean;
  /** Whether it may reach the hosts of `permissions.network`; if absent, where that allows any. */
  readonly network?: boolean;
  /** What of the home directory it may read. */
  readonly homeFiles?: readonly string[];
  /** What is closed to commands and open to this one, whose effects were checked before. */
  readonly opens?: {
    /** Whether it creates files directly in folders that are loaded from. */
    readonly folders: boolean;
    /** Settings of git repositories that it writes. */
    readonly settings: readonly string[];
  };
  /** What the sandbox lets it write. */
  readonly writable?: WritablePlaces;
  /** Files that the sandbox shows as they were approved, whatever becomes of them. */
  readonly pinned?: readonly PinnedFile[];
  /** Whether `program` is the sandbox that the real one runs in. */
  readonly sandboxed?: true;
  /** What the program reads from file descriptor 3. */
  readonly extraInput?: Uint8Array | undefined;
  /** Frees what was made for this process; called once it has ended. */
  readonly release?: (() => Promise<void>) | undefined;
}

export interface ProcessDeps {
  readonly clock: Clock;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** What is read, kept or not, before a process that never ends its output is stopped; 4 GiB if absent. */
  readonly maxDrainedBytes?: number;
}

export interface EndedProcess {
  /** Null where a signal ended it. */
  readonly exitCode: number | null;
  readonly signalName: string | null;
  readonly stdout: KeptOutput;
  readonly stderr: KeptOutput;
}
