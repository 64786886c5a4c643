// Part of `npm pack`: the package shows the repository's README on its page.
import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const inRoot = (/** @type {string} */ path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
copyFileSync(inRoot('README.md'), inRoot('telltale/README.md'));
