#!/usr/bin/env node
// `npm create telltale my-agent` is `telltale init my-agent`.
process.argv.splice(2, 0, 'init');
await import(new URL('bin/telltale.js', import.meta.resolve('telltale/package.json')).href);
