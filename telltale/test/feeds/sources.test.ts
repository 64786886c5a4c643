import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { walkRepo } from '../../src/feeds/sources/repo/walk-repo.ts';
import type { Json } from '../../src/lib/json.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { emptyState } from '../../src/log/state.ts';
import { createMcpClient } from '../../src/mcp/open-mcp-server.ts';
import type { Model, ModelRequest } from '../../src/models/model.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { moduleTool } from '../tools/agent-targets.ts';
import { httpServer } from '../tools/http-server.ts';
import { failed, sources } from './sources-given.ts';

const NOON = Date.UTC(2026, 5, 15, 12, 34, 56);
const MIB = 1024 * 1024;

const internal = (action: string, params = {}) => ({ type: 'internal', action, params });

test('the clock tells the time in the format and the zone that it is asked for', async () => {
  const { load, failure } = await sources({ agent: '', options: { clock: createSimulatedClock(NOON) } });
  const clock = (params = {}) => load(internal('system_clock', params));
  expect(await clock()).toBe('2026-06-15T12:34:56Z');
  expect(await clock({ format: 'ISO8601', timezone: 'Asia/Kolkata' })).toBe('2026-06-15T18:04:56+05:30');
  expect(await clock({ format: 'RFC2822', timezone: 'America/New_York' })).toBe(
    'Mon, 15 Jun 2026 08:34:56 -0400',
  );
  expect(await clock({ format: 'unix' })).toBe(NOON / 1000);
  expect(await clock({ format: 'unix_ms' })).toBe(NOON);
  expect(await clock({ format: 'date', timezone: 'Pacific/Auckland' })).toBe('2026-06-16');
  expect(await clock({ format: 'time' })).toBe('12:34:56');
  expect(await failure(internal('system_clock', { timezone: 'Europe/Berln' }))).toMatchObject({
    code: 'bad_parameters',
    hint: 'Did you mean "Europe/Berlin"?',
  });
});

test('parameters that are wrong or unknown are named with what is allowed', async () => {
  const { failure } = await sources({ agent: '' });
  expect(await failure(internal('system_clock', { format: 'ISO' }))).toMatchObject({
    code: 'bad_parameters',
    message: expect.stringContaining('"/format" is "ISO"'),
    hint: expect.stringContaining('unix_ms'),
  });
  for (const [action, params] of [
    ['system_clock', { zone: 'UTC' }],
    ['random', { min: 'a' }],
    ['random', { min: 3, max: 1 }],
    ['random', { choices: [1], min: 2 }],
    ['env', { names: 'HOME' }],
    ['metadata', { field: 'x' }],
    ['history', { turns: 0 }],
    ['metrics', { a: 1 }],
    ['session_stats', { a: 1 }],
    ['debug_context', { a: 1 }],
  ] as const)
    expect((await failure(internal(action, params))).code).toBe('bad_parameters');
  expect((await failure({ type: 'metadata', params: { a: 1 } })).code).toBe('bad_parameters');
  expect((await failure({ type: 'file', name: 'x', params: { encoding: 'latin1' } })).code).toBe(
    'bad_parameters',
  );
  expect((await failure({ type: 'repo', params: { depth: 0 } })).code).toBe('bad_parameters');
  expect((await failure({ type: 'http', name: 'http://x', params: { method: 'PUT' } })).code).toBe(
    'bad_parameters',
  );
});

test('random gives numbers in a range, one of several things, or an id', async () => {
  const { load } = await sources({ agent: '' });
  const random = (params = {}) => load(internal('random', params));
  const rolls = await Promise.all(Array.from({ length: 200 }, () => random({ min: 1, max: 3 })));
  expect(new Set(rolls)).toEqual(new Set([1, 2, 3]));
  expect(await random()).toBeLessThan(1);
  expect(await random({ min: 5, max: 6, integer: false })).not.toSatisfy(Number.isInteger);
  expect(['a', { b: 1 }]).toContainEqual(await random({ choices: ['a', { b: 1 }] }));
  expect(await random({ uuid: true })).toMatch(/^[0-9a-f-]{36}$/);
});

test('only environment variables that are permitted are in view', async () => {
  const { load, failure } = await sources({ agent: 'permissions: { environment: [HOME, UNSET] }' });
  expect(await load(internal('env'))).toEqual({ HOME: expect.any(String), UNSET: null });
  expect(await load(internal('env', { names: ['UNSET'] }))).toEqual({ UNSET: null });
  expect(await failure(internal('env', { names: ['SECRET'] }))).toMatchObject({
    code: 'not_permitted',
    message: 'The environment variable "SECRET" is not in view of this agent.',
    hint: expect.stringContaining('permissions: { environment }'),
  });
});

