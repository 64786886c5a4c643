import { isIP } from 'node:net';
import { RuntimeError } from '../../lib/errors.ts';
import {
  bareHost,
  decide,
  fitsPort,
  listed,
  mayAsk,
  namesHost,
  readHostEntry,
  readRules,
} from '../../manifest/permission-rules.ts';
import type { Rules } from '../../manifest/schema/permissions.ts';
import { clip } from '../../manifest/schema/show-value.ts';

/**
 * How a host is permitted: `named` (private addresses too) or by a wildcard (`*`, `*.example.com`: public
 * addresses only).
 */
export type HostPermission = 'named' | 'public';

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface PermittedHosts {
  /** Whether a person may have to be asked. */
  readonly asks: boolean;
  /** Whether any host is allowed without asking. */
  readonly any: boolean;
  /** The entries that allow one host on one port. */
  readonly named: readonly HostPort[];
  /**
   * Rejects a host that no entry names with `not_permitted`, and one that has to be asked for unless it is among
   * `granted`. `host` without, `port` as digits.
   */
  check(host: string, port: string, granted?: readonly string[]): HostPermission;
  /** Whether `deny` names the address that a permitted host leads to. */
  denies(address: string, port: string): boolean;
  /** What an approval of the host has to be for; undefined where none is needed. Throws as `check` does. */
  grantFor(host: string, port: string): string | undefined;
}

/** Entries are `host`, `host:port`, `[::1]:port`, `*.domain`, `*`; an address with a scheme stands for its host. */
export function createPermittedHosts(rules: Rules): PermittedHosts {
  const read = readRules(rules, readHostEntry);
  const judge = (host: string, port: string) => {
    const name = bareHost(host);
    const { decision, by } = decide(read, (entry) => namesHost(entry, name, port));
    if (decision === 'deny' && by !== undefined) throw hostDenied(name, port);
    if (decision === 'deny') throw hostNotPermitted(name, port, rules.allow);
    // In each list a name of its own counts for more than a wildcard.
    const exact = read.entries[decision].some((entry) => entry.host === name && fitsPort(entry, port));
    return { name, decision, exact };
  };
  return {
    asks: mayAsk(rules),
    any: rules.allow.length > 0,
    named: read.entries.allow.flatMap(({ host, port }) =>
      port === undefined || host.includes('*') ? [] : [{ host, port: Number(port) }],
    ),
    check(host, port, granted = []) {
      const { name, decision, exact } = judge(host, port);
      if (decision === 'allow') return exact ? 'named' : 'public';
      if (!granted.includes(hostGrant(name, port))) throw hostNotAsked(name, port);
      // Whoever approves of "localhost" knows where it leads; a name may lead anywhere.
      return exact || isIP(name) !== 0 || name === 'localhost' ? 'named' : 'public';
    },
    denies(address, port) {
      const name = bareHost(address);
      return read.entries.deny.some((entry) => entry.host === name && fitsPort(entry, port));
    },
    grantFor(host, port) {
      const { name, decision } = judge(host, port);
      return decision === 'ask' ? hostGrant(name, port) : undefined;
    },
  };
}

const hostGrant = (host: string, port: string): string => `host ${host}:${port}`;

const shown = (host: string, port: string) => `host "${clip(host, 200)}" (port ${port})`;

const hostNotPermitted = (host: string, port: string, entries: readonly string[]) =>
  new RuntimeError('not_permitted', `The ${shown(host, port)} is not permitted.`, {
    hint: `Permitted: ${listed(entries)}. Add it to "permissions: { network }" of the agent's manifest.`,
  });

const hostDenied = (host: string, port: string) =>
  new RuntimeError('not_permitted', `This agent is not allowed to reach the ${shown(host, port)}.`, {
    hint: 'This is set in "permissions: { network: { deny } }" of the agent\'s manifest.',
  });

const hostNotAsked = (host: string, port: string) =>
  new RuntimeError('not_permitted', `The ${shown(host, port)} needs approval, but nobody could be asked.`, {
    hint: 'A redirect cannot lead to a host that needs approval. Request that address directly.',
  });
