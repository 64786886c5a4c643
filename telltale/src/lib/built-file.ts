/** What a thread or a process starts from, given by its source: in the compiled package, the compiled file in its place. */
export const builtFile = (source: URL): URL =>
  import.meta.url.endsWith('.ts') ? source : new URL(source.href.replace(/\.ts$/, '.js'));
