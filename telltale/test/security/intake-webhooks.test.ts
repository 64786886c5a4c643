import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import { recordedIo } from '../cli/recorded-io.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { served } from './served.ts';

const hookOf = (secret: string) => `kind: Agent
name: worker
model: scripted:./turns.yml
---
kind: Workflow
name: flow
triggers:
  - { type: webhook, hook: pushed, signature: github, secret: ${secret} }
steps: [{ name: hold, type: wait, event: custom }]
`;
const channelOf = (secret: string) => `kind: Agent
name: worker
model: scripted:./turns.yml
notifications:
  channels:
    ops: { webhook: { url: "https://ops.example.com/", secret: ${secret} } }
`;

async function validate(agent: string, env: Readonly<Record<string, string>> = {}) {
  const cwd = temporaryProject({ 'agent.yml': agent, 'turns.yml': 'turns: [x]\n' });
  const io = {
    ...recordedIo({ cwd, env: { PATH: process.env.PATH ?? '', ...env } }),
    clock: createSystemClock(),
  };
  const code = await main(['validate', 'agent.yml'], io);
  return { code, said: io.out() + io.err() };
}

const WEAK = [
  '',
  ' ',
  '\t\n',
  '\u200b',
  'whsec_',
  ' whsec_ ',
  'WHSEC_',
  'whsec_====',
  'whsec_dGVzdA==',
  `whsec_${Buffer.alloc(32).toString('base64')}`,
  `whsec_${Buffer.from('short key').toString('base64')}`,
  'whsec_not base64 at all, but long enough',
  'change me',
  'changeme',
  'Change-Me!',
  'CHANGE_ME',
  'secret',
  'password',
  'test',
  'example',
  '<secret>',
  '<your signing key>',
  'your-secret-here',
  'your_webhook_secret',
  'xxxxxxxxxxxxxxxx',
  '0000000000000000',
  '----',
  '123456',
];

it.each(WEAK)(
  'a webhook whose secret is %j is a mistake, in the file and from the environment',
  async (secret) => {
    for (const agentOf of [hookOf, channelOf]) {
      const written = await validate(agentOf(JSON.stringify(secret)));
      expect(written.code).toBe(2);
      expect(written.said).toContain('[weak_secret]');
      const fromEnv = await validate(agentOf('"${SECRET}"'), { SECRET: secret });
      expect(fromEnv.code).toBe(2);
      expect(fromEnv.said).toContain('[weak_secret]');
      const byDefault = await validate(agentOf(JSON.stringify(`\${UNSET:-${secret}}`)));
      expect(byDefault.code).toBe(2);
    }
  },
);

it.each([
  'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  'f3b1c0de-2f6a-4a53-9d1e-7d3f0b6f3a11',
  'correct horse battery staple',
])('a webhook may have the secret %j', async (secret) => {
  for (const agentOf of [hookOf, channelOf])
    expect(await validate(agentOf(JSON.stringify(secret)))).toMatchObject({ code: 0 });
});

it('a server does not listen to a hook whose secret is set to a default', async () => {
  const cwd = temporaryProject({
    'agent.yml': hookOf('"${SECRET}"'),
    'other.yml': 'kind: Agent\nname: other\nmodel: scripted:./turns.yml\n',
    'turns.yml': 'turns: [x]\n',
  });
  const server = await served(['agent.yml', 'other.yml'], cwd, { SECRET: 'whsec_' });
  const body = '{}';
  const signature = createHmac('sha256', Buffer.alloc(0)).update(body).digest('hex');
  const answer = await server.ask('/hooks/pushed', {
    method: 'POST',
    body,
    headers: { 'x-hub-signature-256': `sha256=${signature}` },
  });
  expect(answer.status).toBe(404);
});

/** Sends the head of a request and some of its body, and gives what comes back before the rest is sent. */
function answerToHalf(url: string, head: readonly string[], part: Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let heard = '';
    const socket = connect(Number(port), hostname, () => {
      socket.write(`${[...head, `host: ${hostname}:${port}`].join('\r\n')}\r\n\r\n`);
      socket.write(part);
    });
    socket.on('data', (chunk) => {
      heard += chunk.toString();
    });
    socket.on('close', () => resolve(heard));
    socket.on('error', (thrown) => (heard === '' ? reject(thrown) : resolve(heard)));
  });
}

it('a hook that nobody listens to is answered before its body has come, and the connection is closed', async () => {
  const cwd = temporaryProject({
    'agent.yml': hookOf('"f3b1c0de-2f6a-4a53-9d1e"'),
    'turns.yml': 'turns: [x]\n',
  });
  const { url } = await served(['agent.yml'], cwd);
  const half = (path: string, length: string) =>
    answerToHalf(url, [`POST ${path} HTTP/1.1`, length], Buffer.alloc(1_000, 'x'));
  expect(await half('/hooks/nobody', 'content-length: 1000000')).toMatch(/^HTTP\/1\.1 404 /);
  expect(await half('/hooks/nobody', 'transfer-encoding: chunked')).toMatch(/^HTTP\/1\.1 4/);
  expect(await half('/hooks/pushed', 'content-length: 100000000')).toMatch(/^HTTP\/1\.1 413 /);
  expect(await half('/hooks/%70ushed/more', 'content-length: 1000000')).toMatch(/^HTTP\/1\.1 404 /);
});
