import { expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { recordedIo } from '../cli/recorded-io.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { served } from './served.ts';

const SECRET = 'hunter2-9f8e7d6c';
const HOST = 'internal-host.example';
const NUMBER = '48213';

const AGENT = `kind: Agent
name: worker
description: Talks to \${HOST}.
model: scripted:./turns.yml
instructions: "Use the key '\${SECRET}' for everything."
import: { tools: [./tools.yml], workflows: [./flow.yml] }
permissions: { network: ["\${HOST}"] }
context_variables:
  defined:
    - { name: endpoint, type: string, default: "https://\${HOST}/search?sig=\${SECRET}" }
    - { name: port, type: number, default: 1 }
`;
const FLOW = `kind: Workflow
name: flow
description: Asks \${HOST}.
input:
  type: object
  properties: { key: { type: string, default: "\${SECRET}" } }
steps:
  - { name: ask, type: tool, target: search, parameters: { note: "bearer \${SECRET}" } }
`;
const TOOLS = `kind: Tool
name: search
description: Searches \${HOST} with \${SECRET}.
implementation: { command: [echo, "\${SECRET}"] }
`;
const files = { 'agent.yml': AGENT, 'flow.yml': FLOW, 'tools.yml': TOOLS, 'turns.yml': 'turns: [x]\n' };
const ENV = { SECRET, HOST, NUMBER };

const shows = (text: string) => {
  expect(text).not.toContain(SECRET);
  expect(text).not.toContain(HOST);
};

it('what the server shows of an agent has the names of variables in place of their values', async () => {
  const cwd = temporaryProject(files);
  const server = await served(['agent.yml'], cwd, ENV);
  const agent = await server.text('/agents/worker');
  shows(agent);
  expect(agent).toContain("Use the key '${SECRET}' for everything.");
  for (const path of ['/agents', '/workflows', '/openapi.json']) shows(await server.text(path));
  expect(await server.text('/workflows')).toContain('Asks ${HOST}.');
});

it.each([
  ['inspect of an agent', ['inspect', 'worker', '--json']],
  ['inspect of a tool', ['inspect', 'search', '--json']],
  ['inspect of a workflow', ['inspect', 'flow']],
  ['graph', ['graph', 'agent.yml', 'flow', '--json']],
  ['graph as a drawing', ['graph', 'agent.yml', 'flow']],
])('%s shows the names of variables in place of their values', async (_what, argv) => {
  const cwd = temporaryProject(files);
  const io = {
    ...recordedIo({ cwd, env: { PATH: process.env.PATH ?? '', ...ENV } }),
    clock: createSystemClock(),
  };
  expect(await main(argv, io)).toBe(0);
  expect(io.out()).not.toBe('');
  shows(io.out());
});
