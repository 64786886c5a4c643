import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { moduleCheck } from '../../src/cli/validate/load-modules.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { recordedIo } from './recorded-io.ts';

const tool = (name: string, module = `./${name}.mjs`, more = '') =>
  `kind: Tool\nname: ${name}\nimplementation:\n  module: ${module}\n${more}`;

/** A tool for each module, and what `telltale validate --json` says of each, by its name. */
async function validate(
  modules: Readonly<Record<string, string>>,
  argv: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
) {
  const cwd = temporaryProject({
    'package.json': '{}',
    ...Object.fromEntries(
      Object.entries(modules).flatMap(([name, code]) => [
        [`${name}.mjs`, code],
        [`${name}.yml`, tool(name)],
      ]),
    ),
  });
  const io = recordedIo({ cwd, env });
  const code = await main(['validate', '--json', ...argv], io);
  const { diagnostics } = JSON.parse(io.out()) as {
    diagnostics: readonly { file: string; line: number; code: string; message: string; hint: string }[];
  };
  const said = Object.fromEntries(
    diagnostics.map((each) => [
      each.file.replace('.yml', ''),
      `${each.line} ${each.code}: ${each.message} → ${each.hint}`.replaceAll(`${cwd}/`, ''),
    ]),
  );
  return { code, err: io.err(), said, cwd };
}

it('finds what is wrong with modules of tools, at the line of the manifest', async () => {
  const { code, said } = await validate({
    fine: 'export const run = () => 1;',
    syntax: 'export const run = (',
    throws: '\nthrow new Error("no url");',
    file: 'import "./gone.mjs"; export const run = () => 1;',
    inner: 'export { run } from "./package.mjs";',
    package: 'import "none-here"; export const run = () => 1;',
    none: 'export const rum = () => 1;',
    value: 'export const run = 3;',
  });
  const of = (name: string) => `4 module_failed: The module ${name}.mjs of tool "${name}"`;
  expect({ code, said }).toEqual({
    code: 2,
    said: {
      syntax: `${of('syntax')} has a syntax error: Unexpected end of input → See the line: node --check syntax.mjs`,
      throws: `${of('throws')} failed while it was loaded: no url → Fix throws.mjs:2:7.`,
      file: `${of('file')} imports gone.mjs, which does not exist. → Create it, or fix the import in file.mjs.`,
      inner: `${of('inner')} cannot be loaded: package.mjs imports "none-here", which is not installed. → Install it: npm install none-here`,
      package: `${of('package')} imports "none-here", which is not installed. → Install it: npm install none-here`,
      none: `${of('none')} exports no "run". → Did you mean "rum"? Add it: export function run(parameters, { agent, signal }) { … }. Or name another one with "export" in none.yml.`,
      value: `${of('value')} exports "run" as a number, not as a function. → Make it a function: export function run(parameters, { agent, signal }) { … }`,
    },
  });
});

it('reports a missing module, and loads TypeScript and named exports', async () => {
  const cwd = temporaryProject({
    'package.json': '{}',
    'gone.yml': tool('gone'),
    'twice.yml': tool('twice', './twice.ts', '  export: twice\n'),
    'twice.ts': 'export const twice = ({ n }: { n: number }): number => 2 * n;\n',
  });
  const io = recordedIo({ cwd });
  expect(await main(['validate'], io)).toBe(2);
  expect(io.out()).toBe(
    `error: The module ${cwd}/gone.mjs of tool "gone" does not exist. [module_failed]
  gone.yml:4:11
    module: ./gone.mjs
            ^^^^^^^^^^
  → Create it, or fix "module" in ${cwd}/gone.yml.

Searched 3 YAML or JSON files.
2 manifests in 2 files: 1 error, 0 warnings
`,
  );
});

