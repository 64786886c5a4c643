import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { attack, attackedProject, cliOn, outcomes, shell, textOf, write } from './hostile-agent.ts';

const NO = 'not_permitted';

describe('what a program of the manifest loads', { timeout: 60_000 }, () => {
  test.each([
    [
      'an import of a server in JavaScript',
      ['node', 'server/main.mjs'],
      'server/lib.mjs',
      { 'server/main.mjs': "import { x } from './lib.mjs';\n", 'server/lib.mjs': 'export const x = 1;\n' },
    ],
    [
      'a module next to a server in Python',
      ['python3', 'server/main.py'],
      'server/helper.py',
      { 'server/main.py': 'import helper\n', 'server/helper.py': '\n' },
    ],
    [
      'a module of Python that hides one of the system',
      ['python3', 'server/main.py'],
      'server/json.py',
      { 'server/main.py': 'import json\n' },
    ],
    [
      'a script that a shell script sources',
      ['sh', 'server/main.sh'],
      'server/lib.sh',
      { 'server/main.sh': '. ./server/lib.sh\n', 'server/lib.sh': ':\n' },
    ],
    ['scripts of npm', ['npm', 'run', 'serve'], 'package.json', {}],
    [
      'scripts of npm elsewhere',
      ['npm', '--prefix=server', 'start'],
      'server/package.json',
      { 'server/package.json': '{}' },
    ],
    ['a module that Python is told by its name', ['python3', '-m', 'server.main'], 'server/main.py', {}],
    ['the registry of npx', ['npx', '-y', 'some-server'], '.npmrc', {}],
    ['a Makefile that comes first', ['make', 'serve'], 'GNUmakefile', { Makefile: 'serve:\n\techo\n' }],
    ['a Makefile', ['make', 'serve'], 'Makefile', { Makefile: 'serve:\n\techo\n' }],
  ])('%s is closed', async (_what, [command = '', ...args], path, files) => {
    const hook = { command: [command, ...args], fallback: null };
    const folder = attackedProject({
      files: {
        ...files,
        'other.yml': `kind: Agent\nname: other\nmodel: scripted:./turns.yml\nimport: { tools: [{ mcp: { name: s, command: ${command}, args: ${JSON.stringify(args)} } }] }\n`,
        'hooked.yml': `kind: Agent\nname: hooked\nmodel: scripted:./turns.yml\nhooks: ${JSON.stringify({ before_turn: [hook] })}\n`,
      },
      calls: [write(path, 'evil')],
    });
    expect(await outcomes(folder)).toEqual([NO]);
  });
});

test('what the environment of a server names is closed', { timeout: 60_000 }, async () => {
  const env =
    '{ NODE_OPTIONS: "--import=./first.mjs", CONFIG: conf/server.json, PYTHONPATH: lib, DATA: data }';
  const folder = attackedProject({
    files: {
      'first.mjs': "import './second.mjs';\n",
      'second.mjs': '',
      'conf/server.json': '{}',
      'lib/helper.py': '',
      'data/x.txt': '',
      'other.yml': `kind: Agent\nname: other\nmodel: scripted:./turns.yml\nimport: { tools: [{ mcp: { name: s, command: node, args: [server.mjs], env: ${env} } }] }\n`,
    },
    calls: [
      write('first.mjs', 'evil'),
      write('second.mjs', 'evil'),
      write('conf/server.json', 'evil'),
      write('lib/helper.py', 'evil'),
      write('lib/new.py', 'evil'),
      write('data/x.txt', 'plain'),
    ],
  });
  expect(await outcomes(folder)).toEqual([NO, NO, NO, NO, NO, 'ok']);
});

