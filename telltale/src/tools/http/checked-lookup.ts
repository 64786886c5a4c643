import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { RuntimeError } from '../../lib/errors.ts';
import type { OwnAddresses } from '../access/addresses.ts';
import { embeddedAddresses, privateKind } from '../access/addresses.ts';
import type { PermittedHosts } from '../access/permitted-hosts.ts';

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** Resolves a name to all its addresses. */
export type Resolver = (host: string) => Promise<readonly Address[]>;

export const systemResolver: Resolver = (host) =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true, verbatim: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });

/** The rules that a connection is checked against. */
export interface ConnectionRules {
  readonly hosts: Pick<PermittedHosts, 'check' | 'denies'>;
  readonly resolveHost: Resolver;
  /** Absent if the address comes from the manifest alone, and no call can influence it. */
  readonly own?: OwnAddresses | undefined;
}

/**
 * Checks a connection before it is made. Throws if the host, or the address given as host, may not be reached. Returns
 * the lookup to connect with. The lookup checks every address of the name, and the connection uses one of those
 * addresses, so a name that resolves differently a moment later (DNS rebinding) changes nothing.
 */
export function checkConnection(
  { hosts, resolveHost, own }: ConnectionRules,
  host: string,
  port: string,
  granted?: readonly string[],
): LookupFunction {
  const permission = hosts.check(host, port, granted);
  const refusal = (address: string): RuntimeError | undefined => {
    try {
      own?.check(address, port);
    } catch (thrown) {
      if (thrown instanceof RuntimeError) return thrown;
      throw thrown;
    }
    if ([address, ...embeddedAddresses(address)].some((each) => hosts.denies(each, port)))
      return deniedAddress(host, address);
    const kind = permission === 'named' ? undefined : privateKind(address);
    return kind === undefined ? undefined : privateAddress(host, address, kind);
  };
  if (isIP(host) !== 0) {
    const refused = refusal(host);
    if (refused !== undefined) throw refused;
  }
  return checkedLookup(resolveHost, refusal);
}

/**
 * The same for a program that connects by itself, such as git. The name can only be looked up in advance. A name that
 * is not found is left to the program, which may resolve it by its own settings.
 */
export async function checkInAdvance(
  rules: ConnectionRules,
  host: string,
  port: string,
  granted?: readonly string[],
): Promise<void> {
  const lookup = checkConnection(rules, host, port, granted);
  if (isIP(host) !== 0) return;
  await new Promise<void>((resolve, reject) => {
    lookup(host, { all: true }, (error) => {
      if (error instanceof RuntimeError && error.code === 'not_permitted') reject(error);
      else resolve();
    });
  });
}

/** A lookup that fails with the result of `refusal` for any address of the name. */
function checkedLookup(
  resolve: Resolver,
  refusal: (address: string) => RuntimeError | undefined,
): LookupFunction {
  return (host, options, callback) => {
    resolve(host).then(
      (addresses) => {
        const refused = addresses.map(({ address }) => refusal(address)).find((each) => each !== undefined);
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

const privateAddress = (host: string, address: string, kind: string) =>
  new RuntimeError(
    'not_permitted',
    host === address
      ? `"${host}" is ${kind} address.`
      : `The host "${host}" leads to ${address}, which is ${kind} address.`,
    {
      hint: `Private addresses must be listed by name. Add "${host}" itself to "permissions: { network }" of the agent's manifest.`,
    },
  );

const deniedAddress = (host: string, address: string) =>
  new RuntimeError(
    'not_permitted',
    `The host "${host}" leads to ${address}, which is denied to this agent.`,
    {
      hint: 'This is set in "permissions: { network: { deny } }" of the agent\'s manifest.',
    },
  );

const hostUnknown = (host: string, cause?: unknown) =>
  new RuntimeError('http_failed', `The host "${host}" was not found.`, {
    hint: 'Check its spelling and the network connection.',
    retryable: true,
    cause,
  });
