import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const BIN = fileURLToPath(new URL('../../bin/telltale.js', import.meta.url));
const AGENT = 'kind: Agent\nname: helper\nmodel: scripted:./turns.yml\ninstructions: Do it.\n';
const TURNS = `turns:
  - |
    <response>Done.</response>
`;
/** It says the first word, and the second long after the test is over. */
const SLOW = `tokens_per_second: 0.02
turns:
  - |
    <response>Done in the end.</response>
`;

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-serve-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

interface Served {
  readonly url: string;
  readonly token: string;
  readonly process: ChildProcess;
  readonly said: () => string;
  get(path: string): Promise<unknown>;
  post(path: string, body: object): Promise<Record<string, unknown>>;
  /** The exit code, or the signal that ended it. */
  stop(signal: NodeJS.Signals): Promise<number | string | null>;
}

async function served(cwd: string, ...args: readonly string[]): Promise<Served> {
  const child = spawn(process.execPath, [BIN, ...args, '--json'], {
    cwd,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
  });
  const ended = new Promise<number | string | null>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal)),
  );
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  await Promise.race([
    expect.poll(() => out).toContain('"url"'),
    ended.then((code) => expect.unreachable(`it ended with ${code}: ${err}`)),
  ]);
  const { url, token } = JSON.parse(out) as { readonly url: string; readonly token: string };
  const authorization = `Bearer ${token}`;
  const ask = async (path: string, init?: RequestInit) =>
    JSON.parse(
      (await (await fetch(`${url}${path}`, { headers: { authorization }, ...init })).text()) || '{}',
    );
  return {
    url,
    token,
    process: child,
    said: () => err,
    get: (path) => ask(path),
    post: (path, body) =>
      ask(path, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }) as Promise<Record<string, unknown>>,
    async stop(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

const statusOf = async ({ get }: Served, session: string) =>
  ((await get(`/sessions/${session}`)) as { readonly status: string }).status;

describe('telltale serve', () => {
  it('goes on, after kill -9, with what was cut off', async () => {
    const folder = folderOf({ 'agent.yml': AGENT, 'turns.yml': SLOW });
    const first = await served(folder, 'serve', '--port', '0');
    const { id } = await first.post('/sessions', { agent: 'helper', input: 'Go.' });
    expect(await first.stop('SIGKILL')).toBe('SIGKILL');
    const second = await served(folder, 'serve', '--port', '0');
    await expect
      .poll(async () => second.get(`/sessions/${id}/events?limit=100`))
      .toMatchObject({
        items: expect.arrayContaining([expect.objectContaining({ type: 'session.resumed' })]),
      });
    expect(await statusOf(second, String(id))).toBe('running');
  });

  it('waits at SIGTERM for the step in hand of a run, so that it is not in doubt at the next start', async () => {
    const folder = folderOf({
      'agent.yml': `${AGENT}permissions: { sandbox: "off" }
import: { tools: [./pay.yml] }
---
kind: Workflow
name: flow
steps: [{ name: pay, type: tool, target: pay }]
`,
      'pay.yml':
        'kind: Tool\nname: pay\nparameters: {}\nimplementation: { command: [sh, -c, "echo paying >> paid; sleep 0.5; echo paid >> paid"] }\n',
      'turns.yml': TURNS,
    });
    const paid = () => readFileSync(join(folder, 'paid'), 'utf8');
    const first = await served(folder, 'serve', '--port', '0');
    const { id } = await first.post('/runs', { agent: 'helper', workflow: 'flow' });
    await expect.poll(() => existsSync(join(folder, 'paid'))).toBe(true);
    expect(await first.stop('SIGTERM')).toBe(0);
    expect(first.said()).toContain('Waiting up to 20 s for 1 call that must not be repeated.');
    expect(paid()).toBe('paying\npaid\n');
    const second = await served(folder, 'serve', '--port', '0');
    await expect
      .poll(async () => ((await second.get(`/runs/${id}`)) as { readonly status: string }).status)
      .toBe('completed');
    expect(paid()).toBe('paying\npaid\n');
  });

  it('ends in order at SIGTERM, with exit code 0, and what runs goes on at the next start', async () => {
    const folder = folderOf({ 'agent.yml': AGENT, 'turns.yml': SLOW });
    const first = await served(folder, 'serve', '--port', '0');
    const { id } = await first.post('/sessions', { agent: 'helper', input: 'Go.' });
    expect(await first.stop('SIGTERM')).toBe(0);
    expect(first.said()).toContain('continue at the next start');
    const second = await served(folder, 'serve', '--port', '0');
    await expect
      .poll(async () => second.get(`/sessions/${id}/events?limit=100`))
      .toMatchObject({
        items: expect.arrayContaining([expect.objectContaining({ type: 'session.resumed' })]),
      });
  });

  it.each([
    ['a folder without agents', [], /There is no agent in this folder\..*telltale init/s],
    ['manifests that cannot be loaded', ['nope.yml'], /No agent can be started.*nope\.yml/s],
    ['a port that is none', ['agent.yml', '--port', '70000'], /is not a port.*65535/s],
    ['an address of others without a token', ['agent.yml', '--host', '0.0.0.0'], /telltale token create/],
  ])('says what to do about %s', async (_what, args, said) => {
    const folder = folderOf(args.length === 0 ? {} : { 'agent.yml': AGENT, 'turns.yml': TURNS });
    const child = spawn(process.execPath, [BIN, 'serve', ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH },
    });
    let err = '';
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    const code = await new Promise((resolve) => child.once('exit', resolve));
    expect(err).toMatch(said);
    expect(code).toBe(2);
  });
});

