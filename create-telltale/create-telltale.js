#!/usr/bin/env node
// `npm create telltale my-agent` is `telltale init my-agent`.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

process.argv.splice(2, 0, 'init');
const telltale = pathToFileURL(createRequire(import.meta.url).resolve('telltale/package.json'));
await import(new URL('bin/telltale.js', telltale).href);
