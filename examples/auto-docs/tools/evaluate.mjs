/**
 * Each call reads the library anew: the agent may have changed it since the last one.
 * @param {{ expression: string }} parameters
 * @param {{ idempotencyKey: string }} context
 */
export async function run({ expression }, { idempotencyKey }) {
  const url = new URL('../project/src/text.js', import.meta.url);
  url.searchParams.set('call', idempotencyKey);
  const library = await import(url.href);
  return new Function(...Object.keys(library), `return (${expression});`)(...Object.values(library));
}