test('metadata, history, metrics and figures come from the session', async () => {
  const state = {
    ...emptyState(),
    id: 's1',
    agent: 'tester',
    model: 'scripted:m',
    turn: 2,
    startedAt: NOON - 60_000,
    at: NOON,
    downMs: 10_000,
    metadata: { phase: 'build', mood: 'calm' },
    totals: { input: 100, output: 50, cost_usd: 0.5, turns: 2, failedTurns: 0 },
    off: ['builtin:news'],
  };
  const news = { ...state.news, faults: [{ code: 'no_tags', message: 'm'.repeat(500) }] };
  state.turns = [1, 2].map((turn) => ({
    turn,
    running: [],
    metadata: {},
    output: `said ${turn} ${'x'.repeat(9_000)}`,
    news: { ...news, messages: [{ from: 'user' as const, text: `told ${turn}` }] },
  }));
  state.variables = new Map([['tries', { value: 3, class: 'runtime', by: 'model' }]]);
  const last = { value: 1, tokens: 5, loadedAt: NOON - 1_000, seq: 1, turn: 2 };
  state.feeds = new Map([['a', { id: 'a', last }]]);
  const { load } = await sources(
    { agent: '', options: { clock: createSimulatedClock(NOON) } },
    {
      state,
      stateMetrics: async () => [{ field: 'phase', value: 'build', values: [], history: [], older: 0 }],
    },
  );
  expect(await load({ type: 'metadata' })).toEqual({ phase: 'build', mood: 'calm' });
  expect(await load({ type: 'metadata', name: 'phase' })).toBe('build');
  expect(await load({ type: 'metadata', name: 'toString' })).toBeNull();
  expect(await load(internal('metadata'))).toEqual({ phase: 'build', mood: 'calm' });
  const history = (await load(internal('history', { turns: 1 }))) as { said: string }[];
  expect(history).toEqual([{ turn: 2, told: [{ from: 'user', text: 'told 2' }], said: expect.any(String) }]);
  expect(history[0]?.said.length).toBeLessThan(5_000);
  expect(await load(internal('history'))).toHaveLength(2);
  expect(await load(internal('metrics'))).toEqual({
    totals: { ms: 50_000, turns: 2, input: 100, output: 50, cost_usd: 0.5 },
    states: [{ field: 'phase', value: 'build', values: [] }],
  });
  expect(await load(internal('session_stats'))).toMatchObject({
    session: 's1',
    agent: 'tester',
    turn: 2,
    elapsed_ms: 60_000,
    feeds: 1,
    actions: {},
    tokens: { input: 100, output: 50 },
  });
  expect(await load(internal('debug_context'))).toMatchObject({
    variables: [{ name: 'tries', class: 'runtime', by: 'model', value: '3' }],
    faults: [{ code: 'no_tags' }, { code: 'no_tags' }],
    feeds: [{ id: 'a', tokens: 5, age_ms: 1_000 }],
    off: ['builtin:news'],
  });
});

test('a built-in tool is a source, under its own name', async () => {
  const { load, failure } = await sources({
    agent:
      'import: { tools: ["builtin:system_monitor", "builtin:filesystem", "builtin:git"] }\npermissions: { paths: [.] }',
    files: { 'journal/2026/june.md': 'x' },
  });
  const metrics = await load({
    type: 'tool',
    name: 'system_monitor',
    params: { metrics: ['cpu', 'memory'] },
  });
  expect(metrics).toEqual({
    cpu: expect.any(Number),
    memory: expect.any(Number),
    timestamp: expect.stringMatching(/^\d{4}-/),
  });
  const tree = { type: 'tool', name: 'filesystem', params: { path: 'journal', format: 'tree' } };
  expect(await load(tree)).toBe('journal/\n  2026/\n    june.md');
  expect(
    await load({ type: 'tool', name: 'filesystem', action: 'list', params: { path: 'journal' } }),
  ).toMatchObject({
    entries: [{ name: '2026', type: 'folder' }],
  });
  expect(await failure({ type: 'tool', name: 'system_monitor_tool' })).toMatchObject({
    code: 'target_unknown',
    hint: 'Did you mean "system_monitor"?',
  });
  expect((await failure({ type: 'tool', name: 'system_monitor', action: 'look' })).message).toContain(
    'there is no action "look"',
  );
  expect((await failure({ type: 'tool', name: 'filesystem', params: { path: '.' } })).message).toContain(
    '"operation" is missing',
  );
});

test('git log and tree of a repository are feeds of the tool git', async () => {
  const { folder, load } = await sources({
    agent: 'import: { tools: ["builtin:git"] }\npermissions: { paths: [.] }',
    files: { 'a.txt': 'x' },
  });
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: folder });
  git('init', '-q');
  git('add', 'a.txt');
  git('commit', '-qm', 'First words');
  expect(JSON.stringify(await load({ type: 'tool', name: 'git', action: 'log' }))).toContain('First words');
});

