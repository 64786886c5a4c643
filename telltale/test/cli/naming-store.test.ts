import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { sessionRuntimes } from '../../src/cli/command.ts';
import { commandsFor, main } from '../../src/cli/main.ts';
import { programTyped } from '../../src/cli/program.ts';
import {
  asTyped,
  eventAsTyped,
  namingStore,
  storeFlag,
  storeFlagIn,
} from '../../src/cli/session/store-options.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { agentFolder } from '../agent/run-agent.ts';
import { testDatabase } from '../servers/shared-postgres.ts';
import { recordedIo } from './recorded-io.ts';
import { spawned, telltale } from './spawned.ts';

const FLAG = ' --store b.db';

it('a hint names the store in every command that takes one, and in no other', async () => {
  const program = new Command('telltale');
  const context = {
    io: recordedIo(),
    runtimes: sessionRuntimes,
    run: () => async () => {},
    endsWhenStopped() {},
  };
  for (const register of await commandsFor([])) register(program, context);
  const wrong: string[] = [];
  let taking = 0;
  const look = (command: Command, words: string) => {
    if (command.name().startsWith('__')) return;
    const takes = command.options.some(({ long }) => long === '--store');
    if (takes) taking++;
    const named = namingStore(`See: ${words}`, FLAG) === `See: ${words}${FLAG}`;
    if (named !== takes) wrong.push(words);
    // Shells complete the commands of one program only: `telltale`.
    const typed = words.replace('telltale', command.name() === 'completion' ? 'telltale' : 'npx telltale');
    if (asTyped(`See: ${words}`, { program: 'npx telltale' }) !== `See: ${typed}`)
      wrong.push(`typed ${words}`);
    for (const below of command.commands) look(below, `${words} ${below.name()}`);
  };
  for (const command of program.commands) look(command, `telltale ${command.name()}`);
  expect(wrong).toEqual([]);
  expect(taking).toBeGreaterThan(30);
});

it.each([
  ['telltale cancel run_1 --force', 'telltale cancel run_1 --store b.db --force'],
  ['telltale cancel run_1 --force --store b.db', 'telltale cancel run_1 --force --store b.db'],
  ['telltale fleet --store postgres://USER@HOST/DB', 'telltale fleet --store postgres://USER@HOST/DB'],
  [
    'See telltale logs ses_1.a~2. Or: telltale resume ses_1 --store c.db',
    'See telltale logs ses_1.a~2 --store b.db. Or: telltale resume ses_1 --store c.db',
  ],
  ['"telltale reviews" lists them.', '"telltale reviews --store b.db" lists them.'],
  [
    'telltale workflow list --status waiting, then telltale chat MANIFEST --resume ses_1',
    'telltale workflow list --status waiting --store b.db, then telltale chat MANIFEST --resume ses_1 --store b.db',
  ],
  ['Revoke it: telltale token revoke ci.1.', 'Revoke it: telltale token revoke ci.1 --store b.db.'],
  ['telltale run bots/a.yml "what to do"', 'telltale run bots/a.yml --store b.db "what to do"'],
  ['telltale store copy a.db b.db', 'telltale store copy a.db b.db'],
  ['Run "telltale workflow run --help" for it.', 'Run "telltale workflow run --help" for it.'],
  ["telltale resume ses_1 --store 'telltale dev/a.db'", "telltale resume ses_1 --store 'telltale dev/a.db'"],
  [
    'Looked for in /home/me/telltale dev. See: telltale logs ses_1',
    'Looked for in /home/me/telltale dev. See: telltale logs ses_1 --store b.db',
  ],
  [
    'telltale run \'telltale dev/a.yml\' "what to do"',
    'telltale run --store b.db \'telltale dev/a.yml\' "what to do"',
  ],
  [
    "telltale chat 'telltale dev/a.yml' --resume ses_1 --store b.db",
    "telltale chat 'telltale dev/a.yml' --resume ses_1 --store b.db",
  ],
  ['this telltale knows runs and telltale showing', 'this telltale knows runs and telltale showing'],
])('of "%s" it makes "%s"', (hint, expected) => {
  expect(namingStore(hint, FLAG)).toBe(expected);
  expect(namingStore(namingStore(hint, FLAG), FLAG)).toBe(expected);
  expect(namingStore(hint, '')).toBe(hint);
});

const npm = 'npm/11.6.0 node/v24.11.0 linux x64 workspaces/false';
it.each([
  ['telltale', {}, '/usr/local/bin/telltale'],
  // A global one on Windows, and one that the user has put on the PATH.
  ['telltale', {}, 'C:\\Users\\ann\\npm\\node_modules\\telltale\\bin\\telltale.js'],
  ['telltale', { npm_config_user_agent: npm }, '/usr/local/bin/telltale'],
  ['telltale', {}, undefined],
  ['npx telltale', { npm_config_user_agent: npm }, '/bot/node_modules/.bin/telltale'],
  ['npx telltale', { NODE_RUN_SCRIPT_NAME: 'chat' }, '/bot/node_modules/.bin/telltale'],
  ['pnpm exec telltale', { npm_config_user_agent: 'pnpm/10.1.0' }, '/bot/node_modules/.bin/telltale'],
  ['npm start --', { TELLTALE_PROGRAM: 'npm start --', npm_config_user_agent: npm }, '/clone/telltale.js'],
  ['telltale', { TELLTALE_PROGRAM: '\u001b[31m' }, '/clone/telltale.js'],
])('%s is what was typed, by %j', (program, env, script) => {
  expect(programTyped(env, script)).toBe(program);
});

