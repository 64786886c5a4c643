import { existsSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../servers/free-port.ts';
import { type Daemon, filesBelow, startDaemon, telltale, temporaryFolder, writeFiles } from './daemon.ts';

const LONG = { timeout: 120_000 };
const ME = `user:${userInfo().username}`;
const TOKEN = /tt_[\w-]{43}/;

const AGENT = `kind: Agent
name: helper
model: scripted:./turns.yml
import: { tools: [./deploy.yml] }
`;
const DEPLOY = `kind: Tool
name: deploy
approval: always
parameters: {}
implementation: { command: [touch, deployed] }
`;
const ASKS = `turns:
  - |
    <action id="d">{"name":"deploy"}</action>
    <response>Deployed: $d</response>
  - |
    <response>It was not to be.</response>
`;
const FILES = { 'agent.yml': AGENT, 'deploy.yml': DEPLOY, 'turns.yml': ASKS };

interface Review {
  readonly review: string;
  readonly session: string;
}
interface Page<Item> {
  readonly items: readonly Item[];
}

/** The review that a session opens. */
async function reviewOf({ json }: Daemon): Promise<Review> {
  await json('/sessions', { agent: 'helper', input: 'Deploy it.' });
  let open: readonly Review[] = [];
  await expect
    .poll(async () => {
      open = (await json<Page<Review>>('/reviews')).items;
      return open.length;
    })
    .toBe(1);
  return open[0] as Review;
}

const eventsOf = async ({ json }: Daemon, session: string) =>
  (await json<Page<Record<string, unknown>>>(`/sessions/${session}/events?limit=200`)).items;

/** What an agent would run to become its own judge: it looks for a token everywhere, and knocks with and without. */
const attack = (port: number, ...folders: readonly string[]) => `
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
const loot = { statuses: [], tokens: [] };
const search = (text) => loot.tokens.push(...(text.match(/tt_[\\w-]{43}/g) ?? []));
search(JSON.stringify(process.env));
for (const folder of ${JSON.stringify(folders)}) {
  let names = [];
  try { names = readdirSync(folder, { recursive: true, withFileTypes: true }); } catch {}
  for (const entry of names) try { search(readFileSync(join(entry.parentPath, entry.name), 'utf8')); } catch {}
}
for (const pid of readdirSync('/proc').filter((name) => /^\\d+$/.test(name)))
  for (const file of ['environ', 'cmdline']) try { search(readFileSync('/proc/' + pid + '/' + file, 'utf8')); } catch {}
const keys = [undefined, '', 'null', 'tt_' + 'a'.repeat(43), ...loot.tokens];
for (const key of keys) {
  const headers = { 'content-type': 'application/json', ...(key === undefined ? {} : { authorization: 'Bearer ' + key }) };
  const send = async (path, body) => {
    try {
      const answer = await fetch('http://127.0.0.1:${port}' + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
      loot.statuses.push(answer.status);
      return answer.ok ? await answer.json() : {};
    } catch { return {}; }
  };
  await send('/tokens', { name: 'mine' + keys.indexOf(key), role: 'admin' });
  for (const { review } of (await send('/reviews')).items ?? []) await send('/reviews/' + review, { answer: 'approved' });
}
// Whole at once: the test reads it as soon as it is there.
writeFileSync('work/loot.part', JSON.stringify(loot));
renameSync('work/loot.part', 'work/loot.json');
`;

describe('an agent that wants to approve its own deployment', () => {
  const project = (port: number, home: string) => ({
    ...FILES,
    'agent.yml': `kind: Agent
name: helper
model: scripted:./turns.yml
import: { tools: [builtin:http_fetch, builtin:filesystem, builtin:shell, ./deploy.yml] }
permissions:
  paths: { allow: [".", ${JSON.stringify(home)}] }
  network: { allow: ["127.0.0.1:${port}", "localhost:${port}", "*"] }
  shell: { allow: ["node attack.mjs"] }
`,
    'attack.mjs': attack(port, home, '.'),
    'work/.keep': '',
  });

  it('gets nowhere with a shell, the network, and its manifest on its side', LONG, async () => {
    const port = await freePort();
    const home = temporaryFolder();
    const cwd = temporaryFolder(project(port, home));
    writeFiles(cwd, {
      'turns.yml': `turns:
  - |
    <action id="d">{"name":"deploy"}</action>
    <action id="s">{"name":"shell","parameters":{"command":"node attack.mjs"}}</action>
    <response final="false">$s</response>
  - |
    <response>$d</response>
`,
    });
    const daemon = await startDaemon({ cwd, home }, 'serve', '--port', String(port));
    const { review } = await reviewOf(daemon);
    await expect.poll(() => existsSync(join(cwd, 'work/loot.json')), { timeout: 60_000 }).toBe(true);
    const loot = JSON.parse(readFileSync(join(cwd, 'work/loot.json'), 'utf8')) as {
      readonly statuses: readonly number[];
      readonly tokens: readonly string[];
    };
    expect(loot.tokens).toEqual([]);
    expect(loot.statuses.filter((status) => status !== 401 && status !== 403)).toEqual([]);
    expect((await daemon.json<Page<Review>>('/reviews')).items).toMatchObject([{ review }]);
    expect((await daemon.json<Page<unknown>>('/tokens')).items).toEqual([]);
    expect(existsSync(join(cwd, 'deployed'))).toBe(false);
  });

  it(
    'gets nowhere with http_fetch, and cannot read the file of the daemon under any name',
    LONG,
    async () => {
      const port = await freePort();
      const home = temporaryFolder();
      const cwd = temporaryFolder(project(port, home));
      const daemon = await startDaemon({ cwd, home }, 'serve', '--port', String(port));
      const file = join(home, 'state', 'daemons', `${daemon.pid}-${port}.json`);
      expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ port, token: daemon.token });
      symlinkSync(join(home, 'state'), join(cwd, 'innocent'));
      mkdirSync(join(home, 'more'));
      linkSync(file, join(home, 'more', 'linked.json'));
      const paths = [
        file,
        join(home, 'state', '..', 'state', 'daemons', `${daemon.pid}-${port}.json`),
        `innocent/daemons/${daemon.pid}-${port}.json`,
        join(home, 'more', 'linked.json'),
      ];
      const listed = [join(home, 'state'), join(home, 'state', 'daemons'), 'innocent', 'innocent/daemons'];
      const calls = [
        ...paths.map((path) => ({ name: 'filesystem', parameters: { operation: 'read', path } })),
        ...listed.map((path) => ({ name: 'filesystem', parameters: { operation: 'list', path } })),
        { name: 'filesystem', parameters: { operation: 'grep', path: home, pattern: 'tt_' } },
        {
          name: 'filesystem',
          parameters: { operation: 'write', path: join(home, 'state', 'x'), content: 'x' },
        },
        { name: 'http_fetch', parameters: { url: `http://127.0.0.1:${port}/reviews` } },
        { name: 'http_fetch', parameters: { url: `http://localhost:${port}/whoami` } },
        { name: 'http_fetch', parameters: { url: `file://${file}` } },
        {
          name: 'http_fetch',
          parameters: {
            url: `http://127.0.0.1:${port}/tokens`,
            method: 'POST',
            body: { name: 'mine', role: 'admin' },
          },
        },
      ];
      writeFiles(cwd, {
        'turns.yml': JSON.stringify({
          turns: [
            `${calls.map((call, index) => `<action id="a${index}">${JSON.stringify(call)}</action>`).join('\n')}
<response final="false">I look around.</response>`,
            '<response>That was all.</response>',
          ],
        }),
      });
      const { id } = await daemon.json<{ readonly id: string }>('/sessions', {
        agent: 'helper',
        input: 'Go.',
      });
      await expect
        .poll(async () => (await daemon.json<{ readonly status: string }>(`/sessions/${id}`)).status, {
          timeout: 60_000,
        })
        .toBe('completed');
      const events = await eventsOf(daemon, id);
      const ended = events.filter(({ type }) => type === 'action.completed' || type === 'action.failed');
      expect(ended.length).toBe(calls.length);
      expect(JSON.stringify(events)).not.toMatch(TOKEN);
      const got = ended.filter(({ type }) => type === 'action.completed');
      // A look through the folder above may find nothing; no request may be answered, not even with a refusal.
      for (const event of got) expect(JSON.stringify(event)).toMatch(/"matches":\[\]|"output":\[\]/);
      expect((await daemon.json<Page<unknown>>('/tokens')).items).toEqual([]);
      expect(existsSync(join(home, 'state', 'x'))).toBe(false);
    },
  );
});