test('a log relic is read by level and by time, and never written to', async () => {
  const clock = createSimulatedClock(NOON);
  const store = createMemoryStore({ clock });
  const { load, call, failure } = await sources({
    agent: 'import: { relics: [./*.relic.yml] }',
    files: {
      'log_service.relic.yml': 'kind: Relic\nname: log_service\ndriver: log\n',
      'jobs.relic.yml': 'kind: Relic\nname: jobs\ndriver: queue\n',
      'kv.relic.yml': 'kind: Relic\nname: kv\ndriver: kv\n',
    },
    options: { clock, store },
  });
  const append = (value: Json) => call('log_service', { operation: 'append', value });
  await append({ level: 'error', text: 'too old' });
  await clock.advance(7_200_000);
  await append({ level: 'ERROR', text: 'disk' });
  await append({ level: 'info', text: 'fine' });
  await append('plain ERROR line');
  const relic = (name: string, params = {}, action?: string) => ({
    type: 'relic',
    name,
    params,
    ...(action === undefined ? {} : { action }),
  });
  expect(await load(relic('log_service', { filter: 'ERROR', since: '1h' }))).toMatchObject({
    entries: [{ n: 2 }, { n: 4, value: 'plain ERROR line' }],
  });
  expect(await load(relic('log_service'))).toMatchObject({
    entries: [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }],
  });
  await call('jobs', { operation: 'push', value: 'job' });
  expect(await load(relic('jobs'))).toMatchObject({ items: [{ value: 'job' }] });
  expect(await load(relic('jobs', {}, 'size'))).toMatchObject({ ready: 1 });
  await call('kv', { operation: 'set', key: 'k', value: [1] });
  expect(await load(relic('kv', { key: 'k' }))).toEqual([1]);
  expect((await failure(relic('kv'))).message).toContain('"key" is missing');
});

test('a call that a person would have to approve is refused: a feed cannot ask', async () => {
  const { failure } = await sources({
    agent:
      'import: { tools: [./look.yml, "builtin:http_fetch"] }\npermissions: { paths: { ask: [secret], allow: [.] }, network: ask }',
    files: { ...moduleTool('look', 'export const run = () => 1', 'approval: always\n'), 'secret/a.txt': 'x' },
  });
  for (const source of [
    { type: 'tool', name: 'look' },
    { type: 'tool', name: 'http_fetch', params: { url: 'http://127.0.0.1:9/' } },
    { type: 'file', name: 'secret/a.txt' },
    { type: 'repo', name: 'secret' },
    { type: 'http', name: 'http://127.0.0.1:9/' },
  ]) {
    const error = await failure(source);
    expect(error).toMatchObject({
      code: 'feed_needs_approval',
      message: expect.stringContaining('The feed "f" would'),
    });
  }
});

function scripted(answer: string) {
  const requests: (ModelRequest & { readonly ref: string })[] = [];
  const openModel = async (ref: string): Promise<Model> => ({
    id: ref,
    async stream(request, sink) {
      requests.push({ ...request, ref });
      sink.text(answer);
      return { finish: 'stop', usage: { input: 7, output: 3 } };
    },
  });
  return { requests, openModel };
}

test('a summary by a model takes prompt, context and model, and is paid for', async () => {
  const { requests, openModel } = scripted('It is small.');
  const charged: unknown[] = [];
  const { load, failure } = await sources(
    { agent: 'prompts: { ask: { template: "{prompt}: {context}" } }', options: { openModel } },
    { charge: (feed, usage, model) => void charged.push([feed, usage, model.id]) },
  );
  const params = { prompt: 'What is it for?', context: { tree: ['a', 'b'] } };
  expect(await load({ type: 'llm', name: 'summarize', params: { ...params, model: 'test/flash' } })).toBe(
    'It is small.',
  );
  expect(requests[0]?.ref).toBe('test/flash');
  expect(requests[0]?.messages[0]?.text).toContain('What is it for?');
  expect(requests[0]?.messages[0]?.text).toContain('{"tree":["a","b"]}');
  expect(charged).toEqual([['f', { input: 7, output: 3 }, 'test/flash']]);
  await load({ type: 'llm', name: 'ask', params });
  expect(requests[1]?.messages[0]?.text).toBe('What is it for?: {"tree":["a","b"]}');
  expect(
    await failure({ type: 'llm', name: 'summarize', params: { ...params, model: 'fsat' } }),
  ).toMatchObject({
    code: 'bad_parameters',
    hint: expect.stringContaining('Did you mean "fast"?'),
  });
  expect((await failure({ type: 'llm', name: 'summarise' })).hint).toBe('Did you mean "summarize"?');
});

