import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { agentFolder } from '../agent/run-agent.ts';
import { eventually } from '../store/eventually.ts';
import { recordedIo } from './recorded-io.ts';

const mark = (name: string, file: string, undo = '') =>
  `  - { name: ${name}, type: tool, target: mark, parameters: { file: ${file} }${undo} }\n`;
const ask = '  - { name: allow, type: approval, prompt: "Go on?" }\n';
const fired = (name: string, steps: string) =>
  `kind: Workflow\nname: ${name}\ntrigger: { type: metadata_match, conditions: { stage: GO } }\nsteps:\n${steps}`;

/** A session with a run that its trigger set off, which calls an agent with three: all of them ask people. */
const FILES = {
  'agent.yml':
    'kind: Agent\nname: above\nmodel: scripted:above.yml\nimport: { agents: [./worker.yml], workflows: [./own.yml], tools: [./mark.yml] }\nmetadata: { fields: { stage: { values: [WAIT, GO], default: WAIT } } }\npermissions: { sandbox: "off" }\n',
  'above.yml':
    'turns:\n  - text: |-\n      <metadata>{"stage":"GO"}</metadata><action type="agent" id="w" mode="sync">{"name":"worker","parameters":{"input":"Go"}}</action>\n',
  'own.yml': fired('own', `${ask}${mark('act', 'own')}`),
  'mark.yml':
    'kind: Tool\nname: mark\nparameters: { type: object, properties: { file: { type: string } } }\nimplementation: { command: [touch, "{file}"] }\n',
  'flows/called.yml': `kind: Workflow\nname: called\nsteps:\n${ask}${mark('act', 'called')}`,
  'flows/fired.yml': fired('fired', `${ask}${mark('act', 'fired')}`),
  'flows/undoing.yml': fired(
    'undoing',
    `${mark('first', 'first', ', compensate: { target: mark, parameters: { file: undone } }')}${ask}${mark('act', 'undoing')}`,
  ),
  'worker.yml':
    'kind: Agent\nname: worker\nmodel: scripted:turns.yml\nimport: { workflows: [./flows/*.yml], tools: [./mark.yml] }\nmetadata: { fields: { stage: { values: [WAIT, GO], default: WAIT } } }\npermissions: { sandbox: "off" }\n',
  'turns.yml':
    'turns:\n  - text: |-\n      <metadata>{"stage":"GO"}</metadata><action type="workflow" id="c" mode="sync">{"name":"called"}</action>\n',
};

const WORKFLOWS = ['called', 'fired', 'own', 'undoing'];

it('a session that nobody works on is cancelled with its runs and those of agents below it, and what they did is undone', async () => {
  const cwd = agentFolder('', FILES);
  const tell = async (argv: readonly string[], signal = new AbortController().signal) => {
    const io = { ...recordedIo({ cwd, env: {} }), signal, clock: createSystemClock() };
    return { code: await main(argv, io), out: io.out(), err: io.err() };
  };
  const runs = async () =>
    JSON.parse((await tell(['workflow', 'list', '--json'])).out)
      .map(({ workflow, status }: { workflow: string; status: string }) => `${workflow} ${status}`)
      .sort();
  const leaving = new AbortController();
  const running = tell(['run', 'agent.yml', 'Go'], leaving.signal);
  await eventually(async () => expect(await runs()).toEqual(WORKFLOWS.map((name) => `${name} waiting`)));
  leaving.abort();
  const [, session = ''] = /(ses_\w+)/.exec((await running).out) ?? [];
  expect(await tell(['cancel', session])).toEqual({
    code: 0,
    err: '',
    out: `No process worked on ${session}. It is cancelled now.\n`,
  });
  expect(await runs()).toEqual(WORKFLOWS.map((name) => `${name} cancelled`));
  const done = ['first', 'undone', ...WORKFLOWS].filter((file) => existsSync(join(cwd, file)));
  expect(done).toEqual(['first', 'undone']);
}, 30_000);
