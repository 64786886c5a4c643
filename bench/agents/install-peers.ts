import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PEERS } from './field.ts';

const LOCK = join(PEERS, 'package-lock.json');
/** Holds the lock file that was installed: it is written last, so a broken-off installation has none. */
const MARK = join(PEERS, 'node_modules', '.installed-lock.json');

/** Of what npm says of a failure: the rest is advice. */
const SHOWN_LINES = 5;

/** Installs the peers beside their modules, once. They are 550 MB and nobody but the benches wants them. */
export async function installPeers(progress: (line: string) => void): Promise<void> {
  const lock = readFileSync(LOCK, 'utf8');
  if (existsSync(MARK) && readFileSync(MARK, 'utf8') === lock) return;
  progress('installing the peers into bench/peers/node_modules, about 550 MB; this happens once');
  const beat = setInterval(() => progress('still installing the peers'), 15_000);
  try {
    await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  } finally {
    clearInterval(beat);
  }
  writeFileSync(MARK, lock);
  progress('peers installed');
}

function run(command: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    // Addons are built against the headers of this Node where it brings them; else node-gyp downloads some.
    const home = dirname(dirname(process.execPath));
    const headers = existsSync(join(home, 'include', 'node')) ? { npm_config_nodedir: home } : {};
    const child = spawn(command, args, {
      cwd: PEERS,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...headers },
    });
    let said = '';
    const hear = (text: string) => {
      said = (said + text).slice(-4000);
    };
    child.stdout.setEncoding('utf8').on('data', hear);
    child.stderr.setEncoding('utf8').on('data', hear);
    child.on('error', (error) => reject(cannotInstall(error.message)));
    child.on('close', (code) => (code === 0 ? resolve() : reject(cannotInstall(said.trim()))));
  });
}

function cannotInstall(said: string): Error {
  const offline = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|ERR_SOCKET/.test(said);
  const why = offline ? 'the npm registry cannot be reached' : 'npm failed';
  const shown = said.split('\n').slice(0, SHOWN_LINES).join('\n');
  return new Error(
    `The peers cannot be installed: ${why}.\n${shown}\n\nMend that and start again, or measure ours alone: npm run bench -- agent --no-peers (or workflows --no-peers)`,
  );
}
