// The files of a repository down to a depth: node git-tree.mjs FOLDER DEPTH
import { execFileSync } from 'node:child_process';

const [folder = '.', depth = '3'] = process.argv.slice(2);
const files = execFileSync('git', ['ls-files'], { cwd: folder, encoding: 'utf8' }).split('\n');
const shown = new Set();
for (const file of files.filter((name) => name !== '')) {
  const parts = file.split('/');
  shown.add(parts.slice(0, Number(depth)).join('/') + (parts.length > Number(depth) ? '/' : ''));
}
process.stdout.write(`${[...shown].join('\n')}\n`);
