/** Makes something at its first use: the 766 schemas of a Workflow take 12 ms, which most runs have no use for. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
