// `npm run bench [-- NAME ARGS…]`: bench/NAME.ts, or all of them one after another.
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { passThrough } from '../telltale/bin/pass-through.js';
import { suggest } from '../telltale/src/lib/nearest.ts';

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), 'bench');
const names = (existsSync(folder) ? readdirSync(folder) : [])
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length))
  .sort();

const run = (name: string, args: readonly string[]) =>
  passThrough(process.execPath, [...process.execArgv, join(folder, `${name}.ts`), ...args]);

async function runAll(): Promise<number> {
  let code = 0;
  for (const name of names) {
    console.log(`\n— ${name}`);
    const ended = await run(name, []);
    if (ended > 128) return ended;
    if (ended !== 0) code = 1;
  }
  return code;
}

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === '--list') {
    console.log(names.join('\n'));
    return 0;
  }
  if (name === undefined && names.length > 0) return runAll();
  if (name !== undefined && names.includes(name)) return run(name, args);
  console.error(
    name === undefined
      ? '✗ There are no benches in bench/.'
      : `✗ There is no bench "${name}". ${suggest(name, names, 'Benches')}`,
  );
  return 2;
}

process.exitCode = await main(process.argv.slice(2));
