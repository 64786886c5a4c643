/**
 * Makes something at its first use. A schema takes 30 µs to make and a Workflow has a thousand of them: who reads no
 * Workflow does not wait for them.
 */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
