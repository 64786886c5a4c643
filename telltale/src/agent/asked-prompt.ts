/** Which prompt is wanted, and how. */
export interface AskedPrompt {
  /** The newest turn where it is absent. */
  readonly turn?: number | undefined;
  /** Values of environment variables in the manifest are shown as `${NAME}`. */
  readonly hideEnvironment?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}
