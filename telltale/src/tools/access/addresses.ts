import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { networkInterfaces, platform } from 'node:os';
import { join } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import type { ProcessEnvironment } from '../process/child-environment.ts';
import { DAEMONS, stateFolders } from './runtime-paths.ts';

/** The addresses of Telltale's own servers. An action that could reach one could approve its own reviews. */
export interface OwnAddresses {
  /** Throws `not_permitted` when the IP address and port belong to one of Telltale's servers. Other hosts pass. */
  check(address: string, port: string): void;
}

interface ListeningServer {
  readonly host: string;
  readonly port: number;
}

/** The servers that listen in this process. */
const listeners = new Set<ListeningServer>();

/** Call this once a server of Telltale listens, and call the returned function when it closes. */
export function registerListener(host: string, port: number): () => void {
  const listener = { host, port };
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * Covers the servers of this process and those that other processes recorded in a state folder (`daemons/*.json`),
 * whatever environment those were started with. Both are read again at each check, because servers come and go.
 */
export function createOwnAddresses(env: ProcessEnvironment): OwnAddresses {
  const folders = stateFolders(env).map((folder) => join(folder, DAEMONS));
  return {
    check(address, port) {
      const at = [...listeners, ...folders.flatMap(recordedDaemons)].find(
        (each) => String(each.port) === port,
      );
      if (at !== undefined && (isThisMachine(address) || address === at.host))
        throw ownAddress(address, port);
    },
  };
}

function recordedDaemons(folder: string): readonly ListeningServer[] {
  return jsonFilesIn(folder).flatMap((name) => {
    const { host, port, pid } = readDaemon(join(folder, name));
    if (typeof port !== 'number' || hasExited(pid)) return [];
    return [{ host: typeof host === 'string' ? host : '', port }];
  });
}

function jsonFilesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return []; // no daemon has been started yet
  }
}

function readDaemon(path: string): {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly pid?: unknown;
} {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) ?? {}) as object;
  } catch {
    return {}; // the daemon has exited, or is writing the file
  }
}

/** A daemon that was killed leaves its file behind, and another server may use the port by now. */
const hasExited = (pid: unknown): boolean =>
  platform() === 'linux' &&
  typeof pid === 'number' &&
  existsSync('/proc/self') &&
  !existsSync(`/proc/${pid}`);

const ownAddress = (address: string, port: string) =>
  new RuntimeError(
    'not_permitted',
    `"${clip(address, 100)}" (port ${port}) is the address of a Telltale server on this machine. Actions must not reach it.`,
    {
      hint: 'An agent that reaches it could approve its own actions. No entry in "permissions: { network }" allows it.',
    },
  );

/** Every range outside the public internet (IANA's special-purpose registries). The first match counts. */
const NOT_PUBLIC: readonly (readonly [string, number, string])[] = [
  ['0.0.0.0', 8, 'an unspecified'],
  ['10.0.0.0', 8, 'a private'],
  ['100.64.0.0', 10, 'a shared'],
  ['127.0.0.0', 8, 'a loopback'],
  ['169.254.0.0', 16, 'a link-local'],
  ['172.16.0.0', 12, 'a private'],
  ['192.0.0.0', 24, 'a reserved'],
  ['192.0.2.0', 24, 'a reserved'],
  ['192.88.99.0', 24, 'a translated'],
  ['192.168.0.0', 16, 'a private'],
  ['198.18.0.0', 15, 'a reserved'],
  ['198.51.100.0', 24, 'a reserved'],
  ['203.0.113.0', 24, 'a reserved'],
  ['224.0.0.0', 3, 'a multicast or reserved'],
  ['::1', 128, 'a loopback'],
  ['::', 96, 'an unspecified'],
  ['::ffff:0:0:0', 96, 'a translated'], // SIIT
  ['64:ff9b::', 96, 'a translated'], // NAT64
  ['64:ff9b:1::', 48, 'a translated'],
  ['100::', 64, 'a reserved'],
  ['2001::', 23, 'a reserved'], // with Teredo, 2001::/32
  ['2001:db8::', 32, 'a reserved'],
  ['2002::', 16, 'a translated'], // 6to4
  ['3fff::', 20, 'a reserved'],
  ['5f00::', 16, 'a reserved'],
  ['fc00::', 7, 'a private'],
  ['fe80::', 10, 'a link-local'],
  ['fec0::', 10, 'a private'],
  ['ff00::', 8, 'a multicast'],
];

