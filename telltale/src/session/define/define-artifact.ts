interface About {
  /** The name that invocations use. */
  readonly name: string;
  readonly version?: string;
  /** What it decides. */
  readonly description?: string;
}

/**
 * A function whose text becomes part of the artifact's source. It runs in the sandbox, gets the invocation's `args` and
 * then a `DecisionContext`, and closes over nothing: it sees its arguments and the artifact's other methods by name.
 */
// biome-ignore lint/suspicious/noExplicitAny: what an invocation's `args` are stands where the artifact is asked.
export type ArtifactMethod = (...args: any[]) => unknown;

/** An artifact, written in code: as source text, or as plain functions. */
export type ArtifactDefinition = About &
  (
    | {
        /** JavaScript that defines the methods; without any, the text of a prompt (`prompt_artifact_id`). */
        readonly source: string;
        readonly methods?: Readonly<Record<string, { readonly description?: string }>>;
      }
    | {
        readonly source?: never;
        readonly methods: Readonly<
          Record<string, ArtifactMethod | { readonly description?: string; readonly run: ArtifactMethod }>
        >;
      }
  );

/** An artifact that agents can be given. Checked with the first agent that it is given to. */
export interface DefinedArtifact {
  readonly kind: 'Artifact';
  readonly name: string;
  readonly definition: object;
}

/** Sandboxed code that takes decisions. The store keeps it in versions, as it does one of a manifest. */
export function defineArtifact(definition: ArtifactDefinition): DefinedArtifact {
  return Object.freeze({
    kind: 'Artifact',
    name: definition.name,
    definition: Object.freeze({ ...definition }),
  });
}