test('workflows and other agents are asked through the session', async () => {
  const { load, failure } = await sources({ agent: '' });
  const params = { paths: ['docs/'] };
  expect(await load({ type: 'workflow', name: 'doc_aggregator', params })).toEqual({
    ran: 'doc_aggregator',
    params,
  });
  expect(await load({ type: 'agent', name: 'other' })).toEqual({ phase: 'done' });
  expect(await failure({ type: 'agent', name: 'nobody' })).toMatchObject({
    code: 'agent_unknown',
    retryable: true,
  });
});

test('a file is read whole or by lines, inside of the permitted paths only', async () => {
  const { folder, load, failure } = await sources({
    agent: 'permissions: { paths: [docs] }',
    files: {
      'docs/a.md': 'one\ntwo\nthree\n',
      'docs/logo.png': new Uint8Array([137, 80, 0, 1]),
      'out.txt': 'no',
    },
  });
  const file = (name: string, lines?: string) => ({
    type: 'file',
    name,
    params: lines === undefined ? {} : { lines },
  });
  expect(await load(file('docs/a.md'))).toBe('one\ntwo\nthree\n');
  expect(await load(file('docs/a.md', '2-2'))).toBe('two\n');
  expect(await load(file('docs/a.md', '2-'))).toBe('two\nthree\n');
  expect(await load(file('docs/a.md', '3'))).toBe('three\n');
  expect(await load(file('docs/a.md', '9-12'))).toBe('');
  expect((await failure(file('docs/a.md', '3-1'))).code).toBe('bad_parameters');
  expect((await failure(file('docs/logo.png'))).code).toBe('not_text');
  expect((await failure(file('docs'))).hint).toContain('repo');
  expect((await failure(file('out.txt'))).code).toBe('not_permitted');
  symlinkSync(join(folder, 'out.txt'), join(folder, 'docs/link'));
  expect((await failure(file('docs/link'))).code).toBe('not_permitted');
  symlinkSync(join(folder, 'docs/loop'), join(folder, 'docs/loop'));
  expect((await failure(file('docs/loop'))).code).not.toBe('internal');
  expect(await failure(file('docs/none'))).toMatchObject({
    code: 'file_missing',
    hint: expect.stringContaining('source.name'),
  });
});

test('of a huge file only its beginning is read, or the lines that are asked for', async () => {
  const { folder, load, failure } = await sources({ agent: 'permissions: { paths: [.] }' });
  const text = Array.from({ length: 100_000 }, (_, at) => `line ${at + 1} äöü`).join('\n');
  writeFileSync(join(folder, 'big.log'), text);
  const whole = String(await load({ type: 'file', name: 'big.log' }));
  expect(whole.length).toBeLessThan(MIB);
  expect(whole).toMatch(/\n… \[cut: \d+ more bytes\]$/);
  expect(whole).not.toContain('\ufffd');
  expect(await load({ type: 'file', name: 'big.log', params: { lines: '99999-' } })).toBe(
    'line 99999 äöü\nline 100000 äöü',
  );
  truncateSync(join(folder, 'big.log'), 200 * MIB);
  expect((await failure({ type: 'file', name: 'big.log', params: { lines: '200000-' } })).code).toBe(
    'file_too_large',
  );
});

const REPO = {
  '.gitignore': 'dist/\n*.log\n!keep.log\n',
  '.env': 'TOKEN=hidden-in-env',
  'README.md': '# The thing\n',
  'package.json': '{"name":"thing"}\n',
  'package-lock.json': '{"lock":true}',
  'src/index.ts': 'export const answer = 42;\n',
  'src/deep/.gitignore': 'private.ts\n',
  'src/deep/private.ts': 'hidden-by-nested',
  'src/deep/parser.ts': 'export function parseTokens() {}\n',
  'src/debug.log': 'hidden-by-log',
  'src/keep.log': 'kept',
  'dist/out.js': 'hidden-by-dist',
  'node_modules/x/index.js': 'hidden-in-modules',
  'logo.png': new Uint8Array([0, 1, 2]),
};

