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

/** All addresses of a name. */
export type Resolver = (host: string) => Promise<readonly Address[]>;

export const systemResolver: Resolver = (host) =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true, verbatim: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });

/** What decides on a connection. */
export interface ConnectionRules {
  readonly hosts: Pick<PermittedHosts, 'check' | 'denies'>;
  readonly resolveHost: Resolver;
  /** Absent where the manifest alone names the address, and no call has a say in it. */
  readonly own?: OwnAddresses | undefined;
}

/**
 * Judges a connection before it is made: throws where the host may not be reached, and where it is an address itself
 * that may not be. Returns the lookup to connect with. That judges every address of a name, and the connection goes to
 * one of those very addresses, so a name that resolves to something else a moment later changes nothing.
 */
export function judgeConnection(
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
 * The same for a program that connects by itself, such as git: all that can be done is to look the name up before. A
 * name that is not found is left to the program, which may know it by its own settings.
 */
export async function judgeBeforehand(
  rules: ConnectionRules,
  host: string,
  port: string,
  granted?: readonly string[],
): Promise<void> {
  const lookup = judgeConnection(rules, host, port, granted);
  if (isIP(host) !== 0) return;
  await new Promise<void>((resolve, reject) => {
    lookup(host, { all: true }, (error) => {
      if (error instanceof RuntimeError && error.code === 'not_permitted') reject(error);
      else resolve();
    });
  });
}

/** Fails with what `refusal` says of any address of the name. */
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
      hint: `Such addresses have to be named: add "${host}" itself to "permissions: { network }" of the agent's manifest.`,
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
  new RuntimeError('http_failed', `The host "${host}" is not found.`, {
    hint: 'Look at its spelling, and whether the network is up.',
    retryable: true,
    cause,
  });
