/** A compiled module. */
export type EngineModule = object;

interface WebAssemblyApi {
  compile(bytes: Uint8Array): Promise<EngineModule>;
  /** What an instance ends with where its code broke. */
  readonly RuntimeError: new () => Error;
}

/** Node has it; its types leave it to those of browsers, which this package is not compiled with. */
export const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };
