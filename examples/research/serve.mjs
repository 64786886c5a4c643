// Serves the pages of this folder on 127.0.0.1: `node serve.mjs [PORT]`.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { argv } from 'node:process';
import { pathToFileURL } from 'node:url';

const PAGES = new URL('./pages/', import.meta.url);
const DEFAULT_PORT = 8417;

/**
 * Resolves once the site can be reached. Port 0 is any that is free.
 * @param {number} port
 * @returns {Promise<{ port: number, asked: string[], close: () => Promise<void> }>}
 */
export function serve(port = DEFAULT_PORT) {
  /** @type {string[]} */
  const asked = [];
  const server = createServer(async (request, response) => {
    const path = request.url ?? '/';
    asked.push(path);
    const name = /^\/([a-z]+\.(?:json|md))$/.exec(path)?.[1];
    const text =
      name === undefined ? undefined : await readFile(new URL(name, PAGES), 'utf8').catch(() => undefined);
    response.sendDate = false; // the same answer at any time
    response.statusCode = text === undefined ? 404 : 200;
    response.setHeader('content-type', path.endsWith('.json') ? 'application/json' : 'text/markdown');
    // Links are relative in the files, and absolute for whoever reads them.
    const site = `http://${request.headers.host}/`;
    response.end(text?.replaceAll('"url": "/', `"url": "${site}`) ?? 'There is no such page.\n');
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      resolve({
        port: typeof address === 'object' && address !== null ? address.port : port,
        asked,
        close: () => new Promise((done) => void server.close(() => done())),
      });
    });
  });
}

if (argv[1] !== undefined && import.meta.url === pathToFileURL(argv[1]).href) {
  const { port } = await serve(argv[2] === undefined ? undefined : Number(argv[2]));
  console.log(`The site is at http://127.0.0.1:${port}/index.json; Ctrl-C ends it.`);
}
