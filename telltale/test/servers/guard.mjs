// Starts a server and ends it when whoever started this has gone: node guard.mjs '{"command", "args", "uid", "gid", "env",
// "stopSignal", "folder"}'. Says the server's pid on stdout, and what the server says. The input is held open by the
// parent; when it ends, however the parent ended, the server is stopped by its pid and its folder is removed.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';

const STOP_MS = 3_000;
const { command, args, uid, gid, env, stopSignal, folder } = JSON.parse(process.argv[2] ?? '{}');

const server = spawn(command, args, {
  uid,
  gid,
  env,
  cwd: folder,
  stdio: ['ignore', 'inherit', 'inherit'],
});
server.once('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  end(1);
});
server.once('exit', (code) => end(code ?? 1));
if (server.pid !== undefined) process.stdout.write(`pid ${server.pid}\n`);

let isStopping = false;
const stop = () => {
  if (isStopping) return;
  isStopping = true;
  server.kill(stopSignal);
  setTimeout(() => server.kill('SIGKILL'), STOP_MS);
};
process.stdin.on('end', stop).on('error', stop).resume();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);

/** @param {number} code */
function end(code) {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  process.exit(isStopping ? 0 : code);
}