const RANGES = NOT_PUBLIC.map(([net, prefix, kind]) => {
  const range = new BlockList();
  range.addSubnet(net, prefix, isIP(net) === 4 ? 'ipv4' : 'ipv6');
  return { range, kind, family: isIP(net) };
});

/** Returns `a loopback`, `a private`, …, or undefined for an address on the public internet. */
export function privateKind(address: string): string | undefined {
  const bare = withoutZone(address);
  if (isIP(bare) === 0) return 'an unreadable';
  const mapped = mappedAddress(bare) ?? bare;
  const family = isIP(mapped);
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const own = RANGES.find((each) => each.family === family && each.range.check(mapped, type))?.kind;
  if (own !== undefined || family === 4) return own;
  // ISATAP works with any prefix: the address leads to the IPv4 address at its end.
  const end = isatapAddress(groupsOf(mapped) ?? []);
  return end !== undefined && privateKind(end) !== undefined ? 'a translated' : undefined;
}

/**
 * Whether a connection to this address can end on this machine: loopback, the unspecified address, and the addresses of
 * its network interfaces, also as IPv4 embedded in any form of IPv6.
 */
function isThisMachine(address: string): boolean {
  const bare = withoutZone(address).toLowerCase();
  if (isIP(bare) === 0) return false;
  return [bare, ...embeddedAddresses(bare)].some(
    (each) => LOCAL.has(privateKind(each) ?? '') || interfaceAddresses().has(canonical(each)),
  );
}

const LOCAL: ReadonlySet<string> = new Set(['a loopback', 'an unspecified']);

function interfaceAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return new Set(all.map(({ address }) => canonical(withoutZone(address))));
}

/** The IPv4 addresses embedded in an IPv6 address, by any of the standards for it. Empty for other addresses. */
export function embeddedAddresses(address: string): readonly string[] {
  const groups = groupsOf(withoutZone(address));
  if (groups === undefined) return [];
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  const first80 = a === 0 && b === 0 && c === 0 && d === 0;
  const found: string[] = [];
  if (first80 && ((e === 0 && (f === 0 || f === 0xffff)) || (e === 0xffff && f === 0)))
    found.push(ipv4(g, h)); // compatible, mapped, SIIT
  if (a === 0x64 && b === 0xff9b) found.push(ipv4(g, h)); // NAT64
  if (a === 0x2002) found.push(ipv4(b, c)); // 6to4
  if (a === 0x2001 && b === 0) found.push(ipv4(c, d), ipv4(g ^ 0xffff, h ^ 0xffff)); // Teredo
  const isatap = isatapAddress(groups);
  return isatap === undefined ? found : [...found, isatap];
}

const isatapAddress = ([, , , , e, f, g = 0, h = 0]: readonly number[]): string | undefined =>
  (e === 0 || e === 0x200) && f === 0x5efe ? ipv4(g, h) : undefined;

const ipv4 = (high: number, low: number): string => [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');

const withoutZone = (address: string): string => address.replace(/%.*$/, '');

const canonical = (address: string): string => groupsOf(address)?.join(':') ?? address;

function mappedAddress(address: string): string | undefined {
  const groups = groupsOf(address);
  return groups?.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
    ? ipv4(groups[6] ?? 0, groups[7] ?? 0)
    : undefined;
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): readonly number[] | undefined {
  if (isIP(address) !== 6) return undefined;
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const [, start = '', ...bytes] = dotted ?? [];
  const [p = 0, q = 0, r = 0, s = 0] = bytes.map(Number);
  const text =
    dotted === null ? address : `${start}${((p << 8) | q).toString(16)}:${((r << 8) | s).toString(16)}`;
  const [left = '', right] = text.split('::');
  const read = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const before = read(left);
  const after = right === undefined ? [] : read(right);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}
