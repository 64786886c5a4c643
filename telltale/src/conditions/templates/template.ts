import type { Json } from '../../kernel/json.ts';
import type { PathSegment } from '../issue.ts';

/** A string with references that was read. `source` is what was written. */
export interface Template {
  readonly source: string;
  readonly pieces: readonly TemplatePiece[];
}

/** `offset` and `source` say where a piece stands in the template and how it is written there. */
export type TemplatePiece = TextPiece | ReferencePiece | EnvPiece;

export interface TextPiece {
  readonly kind: 'text';
  /** With `$${` already read as `${`. */
  readonly text: string;
  readonly offset: number;
}

/** `${steps.build.output ?? vars.fallback ?? "none"}`: resolved when a step runs. */
export interface ReferencePiece {
  readonly kind: 'reference';
  readonly root: string;
  readonly path: readonly PathSegment[];
  /** What to take instead where the value is missing or null, in this order. */
  readonly otherwise: readonly Alternative[];
  readonly source: string;
  readonly offset: number;
}

export type Alternative =
  | { readonly kind: 'reference'; readonly root: string; readonly path: readonly PathSegment[] }
  | { readonly kind: 'value'; readonly value: Json };

/** `${NAME}`, `${NAME:-default}`: an environment variable, put in when the file is loaded. */
export interface EnvPiece {
  readonly kind: 'env';
  readonly name: string;
  readonly default?: string;
  readonly source: string;
  readonly offset: number;
}

/** Names that always mean the run, never the environment. */
export const RESERVED_ROOTS = ['agent', 'steps', 'vars', 'run', 'trigger', 'input', 'item'] as const;

export type TemplateCode =
  | 'not_closed'
  | 'empty_reference'
  | 'unknown_root'
  | 'bad_path'
  | 'bad_default'
  | 'too_long'
  | 'no_such_path'
  | 'env_left'
  | 'env_unset'
  | 'too_large';
