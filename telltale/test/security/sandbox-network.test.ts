import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createTcpServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { McpServerMcpServer } from '../../src/mcp/server/create-mcp-server.ts';
import { serveHttp } from '../../src/mcp/server/serve-http.ts';
import { findSandbox } from '../../src/tools/process/find-sandbox.ts';
import type { TargetCall } from '../../src/tools/target.ts';
import { recordedIo } from '../cli/recorded-io.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { openStage } from '../server/http/stage.ts';
import { agentTargets, type Given, until } from '../tools/agent-targets.ts';
import { httpServer } from '../tools/http-server.ts';

const sandbox = await findSandbox({ PATH: process.env.PATH });
// Where there is no sandbox, a command has the network of the machine, which is documented.
const inSandbox = sandbox.found ? describe : () => undefined;

const given = async (network: string, options: Given['options'] = {}) => {
  const targets = await agentTargets({
    agent: `import: { tools: ["builtin:shell", "builtin:git", "builtin:http_fetch"] }\npermissions: { shell: allow, sandbox: require, network: ${network} }`,
    // Commands create nothing next to the manifest.
    files: { 'work/keep': '' },
    options,
  });
  const sh = (command: string, call: Partial<TargetCall> = {}) =>
    targets.call('shell', { command, allow_failure: true }, call) as Promise<{
      exit_code: number;
      stdout: string;
      stderr: string;
    }>;
  return { ...targets, sh };
};

const fetching = (url: string) =>
  `node -e 'fetch("${url}").then(async (r) => console.log(r.status, await r.text()), () => console.log("failed"))'`;
const connecting = (host: string, port: number) =>
  `node -e 'require("net").connect(${port}, "${host}").on("connect", () => console.log("connected")).on("error", () => process.exit(9))'`;

const hello = () => httpServer((_, response) => response.end('hello'));

/** A process of the same user that has written itself down as a daemon. */
function daemonFile(port: number, below = '.') {
  const home = temporaryProject();
  mkdirSync(join(home, below, 'daemons'), { recursive: true });
  writeFileSync(
    join(home, below, 'daemons', `${process.pid}-${port}.json`),
    JSON.stringify({ url: `http://127.0.0.1:${port}`, host: '127.0.0.1', port, pid: process.pid }),
  );
  return { PATH: process.env.PATH, HOME: home, TELLTALE_HOME: home };
}