describe('every request', () => {
  it(
    'needs a token on loopback, but for the console, probes, hooks and the description of the API',
    LONG,
    async () => {
      const home = temporaryFolder();
      const daemon = await startDaemon({ cwd: temporaryFolder(FILES), home }, 'serve', '--port', '0');
      const document = await (await daemon.bare('/openapi.json')).json();
      const paths = Object.entries((document as { readonly paths: Record<string, object> }).paths).flatMap(
        ([path, methods]) => Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
      );
      expect(paths.length).toBeGreaterThan(40);
      for (const [method, path] of paths) {
        if (/^\/(?:healthz|readyz|hooks|openapi\.json)/.test(path)) continue;
        const place = path.replaceAll(/\{\w+\}/g, 'x');
        const body = method === 'GET' ? {} : { body: '{}', headers: { 'content-type': 'application/json' } };
        const answer = await daemon.bare(place, { method, ...body });
        expect([method, path, answer.status]).toEqual([method, path, 401]);
        expect(answer.headers.get('set-cookie')).toBeNull();
      }
      for (const path of ['/', '/healthz', '/readyz']) expect((await daemon.bare(path)).status).toBe(200);
      for (const path of ['/metrics', '/v1/models', '/events', '/nothing'])
        expect((await daemon.bare(path)).status).toBe(401);
      // No token in an address counts: addresses are logged.
      expect((await daemon.bare(`/whoami?token=${daemon.token}`)).status).toBe(401);
      expect((await daemon.bare(`/whoami?access_token=${daemon.token}`)).status).toBe(401);
      expect(await daemon.json('/whoami')).toMatchObject({ by: ME, role: 'admin' });
    },
  );

  it('is refused with a token that is wrong, revoked, or of a daemon that has ended', LONG, async () => {
    const place = { cwd: temporaryFolder(FILES), home: temporaryFolder() };
    const first = await startDaemon(place, 'serve', '--port', '0');
    const { token } = await first.json<{ readonly token: string }>('/tokens', { name: 'ci', role: 'run' });
    expect(await first.json('/whoami', undefined, token)).toMatchObject({ by: 'token:ci', role: 'run' });
    const flipped = `${first.token.slice(0, -1)}${first.token.endsWith('A') ? 'Q' : 'A'}`;
    for (const wrong of [flipped, first.token.toUpperCase(), `${first.token}x`, 'tt_'])
      expect([wrong, (await first.ask('/whoami', {}, wrong)).status]).toEqual([wrong, 401]);
    expect((await first.ask('/tokens/ci', { method: 'DELETE' })).status).toBe(204);
    expect((await first.ask('/whoami', {}, token)).status).toBe(401);
    // Its name stays its own: whoever gets a new one signs with another name.
    const again = await first.ask('/tokens', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'ci', role: 'run' }),
    });
    expect(again.status).toBe(409);
    await first.stop('SIGTERM');
    const second = await startDaemon(place, 'serve', '--port', '0');
    expect(second.token).not.toBe(first.token);
    expect((await second.ask('/whoami', {}, first.token)).status).toBe(401);
  });

  it('cannot be freed of its token, and the option that once asked for one says so', LONG, async () => {
    const place = { cwd: temporaryFolder(FILES), home: temporaryFolder() };
    const daemon = await startDaemon(place, 'serve', '--port', '0', '--require-token');
    expect(daemon.err()).toContain('--require-token has no effect any more');
    expect((await daemon.bare('/sessions')).status).toBe(401);
    for (const option of ['--no-token', '--no-require-token', '--no-auth'])
      expect((await telltale(place, 'serve', '--port', '0', option)).code).toBe(2);
  });
});