describe('telltale dev', () => {
  it('has an agent to try where the folder has none, and keeps what somebody changed of it', async () => {
    const folder = folderOf({});
    const first = await served(folder, 'dev', '--port', '0');
    expect(await first.get('/agents')).toMatchObject({ items: [{ name: 'release_agent', usable: true }] });
    await first.stop('SIGTERM');
    const file = join(folder, 'telltale-tour', 'agent.yml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('release_agent', 'my_agent'));
    const second = await served(folder, 'dev', '--port', '0');
    expect(await second.get('/agents')).toMatchObject({ items: [{ name: 'my_agent' }] });
    const turns = join(folder, 'telltale-tour', 'turns.yml');
    writeFileSync(turns, readFileSync(turns, 'utf8').replace(/^tokens_per_second: .*/m, ''));

    // Who says something while it waits for a person is told nothing that is not so.
    const { id } = await second.post('/sessions', { agent: 'my_agent', input: 'Go.' });
    await expect.poll(() => statusOf(second, String(id))).toBe('waiting');
    await second.post(`/sessions/${id}/steer`, { text: 'Is it out yet?' });
    await expect.poll(async () => JSON.stringify(await second.get(`/sessions/${id}`))).toContain('"turn":4');
    await second.post(`/sessions/${id}/steer`, { text: 'And now?' });
    const { reviews } = (await second.get(`/sessions/${id}`)) as { readonly reviews: readonly string[] };
    await second.post(`/reviews/${reviews[0]}`, { answer: 'approved' });
    await expect.poll(() => statusOf(second, String(id))).toBe('completed');
    expect(await second.get(`/sessions/${id}`)).toMatchObject({
      result: expect.stringMatching(/^I am done with 1\.4\.0/),
    });
    expect(readFileSync(join(folder, 'telltale-tour/package/published.json'), 'utf8')).toContain('1.4.0');
  });

  it('loads a manifest anew when it changes; a broken edit keeps the old one and says what is wrong', async () => {
    const folder = folderOf({ 'agent.yml': AGENT, 'turns.yml': TURNS });
    const dev = await served(folder, 'dev', '--port', '0');
    writeFileSync(join(folder, 'agent.yml'), `${AGENT}descripton: x\n`);
    await expect
      .poll(() => dev.get('/agents'))
      .toMatchObject({ items: [{ usable: true, problems: [{ line: 5, code: 'unknown_key' }] }] });
    expect(dev.said()).toMatch(/agent\.yml:5:1[\s\S]*Did you mean "description"[\s\S]*stays in use/);
    const { id } = await dev.post('/sessions', { agent: 'helper', input: 'Go.' });
    await expect.poll(() => statusOf(dev, String(id))).toBe('completed');
    writeFileSync(join(folder, 'agent.yml'), `${AGENT}description: better\n`);
    await expect
      .poll(() => dev.get('/agents'))
      .toMatchObject({ items: [{ description: 'better', problems: [] }] });
    expect(dev.said()).toContain('helper was reloaded');
  });

  it('takes the next port where the usual one is taken', async () => {
    const busy = createServer();
    // Where something else has it already, that will do as well.
    await new Promise<void>((resolve) =>
      busy.once('error', () => resolve()).listen(4800, '127.0.0.1', resolve),
    );
    onTestFinished(() => void busy.close());
    const dev = await served(folderOf({ 'agent.yml': AGENT, 'turns.yml': TURNS }), 'dev');
    const port = Number(new URL(dev.url).port);
    expect(port).toBeGreaterThan(4800);
    expect(port).toBeLessThan(4810);
    expect((busy.address() as AddressInfo | null)?.port ?? 4800).toBe(4800);
  });

  it('serves the console and answers in a form that scripts read', async () => {
    const dev = await served(folderOf({ 'agent.yml': AGENT, 'turns.yml': TURNS }), 'dev', '--port', '0');
    const page = await fetch(dev.url);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(await page.text()).toContain('<div id="root">');
    const metrics = await fetch(`${dev.url}/metrics`, { headers: { authorization: `Bearer ${dev.token}` } });
    expect(await metrics.text()).toContain('# TYPE');
  });
});