test('a repository is a tree with sizes and whole files, without what git ignores', async () => {
  const { folder, load, deps } = await sources({ agent: 'permissions: { paths: [.] }' });
  for (const [name, content] of Object.entries(REPO)) {
    mkdirSync(join(folder, 'repo', name, '..'), { recursive: true });
    writeFileSync(join(folder, 'repo', name), content);
  }
  execFileSync('git', ['init', '-q'], { cwd: join(folder, 'repo') });
  const known = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: join(folder, 'repo') });
  const byGit = String(known)
    .trim()
    .split('\n')
    .filter((path) => !path.startsWith('node_modules/'));
  symlinkSync('..', join(folder, 'repo/src/loop'));
  const walked = await walkRepo(
    await deps.targets.deps.permissions.paths.resolve('repo'),
    new AbortController().signal,
  );
  expect(walked.files.map(({ path }) => path).sort()).toEqual(byGit.sort());
  const repo = (params = {}, more = {}) => load({ type: 'repo', name: 'repo', params }, more).then(String);
  const all = await repo();
  expect(all).toMatch(/^repo\/ \(\d+ files, /);
  expect(all).toContain('  src/\n    deep/\n');
  expect(all).toContain('      parser.ts (33 B)');
  expect(all).toContain('--- src/index.ts (26 B)\nexport const answer = 42;');
  expect(all).not.toMatch(/hidden|"lock"|loop|node_modules|dist|private/);
  expect(all).toContain('keep.log');
  expect(all.indexOf('--- README.md')).toBeLessThan(all.indexOf('--- package.json'));
  expect(all.indexOf('--- package.json')).toBeLessThan(all.indexOf('--- src/index.ts'));

  const asked = await repo({ query: 'where are parseTokens called' });
  expect(asked.indexOf('--- src/deep/parser.ts')).toBeLessThan(asked.indexOf('--- README.md'));
  const tree = await repo({ files: false, depth: 1 });
  expect(tree).not.toContain('---');
  expect(tree).toMatch(/ {2}src\/ \(4 files, \d+ B\)/);
  const typescript = await repo({ files: ['**/*.ts'] });
  expect(typescript.match(/^--- .*/gm)).toEqual([
    expect.stringContaining('src/'),
    expect.stringContaining('src/'),
  ]);

  expect(await load({ type: 'repo', name: 'repo/src' })).not.toMatch(/hidden/);
});

test('the rules of git count as git reads them: above, below, taken back and with wildcards', async () => {
  const { folder, deps } = await sources({ agent: 'permissions: { paths: [.] }' });
  const files = {
    '.gitignore': '/top.txt\nbuild\n**/gen/*.js\n!**/gen/keep.js\ndocs/*.tmp\n\\#odd\ntrail \n',
    ...Object.fromEntries(
      [
        'top.txt',
        'a/top.txt',
        'build/x',
        'a/build',
        'a/gen/x.js',
        'a/gen/keep.js',
        'docs/a.tmp',
        'docs/b/a.tmp',
        '#odd',
        'trail',
        'a/b/c.txt',
        'a/b/skip.txt',
        'a/b/deep/skip.txt',
        'other/skip.txt',
        'a/UP.TXT',
        'excluded.x',
      ].map((name) => [name, 'x']),
    ),
    'a/.gitignore': 'skip.txt\n',
    'a/b/deep/.gitignore': '!skip.txt\n',
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, 'r', name, '..'), { recursive: true });
    writeFileSync(join(folder, 'r', name), content);
  }
  const cwd = join(folder, 'r');
  execFileSync('git', ['init', '-q'], { cwd });
  writeFileSync(join(cwd, '.git/info/exclude'), '*.x\n');
  const { paths } = deps.targets.deps.permissions;
  for (const below of ['', 'a', 'a/b/deep']) {
    const byGit = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
      cwd: join(cwd, below),
    });
    const walked = await walkRepo(await paths.resolve(join('r', below)), new AbortController().signal);
    expect(walked.files.map(({ path }) => path).sort()).toEqual(
      String(byGit).split('\0').filter(Boolean).sort(),
    );
  }
});

test('rules of any shape are decided at once, a link has none, and a folder that is named is shown though it is ignored', async () => {
  const { folder, deps } = await sources({ agent: 'permissions: { paths: [.] }' });
  const deep = `${'a/'.repeat(28)}c.ts`;
  for (const name of [deep, 'dist/out.js', 'dist/out.log']) {
    mkdirSync(join(folder, 'r', name, '..'), { recursive: true });
    writeFileSync(join(folder, 'r', name), 'x');
  }
  writeFileSync(join(folder, 'r/.gitignore'), `a/${'**/a/'.repeat(14)}b\ndist/\n*.log\n`);
  writeFileSync(join(folder, 'rules'), '*.js\n');
  symlinkSync('../../rules', join(folder, 'r/dist/.gitignore'));
  execFileSync('git', ['init', '-q'], { cwd: join(folder, 'r') });
  const files = async (name: string) => {
    const found = await deps.targets.deps.permissions.paths.resolve(name);
    const walked = await walkRepo(found, new AbortController().signal);
    return walked.files.map(({ path }) => path);
  };
  expect(await files('r')).toEqual(['.gitignore', deep]);
  expect(await files('r/dist')).toEqual(['out.js']);
});