describe('the token of a daemon', () => {
  it('is in a file that only its user can read, for as long as the daemon runs', LONG, async () => {
    const home = temporaryFolder();
    const place = { cwd: temporaryFolder(FILES), home };
    const state = join(home, 'state');
    mkdirSync(join(state, 'daemons'), { recursive: true, mode: 0o755 });
    // One of a process that is gone, and one whose number another process has got since.
    writeFileSync(
      join(state, 'daemons', '999999999-1.json'),
      '{"pid":999999999,"token":"tt_old","startedAt":1}',
    );
    const reused = JSON.stringify({ pid: process.pid, token: 'tt_old', port: 1, startedAt: 1 });
    writeFileSync(join(state, 'daemons', `${process.pid}-1.json`), reused);
    const daemon = await startDaemon(place, 'serve', '--port', '0');
    const [file = '', ...more] = filesBelow(state);
    expect(more).toEqual([]);
    expect(file).toBe(join(state, 'daemons', `${daemon.pid}-${daemon.port}.json`));
    const mode = (path: string) => statSync(path).mode & 0o777;
    expect([mode(state), mode(join(state, 'daemons')), mode(file)]).toEqual([0o700, 0o700, 0o600]);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      url: daemon.url,
      host: '127.0.0.1',
      port: daemon.port,
      pid: daemon.pid,
      store: 'sqlite:.telltale/telltale.db',
      token: daemon.token,
      startedAt: expect.any(Number),
    });
    const { out } = await telltale(place, 'token', 'link');
    expect(out).toBe(`${daemon.link}\n`);
    expect(daemon.link).toBe(`${daemon.url}/#token=${daemon.token}`);
    expect(await daemon.stop('SIGTERM')).toBe(0);
    expect(filesBelow(state)).toEqual([]);
    expect(await telltale(place, 'token', 'link')).toMatchObject({ code: 1, out: '' });
  });

  it('is in no store, log, audit, telemetry or line of output but the link', LONG, async () => {
    const cwd = temporaryFolder(FILES);
    const place = { cwd, home: temporaryFolder() };
    const daemon = await startDaemon(place, 'serve', '--port', '0');
    const { review } = await reviewOf(daemon);
    await daemon.json(`/reviews/${review}`, { answer: 'rejected' });
    const shown = await Promise.all(
      ['/audit', '/tokens', '/metrics', '/sessions', '/whoami'].map(async (path) =>
        (await daemon.ask(path)).text(),
      ),
    );
    expect(shown.join('\n')).not.toContain(daemon.token);
    expect(daemon.err()).not.toContain(daemon.token);
    expect(daemon.out().split(daemon.token).length - 1).toBe(2); // token and link
    await daemon.stop('SIGTERM');
    for (const file of filesBelow(cwd))
      expect([file, readFileSync(file).includes(daemon.token)]).toEqual([file, false]);
  });

  it('is not put where somebody else could have laid a trap', LONG, async () => {
    const home = temporaryFolder({ 'elsewhere/daemons/keep': '' });
    symlinkSync(join(home, 'elsewhere'), join(home, 'state'));
    const daemon = await startDaemon({ cwd: temporaryFolder(FILES), home }, 'serve', '--port', '0');
    expect(daemon.err()).toContain('Set TELLTALE_HOME to a folder of your own');
    expect(filesBelow(join(home, 'elsewhere'))).toEqual([join(home, 'elsewhere', 'daemons', 'keep')]);
    expect((await daemon.ask('/whoami')).status).toBe(200);
  });
});

