import { RuntimeError } from '../../kernel/runtime-error.ts';
import { clip } from '../../manifest/schema/show-value.ts';

/**
 * How a host is permitted: `named` (private addresses too) or by a wildcard (`*`, `*.example.com`: public
 * addresses only).
 */
export type HostPermission = 'named' | 'public';

export interface PermittedHosts {
  /** Rejects a host that no entry names with `not_permitted`. `host` without, `port` as digits. */
  check(host: string, port: string): HostPermission;
}

/** Entries are `host`, `host:port`, `[::1]:port`, `*.domain`, `*`; an address with a scheme stands for its host. */
export function createPermittedHosts(entries: readonly string[]): PermittedHosts {
  const permitted = entries.map(readEntry);
  return {
    check(host, port) {
      const name = bareHost(host);
      const fits = permitted.filter((entry) => entry.port === undefined || entry.port === port);
      if (fits.some((entry) => entry.host === name)) return 'named';
      if (fits.some((entry) => isWildcardFor(entry.host, name))) return 'public';
      throw hostNotPermitted(name, port, entries);
    },
  };
}

interface Entry {
  readonly host: string;
  readonly port: string | undefined;
}

function readEntry(entry: string): Entry {
  const host = entry.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/[/?#].*$/s, '');
  const [, bracketed, bracketedPort] = /^\[([^\]]*)\](?::(\d+))?$/.exec(host) ?? [];
  if (bracketed !== undefined) return { host: bareHost(bracketed), port: bracketedPort };
  const [, name, port] = /^([^:]*):(\d+)$/.exec(host) ?? [];
  return name === undefined ? { host: bareHost(host), port: undefined } : { host: bareHost(name), port };
}

/** In lower case, without the brackets of an IPv6 address or the dot at the end of a full name. */
export function bareHost(host: string): string {
  const name = host
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  if (!name.includes(':')) return name;
  try {
    return new URL(`http://[${name}]`).hostname.slice(1, -1); // ::0001 is ::1
  } catch {
    return name;
  }
}

const isWildcardFor = (pattern: string, host: string): boolean =>
  pattern === '*' || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)));

const hostNotPermitted = (host: string, port: string, entries: readonly string[]) =>
  new RuntimeError('not_permitted', `The host "${clip(host, 200)}" (port ${port}) is not permitted.`, {
    hint: `Permitted: ${entries.length === 0 ? 'none' : entries.join(', ')}. Add it to "permissions: { network }" of the agent's manifest.`,
  });
