// Starts a server and ends it when whoever started this has gone: node guard.mjs '{"command", "args", "uid", "gid", "env",
// "stopSignal", "folder"}'. Says the server's pid on stdout, and what the server says. The input is held open by the
// parent; when it ends, however the parent ended, the server is stopped by its pid and its folder is removed. A line
// `restart SIGNAL` on it ends the server by that signal and starts it again.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';

const STOP_MS = 3_000;
const { command, args, uid, gid, env, stopSignal, folder } = JSON.parse(process.argv[2] ?? '{}');

let isStopping = false;
let isRestarting = false;

const start = () => {
  const started = spawn(command, args, {
    uid,
    gid,
    env,
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  started.once('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    end(1);
  });
  started.once('exit', (code) => {
    if (!isRestarting || isStopping) return end(code ?? 1);
    isRestarting = false;
    server = start();
  });
  if (started.pid !== undefined) process.stdout.write(`pid ${started.pid}\n`);
  return started;
};
let server = start();

const stop = () => {
  if (isStopping) return;
  isStopping = true;
  server.kill(stopSignal);
  setTimeout(() => server.kill('SIGKILL'), STOP_MS);
};
let asked = '';
process.stdin.setEncoding('utf8').on('data', (text) => {
  const lines = (asked + text).split('\n');
  asked = lines.pop() ?? '';
  for (const line of lines) {
    const [, signal] = /^restart (SIG[A-Z]+)$/.exec(line) ?? [];
    if (signal === undefined || isStopping) continue;
    isRestarting = true;
    server.kill(/** @type {NodeJS.Signals} */ (signal));
  }
});
process.stdin.on('end', stop).on('error', stop).resume();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);

/** @param {number} code */
function end(code) {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  process.exit(isStopping ? 0 : code);
}