describe('the environment of a command', () => {
  it('holds no token, also where the manifest asks for it by name', LONG, async () => {
    const token = `tt_${'k'.repeat(43)}`;
    const cwd = temporaryFolder({
      'agent.yml': `kind: Agent
name: helper
model: scripted:./turns.yml
import: { tools: [./look.yml] }
permissions: { environment: [TELLTALE_TOKEN, TELLTALE_MCP_TOKEN, DISGUISED, PLAIN] }
`,
      'work/.keep': '',
      'look.yml': `kind: Tool
name: look
parameters: {}
implementation: { command: [node, -e, "require('fs').writeFileSync('work/env.json', JSON.stringify(process.env))"] }
`,
      'turns.yml': `turns:
  - |
    <action id="l">{"name":"look"}</action>
    <response>I saw $l</response>
`,
    });
    const env = {
      TELLTALE_TOKEN: 'secret',
      TELLTALE_MCP_TOKEN: 'secret',
      DISGUISED: `x ${token}`,
      PLAIN: 'plain',
    };
    expect((await telltale({ cwd, home: temporaryFolder(), env }, 'run', 'agent.yml', 'Look.')).code).toBe(0);
    const seen = JSON.parse(readFileSync(join(cwd, 'work/env.json'), 'utf8')) as Record<string, string>;
    expect(seen.PLAIN).toBe('plain');
    for (const name of ['TELLTALE_TOKEN', 'TELLTALE_MCP_TOKEN', 'DISGUISED'])
      expect(seen).not.toHaveProperty(name);
  });
});

