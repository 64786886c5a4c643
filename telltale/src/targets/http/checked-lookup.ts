import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { HostPermission } from '../access/permitted-hosts.ts';

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a name. */
export type Resolver = (host: string) => Promise<readonly Address[]>;

export const systemResolver: Resolver = (host) =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true, verbatim: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });

/** Every range that does not lead to the public internet (IANA's special-purpose registries). */
const NOT_PUBLIC: readonly (readonly [string, number, string])[] = [
  ['0.0.0.0', 8, 'an unspecified'],
  ['10.0.0.0', 8, 'a private'],
  ['100.64.0.0', 10, 'a shared'],
  ['127.0.0.0', 8, 'a loopback'],
  ['169.254.0.0', 16, 'a link-local'],
  ['172.16.0.0', 12, 'a private'],
  ['192.0.0.0', 24, 'a reserved'],
  ['192.0.2.0', 24, 'a reserved'],
  ['192.168.0.0', 16, 'a private'],
  ['198.18.0.0', 15, 'a reserved'],
  ['198.51.100.0', 24, 'a reserved'],
  ['203.0.113.0', 24, 'a reserved'],
  ['224.0.0.0', 3, 'a multicast or reserved'],
  ['::1', 128, 'a loopback'],
  ['::', 96, 'an unspecified'],
  ['64:ff9b::', 96, 'a translated'],
  ['64:ff9b:1::', 48, 'a translated'],
  ['100::', 64, 'a reserved'],
  ['2001::', 23, 'a reserved'],
  ['2001:db8::', 32, 'a reserved'],
  ['2002::', 16, 'a translated'],
  ['3fff::', 20, 'a reserved'],
  ['5f00::', 16, 'a reserved'],
  ['fc00::', 7, 'a private'],
  ['fe80::', 10, 'a link-local'],
  ['fec0::', 10, 'a private'],
  ['ff00::', 8, 'a multicast'],
];

/** `a loopback`, `a private`, …; undefined for an address on the public internet. IPv4 inside IPv6 is seen through. */
export function privateKind(address: string): string | undefined {
  const bare = address.replace(/%.*$/, '');
  const family = isIP(bare);
  if (family === 0) return 'an unreadable';
  const type = family === 4 ? 'ipv4' : 'ipv6';
  return NOT_PUBLIC.find(([net, prefix]) => {
    const range = new BlockList();
    range.addSubnet(net, prefix, isIP(net) === 4 ? 'ipv4' : 'ipv6');
    return range.check(bare, type);
  })?.[2];
}

/**
 * A lookup for one request: every address of the name is judged, and the connection goes to one of those very
 * addresses, so that a name that resolves to something else a moment later changes nothing.
 */
export function checkedLookup(
  permission: HostPermission,
  resolve: Resolver,
  denies: (address: string) => boolean,
): LookupFunction {
  return (host, options, callback) => {
    resolve(host).then(
      (addresses) => {
        const denied = addresses.find(({ address }) => denies(address));
        const refused =
          denied !== undefined
            ? deniedAddress(host, denied.address)
            : permission === 'named'
              ? undefined
              : firstPrivate(host, addresses);
        const [first] = addresses;
        if (refused !== undefined) callback(refused, '', 0);
        else if (first === undefined) callback(hostUnknown(host), '', 0);
        else if (options.all === true) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      (cause: unknown) => callback(hostUnknown(host, cause), '', 0),
    );
  };
}

/** For a host that is an address itself, which no lookup sees. */
export function checkLiteral(host: string, permission: HostPermission): void {
  const kind = permission === 'named' || isIP(host) === 0 ? undefined : privateKind(host);
  if (kind !== undefined) throw privateAddress(host, host, kind);
}

function firstPrivate(host: string, addresses: readonly Address[]): RuntimeError | undefined {
  for (const { address } of addresses) {
    const kind = privateKind(address);
    if (kind !== undefined) return privateAddress(host, address, kind);
  }
  return undefined;
}

const privateAddress = (host: string, address: string, kind: string) =>
  new RuntimeError(
    'not_permitted',
    host === address
      ? `"${host}" is ${kind} address.`
      : `The host "${host}" leads to ${address}, which is ${kind} address.`,
    {
      hint: `Such addresses have to be named: add "${host}" itself to "permissions: { network }" of the agent's manifest.`,
    },
  );

const deniedAddress = (host: string, address: string) =>
  new RuntimeError(
    'not_permitted',
    `The host "${host}" leads to ${address}, which is denied to this agent.`,
    {
      hint: 'The agent\'s manifest says so in "permissions: { network: { deny } }".',
    },
  );

const hostUnknown = (host: string, cause?: unknown) =>
  new RuntimeError('http_failed', `The host "${host}" is not found.`, {
    hint: 'Look at its spelling, and whether the network is up.',
    retryable: true,
    cause,
  });
