// Documents, one after the other, each under its name: node gather-docs.mjs docs/ README.md
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

for (const path of process.argv.slice(2)) {
  const isFolder = statSync(path).isDirectory();
  const files = isFolder
    ? readdirSync(path)
        .filter((name) => name.endsWith('.md'))
        .sort()
        .map((name) => join(path, name))
    : [path];
  for (const file of files) process.stdout.write(`# ${file}\n\n${readFileSync(file, 'utf8').trim()}\n\n`);
}