inSandbox('a sandboxed command with network', () => {
  test('reaches a host that is allowed, and no other one', async () => {
    const [one, other] = [await hello(), await hello()];
    const { sh } = await given(`["127.0.0.1:${one.port}"]`);
    expect((await sh(fetching(`http://127.0.0.1:${one.port}/`))).stdout).toBe('200 hello\n');
    const refused = await sh(fetching(`http://127.0.0.1:${other.port}/`));
    expect(refused.stdout).toBe('failed\n');
    expect(refused.stderr).toContain(`The host "127.0.0.1" (port ${other.port}) is not permitted`);
    expect(other.seen).toHaveLength(0);
  });

  test('has no way past the proxy, by no address of the machine', async () => {
    const { port } = await hello();
    const { sh } = await given('[api.example.com]');
    const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    for (const host of ['127.0.0.1', '0.0.0.0', '::1', ...own.map(({ address }) => address)])
      expect((await sh(connecting(host, port))).exit_code, host).toBe(9);
    expect((await sh('cat /proc/net/dev')).stdout).not.toMatch(/^ *(?!lo:|Inter|face)\w+:/m);
  });

  test('reaches an allowed port of this machine also without knowing a proxy', async () => {
    const server = createTcpServer((socket) => socket.end('raw'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { readonly port: number };
    const { sh } = await given(`["localhost:${port}"]`);
    const read = `node -e 'require("net").connect(${port}, "localhost").on("data", (d) => console.log(String(d)))'`;
    expect((await sh(read)).stdout).toBe('raw\n');
  });

  test('reaches a named host and port without knowing a proxy, by its name', async () => {
    const { port } = await hello();
    const { sh } = await given(`["db.test:${port}"]`, {
      resolveHost: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    const read = `node -e 'require("http").get({ host: "db.test", port: ${port}, agent: new (require("http").Agent)() }, (r) => r.pipe(process.stdout))'`;
    expect((await sh(read)).stdout).toBe('hello');
  });

  test('gets public addresses only by a wildcard', async () => {
    const { port, seen } = await hello();
    const { sh } = await given('["*"]', { resolveHost: async () => [{ address: '127.0.0.1', family: 4 }] });
    for (const host of ['127.0.0.1', 'inner.test', 'localhost', '2130706433', '[::ffff:127.0.0.1]'])
      expect((await sh(fetching(`http://${host}:${port}/`))).stdout, host).toBe('failed\n');
    expect(seen).toHaveLength(0);
  });

  test('is refused a host that is denied, and one that a person would have to be asked for', async () => {
    const { port, seen } = await hello();
    const { sh } = await given(`{ allow: [x.test], ask: ["asked.test"], deny: ["10.1.1.1", "127.0.0.1"] }`, {
      resolveHost: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    for (const host of ['x.test', 'asked.test', 'other.test', '127.0.0.1'])
      expect((await sh(fetching(`http://${host}:${port}/`))).stdout, host).toBe('failed\n');
    expect(seen).toHaveLength(0);
  });

  test('resolves a name once: the address that was judged is the one that is connected to', async () => {
    const { port } = await hello();
    let asked = 0;
    const { sh } = await given('[named.test]', {
      resolveHost: async () => [{ address: ++asked === 1 ? '127.0.0.1' : '192.0.2.1', family: 4 }],
    });
    expect((await sh(fetching(`http://named.test:${port}/`))).stdout).toBe('200 hello\n');
    expect(asked).toBe(1);
  });

  test('reaches its own servers on loopback, whatever is allowed', async () => {
    const { sh } = await given('[api.example.com]');
    const serve = `node -e 'require("http").createServer((q, r) => r.end("mine")).listen(8123, "127.0.0.1", () => fetch("http://127.0.0.1:8123/").then((r) => r.text()).then((t) => { console.log(t); process.exit() }))'`;
    expect((await sh(serve)).stdout).toBe('mine\n');
  });

  test('speaks through CONNECT as well, as curl and TLS clients do', async () => {
    const { port } = await hello();
    const { sh } = await given(`["127.0.0.1"]`);
    const tunnelled = await sh(
      `node -e 'const p = new URL(process.env.HTTPS_PROXY); require("http").request({ host: p.hostname, port: p.port, method: "CONNECT", path: "127.0.0.1:${port}" }).on("connect", (r, s) => { s.write("GET / HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n"); s.on("data", (d) => process.stdout.write(d)); }).end()'`,
    );
    expect(tunnelled.stdout).toContain('hello');
  });

  test('cannot reach the address of a daemon, however it is spelled, whatever is allowed', async () => {
    const { port, seen } = await hello();
    const other = await hello();
    const hosts = ['127.0.0.1', 'localhost', '0.0.0.0', '::1', '"*"', 'daemon.test', '127.1.2.3'];
    const env = daemonFile(port);
    const { sh } = await given(`[${hosts.map((host) => (host === '::1' ? '"[::1]"' : host)).join(', ')}]`, {
      env,
      resolveHost: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const spellings = [
      '127.0.0.1',
      'localhost',
      '0.0.0.0',
      '[::1]',
      '[::]',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '127.1',
      '127.1.2.3',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '[::ffff:0:7f00:1]',
      '[fe80::5efe:7f00:1]',
      'daemon.test',
      'LOCALHOST',
      'localhost.',
      'a.localhost',
      ...own.filter(({ family }) => family === 'IPv4').map(({ address }) => address),
    ];
    for (const host of spellings) {
      const { stdout, stderr } = await sh(fetching(`http://${host}:${port}/`));
      expect(stdout, host).toBe('failed\n');
      expect(stderr, host).toMatch(/Telltale server on this machine|not permitted/);
    }
    expect(seen).toHaveLength(0);
    expect((await sh(fetching(`http://127.0.0.1:${other.port}/`))).stdout).toBe('200 hello\n');
  });

  test('has no network once the command has ended, and leaves nothing behind', async () => {
    const { sh } = await given('[api.example.com]');
    const { stdout } = await sh('echo $GIT_PROXY_COMMAND');
    expect(stdout).toMatch(/telltale-net-/);
    await until(() => !existsSync(stdout.trim()));
  });

  test('passes on how the program exits, and its signals', async () => {
    const { sh } = await given('[api.example.com]');
    expect((await sh('exit 42')).exit_code).toBe(42);
    expect((await sh('kill -9 $$')).exit_code).toBe(137);
  });

  test('has git by http with an allowed host', async () => {
    const { sh, call, folder } = await given('["127.0.0.1"]');
    await sh(
      'cd work && git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && git update-server-info',
    );
    const server = await httpServer(async ({ url }, response) => {
      const { readFile } = await import('node:fs/promises');
      const path = (url ?? '').split('?')[0] ?? '';
      readFile(join(folder, 'work/r/.git', path.replace(/^\/r/, ''))).then(
        (bytes) => response.end(bytes),
        () => response.writeHead(404).end(),
      );
    });
    await sh(`cd work && git init -q c && git -C c remote add origin http://127.0.0.1:${server.port}/r`);
    await call('git', { operation: 'fetch', path: 'work/c' });
    expect(
      await call('git', { operation: 'log', path: 'work/c', ref: 'origin/HEAD' }).catch(() => ''),
    ).toBeDefined();
    expect((await sh('git -C work/c log --all --format=%s')).stdout).toBe('first\n');
  });
});

test('http_fetch cannot reach the address of a daemon, however it is spelled, whatever is allowed', async () => {
  const { port, seen } = await hello();
  const env = daemonFile(port);
  const { failure } = await given(
    '["127.0.0.1", localhost, "0.0.0.0", "[::1]", "[::]", daemon.test, "*", "[64:ff9b::7f00:1]"]',
    { env, resolveHost: async () => [{ address: '::ffff:127.0.0.1', family: 6 }] },
  );
  const redirecting = await httpServer((_, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:${port}/` }).end(),
  );
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  for (const url of [
    ...['127.0.0.1', 'localhost', '0.0.0.0', '[::1]', '[::]', '2130706433', '0x7f.1', '0177.0.0.1'].map(
      (host) => `http://${host}:${port}/`,
    ),
    ...['127.9.9.9', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', 'daemon.test'].map(
      (host) => `http://${host}:${port}/`,
    ),
    ...own.filter(({ family }) => family === 'IPv4').map(({ address }) => `http://${address}:${port}/`),
    `http://127.0.0.1:${redirecting.port}/`,
  ])
    expect((await failure('http_fetch', { url })).code, url).toBe('not_permitted');
  expect((await failure('http_fetch', { url: `http://127.0.0.1:${port}/` })).message).toContain(
    'Telltale server',
  );
  expect(seen).toHaveLength(0);
});

test('a daemon that was started without this environment is known, too', async () => {
  const { port } = await hello();
  const { TELLTALE_HOME: HOME } = daemonFile(port, '.local/state/telltale');
  const env = { HOME, XDG_STATE_HOME: join(HOME, 'elsewhere') };
  const { failure } = await given('["127.0.0.1"]', { env });
  const { message } = await failure('http_fetch', { url: `http://127.0.0.1:${port}/` });
  expect(message).toContain('Telltale server');
});

test('a server of this very process is refused without any file: the daemon, and MCP over HTTP', async () => {
  const daemon = await openStage();
  const mcp = await serveHttp(
    { connect: () => Promise.reject(new Error('nobody comes')) } as unknown as McpServerMcpServer,
    {
      port: 0,
      host: '127.0.0.1',
      onError: () => undefined,
      identify: () => Promise.resolve(undefined),
    },
  );
  onTestFinished(() => mcp.close());
  for (const [name, port] of [
    ['daemon', daemon.server.port],
    ['mcp', Number(new URL(mcp.url).port)],
  ] as const) {
    const { failure, sh } = await given('["127.0.0.1", localhost]');
    const refused = await failure('http_fetch', { url: `http://localhost:${port}/` });
    expect([refused.code, refused.message], name).toEqual([
      'not_permitted',
      expect.stringContaining('Telltale server'),
    ]);
    if (sandbox.found)
      expect((await sh(fetching(`http://127.0.0.1:${port}/`))).stderr, name).toContain('Telltale server');
  }
});

test('git does not reach the address of a daemon, with a sandbox or without one', async () => {
  const { port, seen } = await hello();
  for (const sandboxing of sandbox.found ? ['require', 'off'] : ['off']) {
    const targets = await agentTargets({
      agent: `import: { tools: ["builtin:shell", "builtin:git"] }\npermissions: { shell: allow, sandbox: ${sandboxing}, network: [localhost, "127.0.0.1", daemon.test] }`,
      files: { 'work/keep': '' },
      options: { env: daemonFile(port), resolveHost: async () => [{ address: '127.0.0.1', family: 4 }] },
    });
    await targets.call('shell', { command: 'git init -q work' });
    for (const host of ['localhost', '127.0.0.1', '2130706433', 'daemon.test']) {
      await targets.call('shell', {
        command: `cd work; git remote remove origin; git remote add origin http://${host}:${port}/r`,
        allow_failure: true,
      });
      const refused = await targets.failure('git', { operation: 'fetch', path: 'work' });
      expect(refused.code, `${host} ${sandboxing}`).toBe('not_permitted');
    }
  }
  expect(seen).toHaveLength(0);
});

inSandbox('an agent that is run from the command line', () => {
  test('reaches the allowed host by a command, not another one and not the daemon, and reads why', async () => {
    const [allowed, other, daemon] = [await hello(), await hello(), await hello()];
    const command = [allowed, other, daemon]
      .map(({ port }) => fetching(`http://127.0.0.1:${port}/`))
      .join('; ');
    const cwd = temporaryProject({
      'telltale.yml': '',
      'agent.yml': `kind: Agent
name: worker
model: scripted:./model.yml
import: { tools: ["builtin:shell"] }
permissions: { shell: allow, sandbox: require, network: ["127.0.0.1:${allowed.port}", "127.0.0.1:${daemon.port}"] }
`,
      'model.yml': JSON.stringify({
        turns: [
          `<action id="a1" mode="sync">${JSON.stringify({ name: 'shell', parameters: { command } })}</action>`,
          '<response final="true">done</response>',
        ],
      }),
    });
    const io = {
      ...recordedIo({ cwd, env: { ...daemonFile(daemon.port), HOME: cwd } }),
      clock: createSystemClock(),
    };
    expect(await main(['run', 'agent.yml', 'go'], io), io.err()).toBe(0);
    const reading = { ...recordedIo({ cwd, env: {} }), clock: createSystemClock() };
    await main(['logs', 'last', '--json'], reading);
    const completed = reading
      .out()
      .split('\n')
      .find((line) => line.includes('"action.completed"'));
    expect(completed ?? '').toContain('200 hello\\nfailed\\nfailed\\n');
    expect(completed).toContain(`(port ${other.port}) is not permitted`);
    expect(completed).toContain(`(port ${daemon.port}) is the address of a Telltale server`);
    expect([other.seen, daemon.seen]).toEqual([[], []]);
  });
});

inSandbox('the socket of a command', () => {
  test('cannot be used by another command that sees it', async () => {
    const { port, seen } = await hello();
    const one = await given(`["127.0.0.1:${port}"]`);
    const holding = one.sh(
      'echo $GIT_PROXY_COMMAND > work/where; while [ ! -e finish ]; do sleep 0.02; done',
    );
    const where = join(one.folder, 'work/where');
    await until(() => existsSync(where) && readFileSync(where, 'utf8').endsWith('\n'));
    const folder = dirname(readFileSync(where, 'utf8').trim());
    const other = await agentTargets({
      agent: `import: { tools: ["builtin:shell"] }\npermissions: { shell: allow, sandbox: require, paths: allow }`,
    });
    const tried = (await other.call('shell', {
      command: `ls ${folder} && echo | timeout 10 ${folder}/connect 127.0.0.1 ${port}`,
      allow_failure: true,
    })) as { readonly exit_code: number; readonly stdout: string };
    writeFileSync(join(one.folder, 'finish'), '');
    await holding;
    expect(tried.stdout).toContain('proxy');
    expect(tried.exit_code).not.toBe(0);
    expect(seen).toHaveLength(0);
  });
});

test('the relay refuses to open a connection without the runtime', async () => {
  const folder = temporaryProject();
  const child = spawn(process.execPath, [
    new URL('../../bin/sandbox-relay.js', import.meta.url).pathname,
    'connect',
    folder,
    '127.0.0.1',
    '1',
  ]);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  expect(code).toBe(1);
});