it('a module that ends its process, waits for ever or prints harms neither the check nor other modules', async () => {
  const { code, err, said } = await validate({
    a: 'console.log("noise"); console.error("noise"); setInterval(() => {}, 1000); export const run = () => 1;',
    b: 'process.exit(0);',
    c: 'await new Promise(() => {}); export const run = () => 1;',
    d: 'process.chdir("/"); process.kill(process.pid, "SIGKILL");',
    e: 'export const other = 1;',
  });
  expect({ code, err }).toEqual({ code: 2, err: '' });
  expect(said).toEqual({
    b: expect.stringContaining('it ended its process with exit code 0. → A module of a tool must not end'),
    c: expect.stringContaining('its top-level "await" never ends. → Do that in the function'),
    d: expect.stringContaining('it made its process end by SIGKILL.'),
    e: expect.stringContaining('exports no "run"'),
  });
});

it('a module that is not loaded in time is stopped and named', async () => {
  const cwd = temporaryProject({ 'slow.mjs': 'for (;;);' });
  const check = moduleCheck([], {
    cwd,
    env: { PATH: process.env.PATH },
    signal: new AbortController().signal,
    limitMs: 300,
  });
  const use = {
    tool: 'slow',
    module: './slow.mjs',
    export: 'run',
    file: join(cwd, 'slow.yml'),
    importers: [],
  };
  expect(await check([use], [use.file])).toEqual([
    {
      severity: 'error',
      code: 'module_failed',
      message: `The module ${cwd}/slow.mjs of tool "slow" failed while it was loaded: it was still loading after 0.3 s.`,
      hint: 'Do that in the function, not at the top level of the module.',
    },
  ]);
});

it('a module has the environment of a run but for secrets that it does not ask for', async () => {
  const needs = (name: string) =>
    `if (!process.env.${name}) throw new Error("no ${name}"); export const run = () => 1;`;
  const { code, said } = await validate(
    {
      plain: needs('REGION'),
      named: needs('SHOP_API_KEY'),
      // It is asked for in what it says when it is not there, as packages of providers do.
      asked: `const name = ["OTHER", "TOKEN"].join("_"); if (!process.env[name]) throw new Error("no " + name); export const run = () => 1;`,
      greedy: `const all = Object.keys(process.env).filter((name) => /SECRET|TELLTALE/.test(name)); if (all.length > 0) throw new Error(all.join()); export const run = () => 1;`,
    },
    [],
    {
      REGION: 'eu',
      SHOP_API_KEY: 'k',
      OTHER_TOKEN: 't',
      DB_SECRET: 's',
      TELLTALE_TOKEN: 'tt',
      PATH: process.env.PATH ?? '',
    },
  );
  expect({ code, said }).toEqual({ code: 0, said: {} });
});

it('does not load what the commands of an agent can have written, unless it is named or an agent imports it', async () => {
  const effect = (name: string) =>
    `import { writeFileSync } from "node:fs"; writeFileSync("ran-${name}", ""); export const run = () => 1;`;
  const cwd = temporaryProject({
    'package.json': '{}',
    'agent.yml': 'kind: Agent\nname: a\nimport: { tools: ["builtin:shell", ./tools/own.yml] }\n',
    'tools/own.yml': tool('own'),
    'tools/own.mjs': effect('own'),
    'notes/planted.yml': tool('planted'),
    'notes/planted.mjs': effect('planted'),
  });
  const check = async (...argv: readonly string[]) => {
    const io = recordedIo({ cwd });
    const code = await main(['validate', ...argv], io);
    return {
      code,
      out: io.out(),
      ran: ['own', 'planted'].filter((name) => existsSync(join(cwd, `ran-${name}`))),
    };
  };
  const found = await check();
  expect(found).toMatchObject({ code: 0, ran: ['own'] });
  expect(found.out).toContain(
    '"./planted.mjs" was not loaded: no agent imports this tool, and commands of the agent "a"',
  );
  expect(await check('notes/planted.yml')).toMatchObject({ code: 0, ran: ['own', 'planted'] });
});

it('loads nothing with --no-modules', async () => {
  const { code, said, cwd } = await validate(
    { effect: 'import { writeFileSync } from "node:fs"; writeFileSync("done", ""); export const x = 1;' },
    ['--no-modules'],
  );
  expect({ code, said, wrote: existsSync(join(cwd, 'done')) }).toEqual({ code: 0, said: {}, wrote: false });
});
