/** Whether a name or an address is this machine's for itself: every address of 127.0.0.0/8 is. */
export const isLoopback = (host: string): boolean =>
  /^(?:localhost|\[?::1\]?|127\.\d{1,3}\.\d{1,3}\.\d{1,3})$/.test(host);

/** The name in an origin or an address, in lower case and without the port; nothing where it is neither. */
export function hostNameOf(address: string): string {
  try {
    return new URL(address).hostname;
  } catch {
    return '';
  }
}

/** An address in numbers, of either kind: what no name service can point elsewhere. */
export const isAddress = (host: string): boolean =>
  /^(?:\[[0-9a-f:.]+\]|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})$/.test(host);

/** Where a server can be reached: `http://127.0.0.1:4800`. */
export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
