import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import { builtFile } from '../../../../lib/built-file.ts';
import type { ToServer } from './serve-sqlite.ts';
import { createSqliteServer, messageLine } from './serve-sqlite.ts';

/**
 * The entry of the process that has a SQLite file open. Requests arrive on file descriptor 0, and answers leave on 1.
 * The parent keeps 3 open while it lives. This is a process and not a thread, because SQLite can only be stopped in the
 * middle of a statement by killing its process: a thread would finish the statement first.
 */
const FILE = builtFile(new URL('./watch-parent.ts', import.meta.url));
new Worker(FILE).unref();

const server = createSqliteServer();
const answers = new Socket({ fd: 1, readable: false, writable: true });
const requests = createInterface({ input: new Socket({ fd: 0, readable: true, writable: false }) });
requests.on('line', (line) => answers.write(messageLine(server.answer(JSON.parse(line) as ToServer))));
requests.on('close', () => {
  server.close();
  answers.end();
});
