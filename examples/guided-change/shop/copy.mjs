// The change is made in a copy, so that the example can be run again.
import { copyFileSync, readFileSync } from 'node:fs';

for (const file of ['README.md', 'price.mjs', 'price.test.mjs']) copyFileSync(`shop/${file}`, `work/${file}`);
process.stdout.write(readFileSync('work/price.mjs', 'utf8'));
