/** Where in the script, counted from 1. */
export interface SandboxPlace {
  readonly line: number;
  readonly column: number;
}
export type SandboxOutcome =
  | { readonly kind: 'value'; readonly json: string }
  | { readonly kind: 'syntax'; readonly message: string; readonly place?: SandboxPlace | undefined }
  | {
      readonly kind: 'threw';
      /** `TypeError`; empty for a value that is no Error. */
      readonly name: string;
      readonly message: string;
      readonly place?: SandboxPlace | undefined;
    }
  /** Stopped by its limit, or because it was asked to. */
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'memory' }
  | { readonly kind: 'stack' }
  | { readonly kind: 'large' }
  | { readonly kind: 'not_json'; readonly path: string; readonly found: string; readonly hint: string };
