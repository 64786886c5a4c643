import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { embeddedPostgres } from './embedded-postgres.ts';
import { findProgram, postgresFolders } from './find-program.ts';
import { freePort } from './free-port.ts';
import { type GuardedServer, runGuarded } from './run-guarded.ts';

export interface PostgresServer extends GuardedServer {
  /** Of the database `postgres`, as its owner. */
  readonly url: string;
  readonly port: number;
  readonly password: string;
  /** The folder of the programs. */
  readonly bin: string;
}

export interface PostgresOptions {
  /** `installed` or `embedded` (that of npm); the first that is there if absent. */
  readonly from?: 'installed' | 'embedded';
  /** true: a commit is on disk when it is answered, with memory as on a server; for benches. */
  readonly durable?: boolean;
  /** At most; 50 if absent. */
  readonly connections?: number;
}

/** `nobody` on Debian: PostgreSQL refuses to run as root. */
const NOBODY = 65_534;
const PASSWORD = 'pass/word:of@tests';

/** A PostgreSQL of one's own on loopback, made from nothing: two seconds. Most tests want `sharedPostgres`. */
export async function startPostgres({
  from,
  durable = false,
  connections = 50,
}: PostgresOptions = {}): Promise<PostgresServer> {
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const folder = mkdtempSync(join(tmpdir(), 'telltale-postgres-'));
  // Others have to get through to the data and the programs, which are below.
  chmodSync(folder, 0o755);
  const installed = from === 'embedded' ? undefined : findProgram('initdb', postgresFolders());
  if (installed === undefined && from === 'installed') throw new Error('No PostgreSQL is installed.');
  const bin = installed === undefined ? await embeddedPostgres(folder) : dirname(realpathSync(installed));
  const own = join(folder, 'own');
  mkdirSync(own, { mode: 0o700 });
  const passwordFile = join(own, 'password');
  writeFileSync(passwordFile, PASSWORD);
  if (user.uid !== undefined) for (const path of [own, passwordFile]) chownSync(path, user.uid, user.gid);
  const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
  const data = join(own, 'data');
  await promisify(execFile)(
    join(bin, 'initdb'),
    [
      '--pgdata',
      data,
      '--username',
      'owner',
      '--pwfile',
      passwordFile,
      '--auth',
      'scram-sha-256',
      '--encoding',
      'UTF8',
      '--no-locale',
      '--no-sync',
      '--no-instructions',
    ],
    { ...user, cwd: own, env },
  );
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    fsync: durable ? 'on' : 'off',
    max_connections: connections,
    shared_buffers: durable ? '256MB' : '16MB',
    logging_collector: 'off',
  };
  const server = await runGuarded({
    command: join(bin, 'postgres'),
    args: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    ...user,
    env,
    stopSignal: 'SIGINT',
    folder,
    ready: /ready to accept connections/,
  });
  const url = `postgres://owner:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`;
  return { ...server, url, port, password: PASSWORD, bin };
}