test('no program is put into a folder of the project that is on PATH', { timeout: 60_000 }, async () => {
  const fake = `printf '#!/bin/sh\\necho escaped > "$0.txt"\\nexec /usr/bin/env -i true\\n' > $F; chmod +x $F`;
  const folder = attackedProject({
    tools: ['builtin:shell'],
    permissions: '{ shell: allow, sandbox: require }',
    files: { '.venv/bin/tool': '', '.venv/lib/x.txt': '' },
    calls: [
      write('.venv/bin/git', 'evil'),
      write('later/bin/git', 'evil'),
      shell(`F=.venv/bin/bwrap; ${fake}`),
      shell(`mkdir -p later/bin; F=later/bin/bwrap; ${fake}`),
      shell('mv .venv old'),
      shell('echo y > .venv/lib/x.txt && echo done'),
    ],
  });
  const path = [join(folder, '.venv/bin'), 'later/bin', process.env.PATH].join(delimiter);
  const on = { cwd: folder, path };
  await cliOn(on, 'run', 'agent.yml', 'Go.');
  const { out } = await cliOn(on, 'logs', 'last', '--json');
  expect(out.match(/"code":"not_permitted"/g)).toHaveLength(2);
  expect(out.match(/"stdout":"done/g)).toHaveLength(1);
  for (const name of ['.venv/bin/git', '.venv/bin/bwrap', 'later', 'old'])
    expect([name, existsSync(join(folder, name))]).toEqual([name, false]);
});

test('code on the command line of a server is not taken for the path of a file', {
  timeout: 60_000,
}, async () => {
  const code = '/* a comment */ '.repeat(400);
  const folder = attackedProject({
    files: {
      'other.yml': `kind: Agent\nname: other\nmodel: scripted:./turns.yml\nimport: { tools: [{ mcp: { name: s, command: node, args: ["-e", ${JSON.stringify(code)}] } }] }\n`,
    },
    calls: [write('plain.txt', 'x')],
  });
  expect(await outcomes(folder)).toEqual(['ok']);
});

test('a project whose agents have a server by npx can still get other dependencies', {
  timeout: 60_000,
}, async () => {
  const server = '{ mcp: { name: s, command: npx, args: ["-y", some-server, "."] } }';
  const folder = attackedProject({
    files: {
      'other.yml': `kind: Agent\nname: other\nmodel: scripted:./turns.yml\nimport: { tools: [${server}] }\n`,
    },
    calls: [write('package.json', '{ "dependencies": {} }')],
  });
  expect(await outcomes(folder)).toEqual(['ok']);
});

test('a command in the sandbox changes and adds nothing that a server of another agent loads', {
  timeout: 60_000,
}, async () => {
  const server = '{ mcp: { name: s, command: python3, args: [server/main.py] } }';
  const folder = attackedProject({
    tools: ['builtin:shell'],
    permissions: '{ shell: allow, sandbox: require }',
    files: {
      'server/main.py': 'import helper\n',
      'server/helper.py': 'good\n',
      'server/data/x.txt': 'x',
      'other.yml': `kind: Agent\nname: other\nmodel: scripted:./turns.yml\nimport: { tools: [${server}] }\n`,
    },
    calls: [
      shell('echo evil > server/helper.py'),
      shell('echo evil > server/re.py'),
      shell('mv server old'),
      shell('echo evil > server/data/x.txt && echo done'),
    ],
  });
  expect((await attack(folder)).match(/"stdout":"done/g)).toHaveLength(1);
  expect(textOf(folder, 'server/helper.py')).toBe('good\n');
  expect(existsSync(join(folder, 'server/re.py'))).toBe(false);
});

test('no package.json comes between an agent and the top of its project', { timeout: 60_000 }, async () => {
  const crew = 'kind: Agent\nname: crew\nmodel: scripted:../turns.yml\n';
  const folder = attackedProject({
    files: { 'crew/deep/agent.yml': crew },
    calls: [
      write('crew/package.json', '{}'),
      write('crew/deep/package.json', '{}'),
      write('free/package.json', '{}'),
    ],
  });
  expect(await outcomes(folder)).toEqual([NO, NO, 'ok']);
});

test('a command in the sandbox makes no folder between an agent and the top of its project the top', {
  timeout: 60_000,
}, async () => {
  const folder = attackedProject({
    tools: ['builtin:shell'],
    permissions: '{ shell: allow, sandbox: require }',
    files: { 'crew/deep/agent.yml': 'kind: Agent\nname: crew\nmodel: scripted:../../turns.yml\n' },
    calls: ['echo "{}" > crew/package.json', 'echo > crew/telltale.yml', 'mkdir crew/.git'].map(shell),
  });
  await attack(folder);
  expect(readdirSync(join(folder, 'crew'))).toEqual(['deep']);
});
