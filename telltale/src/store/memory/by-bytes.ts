/** The order of UTF-8, as databases have it; that of JavaScript's strings differs above U+FFFF. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
