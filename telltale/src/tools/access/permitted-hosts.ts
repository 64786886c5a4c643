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
 * How a host is permitted: by its name (`named`, which allows private addresses) or by a wildcard such as `*` or
 * `*.example.com` (`public`, which allows public addresses only).
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
   * Throws `not_permitted` for a host that no entry matches, and for one that needs approval and is not among
   * `granted`. `host` has no brackets, and `port` is digits.
   */
  check(host: string, port: string, granted?: readonly string[]): HostPermission;
  /** Whether `deny` lists the address that a permitted host resolves to. */
  denies(address: string, port: string): boolean;
  /** The grant that an approval of the host gives. Undefined if no approval is needed. Throws as `check` does. */
  grantFor(host: string, port: string): string | undefined;
}

/** Entries are `host`, `host:port`, `[::1]:port`, `*.domain` or `*`. A URL stands for its host. */
export function createPermittedHosts(rules: Rules): PermittedHosts {
  const read = readRules(rules, readHostEntry);
  const judge = (host: string, port: string) => {
    const name = bareHost(host);
    const { decision, by } = decide(read, (entry) => namesHost(entry, name, port));
    if (decision === 'deny' && by !== undefined) throw hostDenied(name, port);
    if (decision === 'deny') throw hostNotPermitted(name, port, rules.allow);
    // In each list an exact name outranks a wildcard.
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
      if (!granted.includes(hostGrant(name, port))) throw hostNotApproved(name, port);
      // Whoever approves "localhost" knows where it leads. Any other name may lead anywhere.
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

const hostNotApproved = (host: string, port: string) =>
  new RuntimeError('not_permitted', `The ${shown(host, port)} needs approval, but nobody could be asked.`, {
    hint: 'A redirect cannot lead to a host that needs approval. Request that address directly.',
  });
