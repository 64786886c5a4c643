import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** node lint.mjs FOLDER: every export has a comment right above it, and no line is longer than 100 characters. */
const [folder = '.'] = process.argv.slice(2);
const problems = [];
const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
for (const name of files) {
  const lines = readFileSync(join(folder, name), 'utf8').split('\n');
  for (const [at, line] of lines.entries()) {
    if (line.length > 100) problems.push(`${name}:${at + 1} is ${line.length} characters long`);
    if (line.startsWith('export ') && !lines[at - 1]?.endsWith('*/'))
      problems.push(`${name}:${at + 1} has no comment`);
  }
}
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
console.log(`${files.length} file, no problem`);
