import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SOURCE = `${ROOT}telltale/src`;
const pages = ['errors', 'protocol'].map((page) => readFileSync(`${ROOT}docs/${page}.md`, 'utf8')).join('\n');

/** Mistakes of whoever changes the runtime, which no user of it can cause or see. */
const OWN: ReadonlySet<string> = new Set([
  'bad_metadata_field', // a manifest that was not validated
  'bad_path', // read by the room itself
  'model_cancelled', // of a turn that the runtime has cut
  'parser_ended',
  'prompt_out_of_step',
  'snapshot_unreadable', // the log is folded instead
]);

const codes = new Set(
  readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [
      ...readFileSync(`${SOURCE}/${file}`, 'utf8').matchAll(/new RuntimeError\(\s*'(\w+)'/g),
    ])
    .map(([, code]) => code as string),
);

it('docs/errors.md lists every code that an error can have', () => {
  expect(codes.size).toBeGreaterThan(100);
  expect([...codes].filter((code) => !OWN.has(code) && !pages.includes(`\`${code}\``)).sort()).toEqual([]);
});

it('docs/errors.md lists no code twice in one table, and none of a run that the code does not know', () => {
  const running = pages.slice(pages.indexOf('## Running'), pages.indexOf('Errors of an action'));
  const listed = [...running.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell]) =>
    [...(cell as string).matchAll(/`(\w+)`/g)].map(([, code]) => code as string),
  );
  expect(listed.length).toBeGreaterThan(50);
  expect(listed.filter((code, index) => listed.indexOf(code) !== index)).toEqual([]);
  const all = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(`${SOURCE}/${file}`, 'utf8'))
    .join('\n');
  expect(listed.filter((code) => !all.includes(`'${code}'`) && !/^limit_/.test(code))).toEqual([]);
});