it('what people are told to type begins as what they have typed', () => {
  const clone = { program: 'npm start --' };
  expect(asTyped('See: telltale logs ses_1. Or: telltale resume ses_1 --store c.db', clone, FLAG)).toBe(
    'See: npm start -- logs ses_1 --store b.db. Or: npm start -- resume ses_1 --store c.db',
  );
  // What npm says first would stand in the pipe, too.
  expect(asTyped('  $ telltale logs last --json | jq .type\n  $ telltale --help', clone)).toBe(
    '  $ npm -s start -- logs last --json | jq .type\n  $ npm start -- --help',
  );
  for (const text of ['npx telltale logs last', 'this telltale knows 3', 'in /home/me/telltale dev'])
    expect(asTyped(text, clone)).toBe(text);
});

it('the hints of an event are printed with the command that was typed', () => {
  const clone = { program: 'npm start --' };
  const failed = (hint: string) => ({ error: { hint, cause: { hint } } });
  const [logged, typed] = [failed('telltale show run_1'), failed('npm start -- show run_1 --store b.db')];
  expect(eventAsTyped({ type: 'action.failed', ...logged }, clone, FLAG)).toEqual({
    type: 'action.failed',
    ...typed,
  });
  expect(eventAsTyped({ event: logged }, clone, FLAG)).toEqual({ event: typed });
});

it('a command is named as it was typed in an error, in help and in the last line of a run, and an agent does not see how', async () => {
  const cwd = agentFolder('', {
    'agent.yml': 'kind: Agent\nname: above\nmodel: scripted:turns.yml\nimport: { tools: [./look.yml] }\n',
    'turns.yml': `turns: [ '<action id="a">{"name":"look"}</action>' ]\n`,
    'look.yml': 'kind: Tool\nname: look\nimplementation: { module: ./look.mjs }\n',
    'look.mjs': "export const run = () => `typed: ${process.env.TELLTALE_PROGRAM ?? 'nobody'}`;\n",
  });
  const child = spawned(['run', 'agent.yml', 'Go', '--store', 'b.db'], cwd, {
    env: { TELLTALE_PROGRAM: 'npm start --' },
  });
  const { code, out, err } = await child.ended;
  expect({ code, out }).toEqual({ code: 1, out: expect.stringContaining('typed: nobody') });
  expect(err).toMatch(/See: npm start -- logs ses_\w+ --store b\.db\n/);
  const io = recordedIo({ program: 'npm start --' });
  expect(await main(['resmue', 'last'], io)).toBe(2);
  expect(io.err()).toContain('\n  npm start -- resmue last\n               ^^^^^^\n');
  expect(await main(['resume', '--help'], io)).toBe(0);
  expect(io.out()).toContain('Usage: npm start -- resume [options] <session>\n');
  expect(io.out()).toContain('  $ npm start -- resume last\n');
}, 30_000);

it.each([
  [['show', 'last'], ''],
  [['show', 'last', '--store', 'b.db'], FLAG],
  [['show', 'last', '--store=a.db', '--store', 'b.db'], FLAG],
  [['show', '--store=b.db', '--', '--store', 'c.db'], FLAG],
])('the store of %j is the one that the command takes', (argv, flag) => {
  expect(storeFlagIn(argv)).toBe(flag);
});

it('a cancel that cannot undo what was done says how to force it, with the store once', async () => {
  const flow = (prompt: string) =>
    `kind: Workflow\nname: flow\nsteps:\n  - { name: first, type: tool, target: mark, compensate: { target: mark } }\n  - { name: allow, type: approval, prompt: "${prompt}" }\n`;
  const cwd = agentFolder('', {
    'agent.yml':
      'kind: Agent\nname: above\nmodel: scripted:turns.yml\npermissions: { sandbox: off }\nimport: { workflows: [./flow.yml], tools: [./mark.yml] }\n',
    'turns.yml': 'turns: [ "<response>Done</response>" ]\n',
    'mark.yml': 'kind: Tool\nname: mark\nimplementation: { command: ["true"] }\n',
    'flow.yml': flow('Go on?'),
  });
  const { code, err } = await telltale(['workflow', 'run', 'agent.yml', 'flow', '--store', 'b.db'], cwd);
  expect(code).toBe(3);
  const [run = ''] = /run_\w+/.exec(err) ?? [];
  writeFileSync(join(cwd, 'flow.yml'), flow('And now?'));
  const refused = await telltale(['cancel', run, '--store', 'b.db'], cwd);
  expect(refused.code).toBe(1);
  expect(refused.err).toContain(`undoing anything: telltale cancel ${run} --store b.db --force\n`);
}, 30_000);

it('what is said of a fleet names its database in the commands to go on with', async () => {
  const database = await testDatabase();
  try {
    await (await openStore(database.url, { clock: createSystemClock() })).close();
    const io = { ...recordedIo(), clock: createSystemClock() };
    expect(await main(['fleet', '--store', database.url], io)).toBe(0);
    expect(io.out()).toContain(`Start one: telltale worker${storeFlag(database.url)}\n`);
  } finally {
    await database.remove();
  }
}, 60_000);
