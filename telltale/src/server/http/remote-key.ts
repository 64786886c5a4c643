const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/** A household has at least that many groups of an IPv6 address to itself, and as many addresses as it likes behind them. */
const GROUPS = 4;

/** Whom a remote address stands for, where requests are counted. */
export function remoteKey(address: string): string {
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [head = '', tail = ''] = (address.split('%', 1)[0] ?? '').split('::', 2);
  const before = head === '' ? [] : head.split(':');
  const after = tail === '' ? [] : tail.split(':');
  const gap = address.includes('::') ? Array(Math.max(0, 8 - before.length - after.length)).fill('0') : [];
  return [...before, ...gap, ...after].slice(0, GROUPS).join(':');
}
