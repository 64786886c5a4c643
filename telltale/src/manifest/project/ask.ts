import type { Diagnostic, Finding } from '../diagnostic.ts';
import type { CodeImport } from './code-manifest.ts';

/** A file somebody asked for, what they called it, and how to tell them what is wrong with it. */
export interface Ask {
  readonly path: string;
  readonly called: string;
  readonly report: (finding: Finding) => Diagnostic;
  /** The import it came from, told which file it turned out to be. */
  readonly found?: (file: string) => void;
  /** What its agents import beyond what stands in it. */
  readonly beside?: readonly CodeImport[];
}
