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
  readonly requireToken?: true;
  /** False with `--no-console`. */
  readonly console?: boolean;
  readonly json?: true;
}

const LOOPBACK = '127.0.0.1';
const WEB = fileURLToPath(new URL('../../../web', import.meta.url));

/** What the options say of the daemon, but for its port. */
export const daemonOptions = ({
  host = LOOPBACK,
  allowHost,
  origin,
  requireToken,
  console,
}: ServeOptions): Pick<DaemonOptions, 'host' | 'web' | 'requireToken' | 'allowHosts' | 'origins'> => ({
  host,
  ...(console === false || !existsSync(WEB) ? {} : { web: WEB }),
  ...(requireToken === true ? { requireToken: true } : {}),
  ...(allowHost === undefined ? {} : { allowHosts: allowHost }),
  ...(origin === undefined ? {} : { origins: origin }),
});
