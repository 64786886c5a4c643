import { readFileSync, writeFileSync } from 'node:fs';

/** node add-to-changelog.mjs FILE ENTRY: puts the entry below "## Unreleased", unless it is there. */
const [file = '', entry = ''] = process.argv.slice(2);
const line = `- ${entry.replace(/\s+/g, ' ').trim()}`;
const [before = '', rest = ''] = readFileSync(file, 'utf8').split(/(?<=^## Unreleased\n\n)/m);
if (rest.split('\n').includes(line)) console.log('It is there.');
else {
  writeFileSync(file, `${before}${line}\n${rest.startsWith('- ') ? '' : '\n'}${rest}`);
  console.log(line);
}