test('a walk ends at its limit, with the upper levels whole and no link followed', async () => {
  const { folder, deps, failure } = await sources({ agent: 'permissions: { paths: [.] }' });
  for (const top of ['a', 'b', 'c']) {
    mkdirSync(join(folder, 'r', top, 'deep'), { recursive: true });
    for (let n = 0; n < 10; n++) writeFileSync(join(folder, 'r', top, 'deep', `${n}.ts`), 'x');
  }
  symlinkSync('..', join(folder, 'r/a/up'));
  const found = await deps.targets.deps.permissions.paths.resolve('r');
  const walked = await walkRepo(found, new AbortController().signal, 12);
  expect(walked).toMatchObject({ isCut: true, folders: ['a', 'b', 'c', 'a/deep', 'b/deep', 'c/deep'] });
  expect(walked.files.length).toBeLessThan(10);
  const aborted = AbortSignal.abort();
  expect((await failure({ type: 'repo', name: 'r' }, {}, aborted)).code).toBe('cancelled');
  expect((await failed(walkRepo(found, aborted))).code).toBe('cancelled');
  expect((await failure({ type: 'repo', name: 'none' })).code).toBe('file_missing');
});

test('files are shown whole or not at all, as far as the tokens allow', async () => {
  const { folder, load, deps } = await sources({ agent: 'permissions: { paths: [repo] }' });
  mkdirSync(join(folder, 'repo/many'), { recursive: true });
  for (let n = 0; n < 300; n++) {
    const file = join(folder, `repo/many/file-${n}.md`);
    writeFileSync(file, `# File ${n}\n${'words of a line\n'.repeat(20)}END ${n}\n`);
    utimesSync(file, n, n);
  }
  const { count } = await deps.tokenizer();
  const shown = String(await load({ type: 'repo', name: 'repo' }, { max_tokens: 1_000 }));
  expect(count(shown)).toBeLessThanOrEqual(1_000);
  expect(count(shown)).toBeGreaterThan(700);
  const whole = shown.match(/^--- .*/gm) ?? [];
  expect(whole.length).toBeGreaterThan(5);
  expect(shown.match(/^END \d+$/gm)).toHaveLength(whole.length);
  expect(whole[0]).toContain('file-299.md');
  expect(shown).toContain('many/ (300 files, ');
  expect(shown).toMatch(/\[\d+ more files are not shown\]$/);
});

test('a .gitignore that would hold everything up does not: hostile lines are quick, and others get their turn', async () => {
  const repo = async (rules: string, files: Readonly<Record<string, string>> = { 'a.txt': 'x' }) =>
    sources({ agent: 'permissions: { paths: [.] }', files: { ...files, '.gitignore': rules } });
  const deep = `${'a/'.repeat(24)}c.txt`;
  const globstars = await repo(`${'a/**/'.repeat(12)}b\n`, { [deep]: 'x' });
  expect(JSON.stringify(await globstars.load({ type: 'repo' }))).toContain('c.txt');
  const files = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`f${at}.txt`, 'x']));
  const busy = await repo(Array.from({ length: 1_000 }, (_, at) => `*x${at}y*z`).join('\n'), files);
  const controller = new AbortController();
  const walk = busy.failure({ type: 'repo' }, {}, controller.signal);
  setImmediate(() => controller.abort());
  expect((await walk).code).toBe('cancelled');
});

test('a page of another machine comes as JSON or as text, and anything but success is an error', async () => {
  const server = await httpServer(({ url, headers }, response) => {
    const send = (status: number, type: string, body: string | Buffer) =>
      response.writeHead(status, { 'content-type': type }).end(body);
    if (url === '/text') send(200, 'text/plain; charset=utf-8', 'hällo');
    else if (url.startsWith('/json'))
      send(200, 'application/json', JSON.stringify({ url, key: headers['x-key'] }));
    else if (url === '/image') send(200, 'image/png', Buffer.from([1, 2, 3]));
    else if (url === '/bytes') send(200, 'text/plain', Buffer.from([0, 1, 2, 0, 5]));
    else if (url === '/flood') send(200, 'text/plain', 'x'.repeat(3 * MIB));
    else if (url === '/floodjson') send(200, 'application/json', JSON.stringify('x'.repeat(3 * MIB)));
    else if (url === '/away') response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    else if (url === '/busy') send(503, 'text/plain', 'later');
    else if (url !== '/hang') send(404, 'text/plain', 'nothing here');
  });
  const host = `http://127.0.0.1:${server.port}`;
  const { load, failure } = await sources({
    agent: `permissions: { network: ["127.0.0.1:${server.port}"] }`,
  });
  const http = (path: string, params = {}) => ({ type: 'http', name: `${host}${path}`, params });
  expect(await load(http('/text'))).toBe('hällo');
  expect(await load(http('/json', { query: { q: 'a b', n: [1, 2] }, headers: { 'X-Key': 'k' } }))).toEqual({
    url: '/json?q=a+b&n=1&n=2',
    key: 'k',
  });
  expect((await failure(http('/image'))).code).toBe('not_text');
  expect((await failure(http('/bytes'))).code).toBe('not_text');
  expect(String(await load(http('/flood'))).length).toBeLessThan(MIB + 200);
  expect((await failure(http('/floodjson'))).code).toBe('feed_too_large');
  expect((await failure(http('/away'))).code).toBe('not_permitted');
  expect(await failure(http('/busy'))).toMatchObject({ code: 'http_failed', retryable: true });
  expect(await failure(http('/none'))).toMatchObject({
    code: 'http_failed',
    retryable: false,
    message: `${host} answered 404: nothing here`,
  });
  expect((await failure({ type: 'http', name: 'http://127.0.0.1:1/' })).code).toBe('not_permitted');
  expect((await failure({ type: 'http', name: 'ftp://127.0.0.1/' })).code).toBe('bad_parameters');
  const controller = new AbortController();
  const hanging = failure(http('/hang'), {}, controller.signal);
  setImmediate(() => controller.abort());
  expect((await hanging).code).toBe('cancelled');
});