describe('a decision is signed by whoever made it', () => {
  it('over HTTP by the token, and by the user with the token of the start', LONG, async () => {
    const daemon = await startDaemon(
      { cwd: temporaryFolder(FILES), home: temporaryFolder() },
      'dev',
      '--port',
      '0',
    );
    const user = userInfo().username;
    // A token may be called like a user, and is still none.
    const name = /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(user) ? user : 'root';
    const made = await daemon.json<{ readonly token: string }>('/tokens', { name, role: 'run' });
    const first = await reviewOf(daemon);
    await daemon.json(`/sessions/${first.session}/steer`, { text: 'Careful.' }, made.token);
    await daemon
      .json(`/reviews/${first.review}`, { answer: 'rejected', by: 'boss' } as object, made.token)
      .catch(() => daemon.json(`/reviews/${first.review}`, { answer: 'rejected' }, made.token));
    const events = await eventsOf(daemon, first.session);
    expect(events).toContainEqual(expect.objectContaining({ type: 'review.resolved', by: `token:${name}` }));
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'audit', who: `token:${name}`, what: 'steer' }),
    );
    const second = await reviewOf(daemon);
    await daemon.json(`/reviews/${second.review}`, { answer: 'rejected' });
    expect(await eventsOf(daemon, second.session)).toContainEqual(
      expect.objectContaining({ type: 'review.resolved', by: ME }),
    );
    const third = await reviewOf(daemon);
    await daemon.json(`/sessions/${third.session}/cancel`, {});
    await expect
      .poll(async () => eventsOf(daemon, third.session))
      .toContainEqual(expect.objectContaining({ type: 'session.cancelled', by: ME }));
    const { items } = await daemon.json<Page<{ readonly who: string; readonly what: string }>>('/audit');
    expect(items).toContainEqual(expect.objectContaining({ who: ME, what: 'POST /tokens', about: name }));
    expect(new Set(items.map(({ who }) => who))).toEqual(new Set([ME, `token:${name}`]));
    expect((await daemon.json<Page<object>>('/tokens')).items).toMatchObject([{ name, createdBy: ME }]);
  });

  it(
    'on the command line by the user of the system, whatever the environment and --by say',
    LONG,
    async () => {
      const cwd = temporaryFolder(FILES);
      const place = { cwd, home: temporaryFolder(), env: { USER: 'boss', LOGNAME: 'boss' } };
      const events = async () =>
        (await telltale(place, 'logs', 'last', '--json')).out
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as Record<string, unknown>);
      expect((await telltale(place, 'run', 'agent.yml', 'Deploy it.')).code).toBe(3);
      expect((await telltale(place, 'steer', 'last', 'Careful.')).code).toBe(0);
      expect((await telltale(place, 'reviews', 'reject', 'last', '--by', 'token:ci')).code).toBe(0);
      expect(await events()).toContainEqual(
        expect.objectContaining({ type: 'review.resolved', by: `${ME} (for token:ci)` }),
      );
      expect((await telltale(place, 'resume', 'last')).code).toBe(0);
      const log = await events();
      expect(log).toContainEqual(expect.objectContaining({ type: 'audit', who: ME, what: 'steer' }));
      expect(log).toContainEqual(expect.objectContaining({ type: 'session.resumed', by: ME }));
      expect((await telltale(place, 'token', 'create', 'ci', '--role', 'run')).code).toBe(0);
      const { out } = await telltale(place, 'token', 'list', '--json');
      expect(JSON.parse(out)).toMatchObject([{ name: 'ci', createdBy: ME }]);
    },
  );

  it('never by "local"', LONG, async () => {
    const daemon = await startDaemon(
      { cwd: temporaryFolder(FILES), home: temporaryFolder() },
      'serve',
      '--port',
      '0',
    );
    const { review, session } = await reviewOf(daemon);
    await daemon.json(`/reviews/${review}`, { answer: 'approved' });
    expect(JSON.stringify(await eventsOf(daemon, session))).not.toContain('"local"');
    expect(JSON.stringify(await daemon.json('/audit'))).not.toContain('"local"');
  });
});
