const PATIENCE_MS = 8000;
const PAUSE_MS = 5;

/** Tries until it no longer throws: for what another thread or process does. */
export async function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