test('a resource of an MCP server is text, JSON where it says so, and never bytes', async () => {
  const bin = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');
  const command = JSON.stringify({ name: 'peer', command: process.execPath, args: [bin, 'stdio'] });
  const { load, failure, table, mayAdd } = await sources({
    agent: `import: { tools: [{ mcp: ${command} }] }`,
    options: { mcp: createMcpClient(), graceMs: 100 },
  });
  onTestFinished(() => table.close());
  const mcp = (action?: string, name = 'peer') => ({
    type: 'mcp',
    name,
    ...(action === undefined ? {} : { action }),
  });
  expect(await load(mcp('demo://resource/dynamic/text/7'))).toContain('Resource 7');
  expect((await failure(mcp('demo://resource/dynamic/blob/7'))).code).toBe('not_text');
  expect((await failure(mcp('demo://nowhere'))).message).toContain('demo://nowhere');
  expect((await failure(mcp())).hint).toContain('"action"');
  expect(await failure(mcp('x', 'pear'))).toMatchObject({
    code: 'target_unknown',
    hint: 'Did you mean "peer"?',
  });
  expect(await mayAdd({ source: mcp('demo://resource/dynamic/text/7') })).toBeUndefined();
  expect((await mayAdd({ source: mcp('x', 'pear') }))?.code).toBe('target_unknown');
});

test('a source that hangs is left when nobody wants its value any more', async () => {
  const { load } = await sources(
    { agent: '' },
    { runWorkflow: () => new Promise(() => undefined), agentMetadata: () => new Promise(() => undefined) },
  );
  for (const source of [
    { type: 'workflow', name: 'w' },
    { type: 'agent', name: 'a' },
  ]) {
    const controller = new AbortController();
    const hanging = failed(load(source, {}, controller.signal));
    controller.abort();
    expect((await hanging).code).toBe('cancelled');
  }
});

test('what a source gives is plain JSON of bounded size, whatever it does', async () => {
  const answers: unknown[] = [
    'a\u0000b\u001b[31mred\u001b[0m\ud800 end',
    Buffer.from(Array.from({ length: 4_000 }, (_, at) => (at * 7919) % 256))
      .toString('latin1')
      .replace(/[ -~]/g, '\u0001'),
    Array.from({ length: 300_000 }, () => 'flood'),
    'x'.repeat(2 * MIB),
    { date: new Date(NOON), gone: undefined },
    { bad: Number.NaN },
    undefined,
    [1, 2],
    'now a text',
  ];
  const { load, failure } = await sources(
    { agent: '' },
    { runWorkflow: async () => answers.shift() as Json },
  );
  const source = { type: 'workflow', name: 'w' };
  expect(await load(source)).toBe('a\ufffdbred\ufffd end');
  expect((await failure(source)).code).toBe('not_text');
  expect((await failure(source)).code).toBe('feed_too_large');
  const cut = String(await load(source));
  expect(cut.length).toBeLessThanOrEqual(MIB);
  expect(cut).toMatch(/… \[cut: \d+ more bytes\]$/);
  expect(await load(source)).toEqual({ date: new Date(NOON).toISOString() });
  expect((await failure(source)).code).toBe('bad_output');
  expect(await load(source)).toBeNull();
  expect(await load(source)).toEqual([1, 2]);
  expect(await load(source)).toBe('now a text');
});

