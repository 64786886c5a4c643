import { EVERYTHING, type Rules } from './schema/permissions.ts';

export type Decision = 'allow' | 'ask' | 'deny';

/** The parsed entries of `allow`, `ask` and `deny`. */
export interface ReadRules<Entry> {
  readonly entries: Readonly<Record<Decision, readonly Entry[]>>;
  /** The decision for everything that no entry names. */
  readonly rest: Decision;
}

const STRICTEST_FIRST: readonly Decision[] = ['deny', 'ask', 'allow'];

/** `*` covers what no other entry names. Without it, that is denied. */
export const restOf = (rules: Rules): Decision =>
  STRICTEST_FIRST.find((decision) => rules[decision].includes(EVERYTHING)) ?? 'deny';

/** The entries other than `*`. */
export const named = (entries: readonly string[]): readonly string[] =>
  entries.filter((text) => text !== EVERYTHING);

export const readRules = <Entry>(rules: Rules, read: (text: string) => Entry): ReadRules<Entry> => ({
  entries: {
    allow: named(rules.allow).map(read),
    ask: named(rules.ask).map(read),
    deny: named(rules.deny).map(read),
  },
  rest: restOf(rules),
});

/** `deny` beats `ask`, `ask` beats `allow`. Also returns the entry that decided, if one did. */
export function decide<Entry>(
  { entries, rest }: ReadRules<Entry>,
  names: (entry: Entry, decision: Decision) => boolean,
): { readonly decision: Decision; readonly by?: Entry } {
  for (const decision of STRICTEST_FIRST) {
    const by = entries[decision].find((entry) => names(entry, decision));
    if (by !== undefined) return { decision, by };
  }
  return { decision: rest };
}

/** Whether everything is denied. */
export const isShut = (rules: Rules): boolean =>
  restOf(rules) === 'deny' && named(rules.allow).length === 0 && named(rules.ask).length === 0;

/** Whether any call can need approval. */
export const mayAsk = ({ ask }: Rules): boolean => ask.length > 0;

/** What is allowed, for messages. */
export const listed = (entries: readonly string[]): string =>
  entries.length === 0 ? 'none' : entries.join(', ');

/**
 * An entry of `permissions.network`: `host`, `host:port`, `[::1]:port` or `*.domain`. An address with a scheme counts
 * as its host.
 */
export interface HostEntry {
  readonly host: string;
  readonly port: string | undefined;
}

export function readHostEntry(entry: string): HostEntry {
  const host = entry.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/[/?#].*$/s, '');
  const [, bracketed, bracketedPort] = /^\[([^\]]*)\](?::(\d+))?$/.exec(host) ?? [];
  if (bracketed !== undefined) return { host: bareHost(bracketed), port: bracketedPort };
  const [, name, port] = /^([^:]*):(\d+)$/.exec(host) ?? [];
  return name === undefined ? { host: bareHost(host), port: undefined } : { host: bareHost(name), port };
}

/**
 * Normalizes a host as addresses do: lower case, `xn--` for other letters, IP addresses in their usual form, an IPv4
 * address inside IPv6 as IPv4, no brackets around IPv6, and no trailing dot.
 */
export function bareHost(host: string): string {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  const address = `http://${name.includes(':') ? `[${name}]` : name}`; // ::0001 is ::1, 2130706433 is 127.0.0.1
  const known = /[/?#@\\]/.test(name) || !URL.canParse(address) ? name : new URL(address).hostname;
  return seenThrough(known.replace(/^\[|\]$/g, '').replace(/\.$/, ''));
}

const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/** `::ffff:7f00:1` is the same host as 127.0.0.1, so the same rules must apply. */
function seenThrough(host: string): string {
  const [, high, low] = MAPPED.exec(host) ?? [];
  if (high === undefined || low === undefined) return host;
  const halves = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return halves.flatMap((half) => [half >> 8, half & 0xff]).join('.');
}

export const fitsPort = ({ port: own }: HostEntry, port: string): boolean =>
  own === undefined || own === port;

/** `host` as `bareHost` returns it, `port` as digits. */
export const namesHost = (entry: HostEntry, host: string, port: string): boolean =>
  fitsPort(entry, port) && (entry.host === host || isWildcardFor(entry.host, host));

const isWildcardFor = (pattern: string, host: string): boolean =>
  pattern === '*' || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)));

/** The port of an http or https address, as digits. */
export const portOf = ({ port, protocol }: URL): string => port || (protocol === 'https:' ? '443' : '80');
