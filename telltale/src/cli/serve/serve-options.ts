import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { DaemonOptions } from '../../server/start-daemon.ts';

export interface ServeOptions {
  readonly store?: string;
  readonly durability?: 'power' | 'process';
  readonly capacity?: string;
  readonly port?: string;
  readonly host?: string;
  readonly allowHost?: readonly string[];
  readonly origin?: readonly string[];
  /** Accepted and without effect: every request needs a token. */
  readonly requireToken?: true;
  /** False with `--no-console`. */
  readonly console?: boolean;
  readonly json?: true;
}

export const LOOPBACK = '127.0.0.1';
const WEB = fileURLToPath(new URL('../../../web', import.meta.url));

/** What the options say of the daemon, but for its port. */
export const daemonOptions = ({
  host = LOOPBACK,
  allowHost,
  origin,
  console,
}: ServeOptions): Pick<DaemonOptions, 'host' | 'web' | 'allowHosts' | 'origins'> => ({
  host,
  ...(console === false || !existsSync(WEB) ? {} : { web: WEB }),
  ...(allowHost === undefined ? {} : { allowHosts: allowHost }),
  ...(origin === undefined ? {} : { origins: origin }),
});