test('a model may add only feeds that read what the agent may read', async () => {
  const { mayAdd } = await sources({
    agent: [
      'import: { tools: [./look.yml, ./write.yml, ./guarded.yml, "builtin:filesystem", "builtin:http_fetch"], relics: [./log.yml] }',
      'permissions: { paths: [docs], network: ["example.com"], environment: [HOME] }',
    ].join('\n'),
    files: {
      ...moduleTool(
        'look',
        'export const run = () => 1',
        'idempotent: true\nparameters: { type: object, properties: { n: { type: integer } } }\n',
      ),
      ...moduleTool('write', 'export const run = () => 1'),
      ...moduleTool('guarded', 'export const run = () => 1', 'idempotent: true\napproval: always\n'),
      'log.yml': 'kind: Relic\nname: log_service\ndriver: log\n',
      'docs/a.md': 'x',
    },
  });
  const may = async (source: object, more = {}) => (await mayAdd({ source: source as never, ...more }))?.code;
  expect(
    await may({ type: 'relic', name: 'log_service', params: { filter: 'ERROR', since: '1h' } }),
  ).toBeUndefined();
  expect(await may({ type: 'relic', name: 'log_service', action: 'append', params: { value: 1 } })).toBe(
    'not_permitted',
  );
  expect(await may({ type: 'relic', name: 'log_service', params: { operation: '$operation' } })).toBe(
    'not_permitted',
  );
  expect(await may({ type: 'tool', name: 'look', params: { n: 1 } })).toBeUndefined();
  expect(await may({ type: 'tool', name: 'look', params: { n: '$other.n' } })).toBeUndefined();
  expect(await may({ type: 'tool', name: 'look', params: { n: 'one' } })).toBe('bad_parameters');
  expect(await may({ type: 'tool', name: 'write' })).toBe('not_permitted');
  expect(await may({ type: 'tool', name: 'guarded' })).toBe('feed_needs_approval');
  expect(await may({ type: 'tool', name: 'shell' })).toBe('target_unknown');
  expect(
    await may({ type: 'tool', name: 'filesystem', params: { path: 'docs', format: 'tree' } }),
  ).toBeUndefined();
  expect(
    await may({ type: 'tool', name: 'http_fetch', params: { url: 'http://example.com', method: 'POST' } }),
  ).toBe('not_permitted');
  expect(await may({ type: 'file', name: 'docs/a.md' })).toBeUndefined();
  expect(await may({ type: 'file', name: '../a.md' })).toBe('not_permitted');
  expect(await may({ type: 'repo' })).toBe('not_permitted');
  expect(await may({ type: 'http', name: 'https://example.com/status' })).toBeUndefined();
  expect(await may({ type: 'http', name: 'https://example.org/status' })).toBe('not_permitted');
  expect(await may({ type: 'http', name: 'https://example.com/', params: { method: 'POST' } })).toBe(
    'not_permitted',
  );
  expect(await may({ type: 'mcp', name: 'peer', action: 'x://y' })).toBe('target_unknown');
  expect(await may(internal('env', { names: ['HOME'] }))).toBeUndefined();
  expect(await may(internal('env', { names: ['SECRET'] }))).toBe('not_permitted');
  expect(await may(internal('system_clock', { format: 'x' }))).toBe('bad_parameters');
  expect(
    await may({ type: 'llm', name: 'summarize', params: { prompt: 'p', context: '$docs', model: 'fast' } }),
  ).toBeUndefined();
  expect(await may({ type: 'llm', name: 'summarize', params: { text: 't', model: 'nope' } })).toBe(
    'bad_parameters',
  );
  for (const model of ['anthropic/claude-opus-4-5', 'scripted:/etc/passwd', '$which'])
    expect(await may({ type: 'llm', name: 'summarize', params: { text: 't', model } })).toBe(
      'bad_parameters',
    );
  expect(await may({ type: 'llm', name: 'invented' })).toBe('target_unknown');
  expect(await may({ type: 'workflow', name: 'w' })).toBe('target_unknown');
  expect(await may({ type: 'agent', name: 'a' })).toBe('target_unknown');
  expect(await may({ type: 'metadata' })).toBeUndefined();
  expect(await may({ type: 'metadata' }, { type: 'periodic', interval: '1s' })).toBe('bad_parameters');
  expect(await may({ type: 'metadata' }, { type: 'periodic', interval: '5s' })).toBeUndefined();
  expect(
    await may({ type: 'metadata' }, { transform: Array.from({ length: 17 }, () => ({ head: 1 })) }),
  ).toBe('bad_parameters');
});

test('a feed of the manifest may call what changes something, one that the model added may not', async () => {
  const given = {
    agent: 'import: { tools: [./count.yml] }',
    files: moduleTool('count', 'let n = 0;\nexport const run = () => ++n'),
  };
  const source = { type: 'tool', name: 'count' };
  const { load } = await sources(given);
  expect([await load(source), await load(source)]).toEqual([1, 2]);
  const { failure } = await sources(given, { isModels: (id) => id === 'f' });
  expect(await failure(source)).toMatchObject({
    code: 'not_permitted',
    message: expect.stringContaining('added or changed by the model'),
  });
  expect((await failure({ type: 'workflow', name: 'w' })).code).toBe('not_permitted');
  const post = { type: 'http', name: 'http://127.0.0.1:1/', params: { method: 'POST' } };
  expect((await failure(post)).code).toBe('not_permitted');
  const chosen = { type: 'llm', name: 'summarize', params: { text: 't', model: 'scripted:./other.yml' } };
  expect((await failure(chosen)).message).toContain('not a model of this agent');
});
