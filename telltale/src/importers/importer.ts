import type { Diagnostic } from '../manifest/diagnostic.ts';
import type { Files } from '../manifest/files.ts';
import type { SourceText } from '../manifest/source-text.ts';
import type { Entry } from './report.ts';

/** A file of another system. */
export interface SourceFile {
  /** Absolute. */
  readonly path: string;
  /** As messages show it: relative to the current folder where it is below it. */
  readonly file: string;
  readonly source: SourceText;
}

/** A file to be written, relative to the folder of the import. */
export interface MadeFile {
  readonly path: string;
  readonly text: string;
}

/** What was made of one source file, or of several that belong together. */
export interface ImportedFile {
  readonly file: string;
  readonly diagnostics: readonly Diagnostic[];
  /** Absent if the file could not be imported; the diagnostics say why. */
  readonly made?: {
    /** What it is now, in lower case: `workflow`, `agent`, `tool`. */
    readonly kind: string;
    readonly name: string;
    readonly files: readonly MadeFile[];
    readonly entries: readonly Entry[];
  };
}

export interface ImportOptions {
  readonly cwd: string;
  /** The folder the manifests go to, absolute. */
  readonly out: string;
  readonly files: Files;
  readonly signal: AbortSignal;
  /** `--model`: what agents run on, in place of what the source says. */
  readonly model?: string | undefined;
  /** `--agent`: whether an agent is made for a workflow, too. */
  readonly agent: boolean;
  /** `--confirm`: when a person is asked about a step. */
  readonly confirm: 'after' | 'before';
}

/** Converts files of one system. It only computes: the caller checks what was made, and writes it. */
export interface Importer {
  /** A glob for the files that are looked at in a folder. */
  readonly pattern: string;
  /** Whether a file found in a folder is of this format. Files that were named are not asked. */
  detect(file: SourceFile): boolean;
  import(files: readonly SourceFile[], options: ImportOptions): Promise<readonly ImportedFile[]>;
}

export interface Format {
  /** What a file of it is called in messages, with an article. */
  readonly noun: string;
  /** Options of the command that only some formats take. */
  readonly options: readonly ('agent' | 'confirm' | 'model')[];
  readonly load: () => Promise<Importer>;
}
