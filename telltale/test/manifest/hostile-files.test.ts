import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, openSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MANIFEST_LIMITS } from '../../src/manifest/diagnostic.ts';
import { createNodeFiles } from '../../src/manifest/files.ts';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { temporaryProject } from './temporary-project.ts';

const AGENT = 'kind: Agent\nname: a\n';
const TOOL = 'kind: Tool\nname: t\nimplementation: { command: [ls] }\n';

const load = async (content: string | Uint8Array) => {
  const cwd = temporaryProject({ 'a.yml': content });
  return loadManifests(['a.yml'], { env: {}, cwd });
};
const codesOf = async (content: string | Uint8Array) =>
  (await load(content)).diagnostics.map(({ code }) => code);
const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

describe('a file that is no text', () => {
  it('in UTF-16 is called that, with and without a mark', async () => {
    for (const encoded of [
      bytes([0xff, 0xfe], Buffer.from(AGENT, 'utf16le').toString('latin1')),
      Buffer.from(AGENT, 'utf16le'),
    ]) {
      const { diagnostics } = await load(encoded);
      expect(diagnostics).toMatchObject([{ code: 'not_utf8', message: 'The file is UTF-16, not UTF-8.' }]);
    }
  });

  it('with a byte that is not UTF-8 is pointed at that byte', async () => {
    const { diagnostics } = await load(bytes('kind: Agent\nname: é', [0xc3, 0x28], '\n'));
    expect(diagnostics).toMatchObject([
      { code: 'not_utf8', line: 2, column: 8, message: 'The byte 0xc3 is not UTF-8.' },
    ]);
  });

  it('with a zero byte is called binary', async () => {
    expect(await load(bytes('kind: Agent\nname: ', [0], 'x\n'))).toMatchObject({
      ok: false,
      diagnostics: [{ code: 'binary_file', line: 2, column: 7 }],
    });
  });

  it('with control characters or lone carriage returns is refused', async () => {
    expect(await codesOf('kind: Agent\nname: \u001b[31mred\n')).toEqual(['control_character']);
    expect(await codesOf('kind: Agent\rname: a\r')).toEqual(['control_character']);
  });

  it('with a byte order mark is read as if it had none', async () => {
    const marked = await load(`\ufeff${AGENT}dialct: tags\n`);
    expect(marked.diagnostics).toMatchObject([{ code: 'unknown_key', line: 3, column: 1 }]);
  });

  it('that is empty, blank, or only comments and markers says so', async () => {
    for (const text of ['', '\n\n  \n', '# a\n', '---\n', '---\n# x\n---\n...\n', '\ufeff'])
      expect(await codesOf(text)).toEqual(['empty_file']);
  });
});

describe('YAML that is out to exhaust', () => {
  it.each([
    ['brackets', '['.repeat(500_000)],
    ['maps in brackets', '{a: '.repeat(200_000)],
    ['dashes', '- '.repeat(400_000)],
    ['explicit keys', '? '.repeat(400_000)],
    ['indentation', Array.from({ length: 1000 }, (_, depth) => `${' '.repeat(depth)}k:`).join('\n')],
  ])('by depth, with %s, is refused before it is composed', async (_name, text) => {
    expect(await codesOf(text)).toEqual(['too_deep']);
  });

  it('may be nested as deep as the limit', async () => {
    const depth = MANIFEST_LIMITS.depth - 3;
    const value = `${'['.repeat(depth)}1${']'.repeat(depth)}`;
    expect(await codesOf(`${AGENT}x: ${value}\n`)).toEqual(['unknown_key']);
  });

  it('by aliases of aliases runs into the limit of values without growing', async () => {
    const levels = Array.from(
      { length: 30 },
      (_, i) => `k${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(', ')}]`,
    );
    expect(await codesOf(`kind: Agent\nk0: &a0 [1]\n${levels.join('\n')}\n`)).toEqual(['too_many_values']);
  });

  it('by many values is refused', async () => {
    expect(await codesOf(`${AGENT}x: [${'1,'.repeat(60_000)}]\n`)).toEqual(['too_many_values']);
    expect(await codesOf(`"" `.repeat(300_000))).toEqual(['too_many_values']);
  });

  it('by many keys is refused, and as many as are allowed are reported up to a limit', async () => {
    const keys = (count: number) => Array.from({ length: count }, (_, i) => `k${i}: 1`).join('\n');
    expect(await codesOf(`${AGENT}${keys(20_000)}\n`)).toEqual(['too_many_keys']);
    const unknown = await codesOf(`${AGENT}${keys(MANIFEST_LIMITS.keys - 2)}\n`);
    expect(unknown.length).toBeLessThanOrEqual(MANIFEST_LIMITS.diagnostics + 1);
    expect(new Set(unknown)).toContain('unknown_key');
    const twice = await codesOf(`${AGENT}${'limits: 1\n'.repeat(MANIFEST_LIMITS.keys - 2)}`);
    expect(twice.length).toBe(MANIFEST_LIMITS.diagnostics + 1);
    expect(twice).toContain('too_many_errors');
  });

  it.each([
    ['escapes that are none', `${AGENT}description: "${'\\q'.repeat(400_000)}"\n`, 'yaml_syntax'],
    ['directives', `${'%FOO bar\n'.repeat(80_000)}---\n${AGENT}x: 1\n`, 'unknown_key'],
    ['a header of a block', '>'.repeat(500_000), 'yaml_syntax'],
  ])(
    'by %s is refused in bounded time, in a short message',
    { timeout: 20_000 },
    async (_name, text, code) => {
      const before = performance.now();
      const { diagnostics } = await load(text);
      expect(diagnostics.map((each) => each.code)).toEqual([code]);
      expect(JSON.stringify(diagnostics).length).toBeLessThan(1_000);
      expect(performance.now() - before).toBeLessThan(10_000);
    },
  );

  it('by entries of "import" is refused, and what is shown of a file is limited', async () => {
    const entries = (entry: (i: number) => string) =>
      Array.from({ length: 12_000 }, (_, i) => entry(i)).join(', ');
    const before = performance.now();
    expect(await codesOf(`${AGENT}import: { tools: [${entries(() => 'builtin:git')}] }\n`)).toEqual([
      'not_allowed',
    ]);
    const missing = await codesOf(`${AGENT}import: { tools: [${entries((i) => `./x${i}.yml`)}] }\n`);
    expect(missing.length).toBe(MANIFEST_LIMITS.fileDiagnostics + 1);
    expect(missing).toContain('too_many_errors');
    expect(performance.now() - before).toBeLessThan(15_000);
  });

  it('by values of an enum is answered in a short message', async () => {
    const values = Array.from({ length: 10_000 }, (_, i) => `v${i}`).join(', ');
    const { diagnostics } = await load(
      `${AGENT}metadata: { fields: { f: { values: [${values}], default: v1x } } }\n`,
    );
    expect(diagnostics).toMatchObject([{ code: 'bad_default', hint: 'Did you mean "v1"?' }]);
    expect(diagnostics[0]?.message.length).toBeLessThan(300);
  });

  it('by many documents is refused after the limit', async () => {
    const codes = await codesOf(`---\n${TOOL}`.repeat(MANIFEST_LIMITS.documents + 1));
    expect(codes).toContain('too_many_documents');
    expect(codes.filter((code) => code === 'name_taken').length).toBe(MANIFEST_LIMITS.documents - 1);
  });

  it("with a quote that ends in '' and nothing behind it is not closed", async () => {
    expect(await codesOf(`${AGENT}description: 'it''`)).toEqual(['yaml_syntax']);
    for (const text of ["''", "''''", "'it'''", "'it''s'"])
      expect(await codesOf(`${AGENT}description: ${text}`)).toEqual([]);
  });

  it('by prototype keys changes no prototype', async () => {
    const codes = await codesOf(
      `${AGENT}__proto__: { polluted: 1 }\nconstructor: 1\nprototype: 1\n"__proto__": 2\n`,
    );
    expect(codes).toEqual(['forbidden_key', 'forbidden_key', 'forbidden_key', 'forbidden_key']);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('by numbers JSON does not have is refused', async () => {
    expect(
      await codesOf(`${AGENT}limits: { turns: .inf, tokens: .nan, cost_usd: 12345678901234567890 }\n`),
    ).toEqual(['not_json', 'not_json', 'number_too_large']);
  });

  it('by keys that are lists, maps, aliases or nothing is refused', async () => {
    const codes = await codesOf(`${AGENT}? [a, b]\n: 1\n? {c: d}\n: 2\n? &x y\n: 3\n: 4\ntrue: 5\n`);
    expect(codes.filter((code) => code === 'key_not_text').length).toBe(4);
  });
});

describe('a path that is no ordinary file', () => {
  const one = async (path: string, cwd: string) => {
    const { diagnostics, ok } = await loadManifests([path], { env: {}, cwd });
    expect(ok).toBe(false);
    expect(diagnostics.length).toBe(1);
    return diagnostics[0];
  };

  it('of 50 MB is refused by its size, unread', async () => {
    const cwd = temporaryProject({ 'big.yml': '' });
    truncateSync(join(cwd, 'big.yml'), 50 * 1024 * 1024);
    const found = await one('big.yml', cwd);
    expect(found).toMatchObject({ code: 'file_too_large' });
    expect(found?.message).toContain('52,428,800 bytes');
  });

  it('that says it is empty and is not is read up to the limit', async () => {
    const files = createNodeFiles();
    expect(await files.read('/proc/self/status', 10)).toMatchObject({
      ok: false,
      error: { type: 'too_large' },
    });
  });

  it('is a folder, a named pipe or a device: an error at once', async () => {
    const cwd = temporaryProject({ 'dir/x.yml': AGENT });
    execFileSync('mkfifo', [join(cwd, 'pipe.yml')]);
    expect(await one('dir', cwd)).toMatchObject({
      code: 'not_a_file',
      hint: 'Name a file, or a glob: "dir/*.yml".',
    });
    expect(await one('pipe.yml', cwd)).toMatchObject({
      code: 'not_a_file',
      message: '"pipe.yml" is a named pipe, not a file.',
    });
    const device = await loadManifests(['/dev/zero'], { env: {}, cwd });
    expect(device.diagnostics).toMatchObject([{ code: 'not_a_file' }]);
  });

  it('is missing: names the nearest in its folder', async () => {
    const cwd = temporaryProject({ 'agents/coder.yml': AGENT });
    expect(await one('agents/codre.yml', cwd)).toMatchObject({
      code: 'file_missing',
      hint: 'Did you mean "agents/coder.yml"?',
    });
    expect(await one('agnets/coder.yml', cwd)).toMatchObject({
      code: 'file_missing',
      message: 'There is no folder for "agnets/coder.yml".',
    });
    expect(await one('agents/coder.yml/x.yml', cwd)).toMatchObject({ code: 'file_missing' });
  });

  it('lies thousands of folders deep: an error at once', async () => {
    const cwd = temporaryProject({
      'a.yml': `${AGENT}import: { tools: ["./${'a/'.repeat(100_000)}x.yml"] }\n`,
    });
    const before = performance.now();
    expect(await one('a.yml', cwd)).toMatchObject({ code: 'file_unreadable', line: 3 });
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  it('may not be read: says so', async () => {
    const cwd = temporaryProject({ 'a.yml': AGENT });
    chmodSync(join(cwd, 'a.yml'), 0);
    const denied = {
      ...createNodeFiles(),
      read: async () => ({ ok: false, error: { type: 'denied' } }) as const,
    };
    // Root may read everything, so for root the answer of the file system is played.
    const files = process.getuid?.() === 0 ? { files: denied } : {};
    const { diagnostics } = await loadManifests(['a.yml'], { env: {}, cwd, ...files });
    expect(diagnostics).toMatchObject([{ code: 'file_denied', file: 'a.yml' }]);
  });

  it('is a link to itself, or out of the project: an error', async () => {
    const cwd = temporaryProject({ 'project/package.json': '{}', 'outside.yml': TOOL });
    symlinkSync('loop.yml', join(cwd, 'project/loop.yml'));
    symlinkSync('../outside.yml', join(cwd, 'project/link.yml'));
    expect(await one('project/loop.yml', cwd)).toMatchObject({ code: 'link_loop' });
    expect(await one('project/link.yml', cwd)).toMatchObject({ code: 'outside_project' });
    writeFileSync(join(cwd, 'project/a.yml'), `${AGENT}import:\n  tools: [./link.yml]\n`);
    expect(await one('project/a.yml', cwd)).toMatchObject({ code: 'outside_project', line: 4, column: 11 });
  });
});

describe('a glob', () => {
  it('does not follow links, so a loop of folders ends', async () => {
    const cwd = temporaryProject({
      'a.yml': `${AGENT}import:\n  tools: ["./tools/**/*.yml"]\n`,
      'tools/t.yml': TOOL,
    });
    symlinkSync('..', join(cwd, 'tools/up'));
    const { ok, sources } = await loadManifests(['a.yml'], { env: {}, cwd });
    expect({ ok, files: sources.length }).toEqual({ ok: true, files: 2 });
  });

  it.each([
    ['../../**'],
    ['../**/*.yml'],
    ['/etc/*.conf'],
    ['tools/*/../../../*'],
    ['{..,tools}/**/*.yml'],
    ['tools/{a,../..}/*'],
  ])('%s that leaves the project is refused before anything is looked at', async (pattern) => {
    const cwd = temporaryProject({
      'p/package.json': '{}',
      'p/a.yml': `${AGENT}import:\n  tools: ["${pattern}"]\n`,
    });
    const files = {
      ...createNodeFiles(),
      glob: () => {
        throw new Error('looked');
      },
    };
    const { diagnostics } = await loadManifests(['p/a.yml'], { env: {}, cwd, files });
    expect(diagnostics).toMatchObject([{ code: 'outside_project', line: 4 }]);
  });

  it.each([
    [`./tools/${'{a,b}'.repeat(10_000)}*.yml`],
    [`./tools/${'{a,b}'.repeat(60)}*.yml`],
    [`./${'**/'.repeat(100)}*.yml`],
    [`./tools/${'*t'.repeat(30)}z.yml`],
    [`./tools/${'+(t|t*)'.repeat(12)}z`],
    [`./${'?'.repeat(100_000)}`],
  ])('that could hang or crash the walk is not run: %.30s', async (pattern) => {
    const cwd = temporaryProject({
      'a.yml': `${AGENT}import:\n  tools: ["${pattern}"]\n`,
      [`tools/${'t'.repeat(200)}.yml`]: TOOL,
    });
    const { diagnostics } = await loadManifests(['a.yml'], { env: {}, cwd });
    expect(diagnostics).toMatchObject([{ code: 'glob_too_complex', line: 4 }]);
  });

  it('of ordinary complexity is run', async () => {
    const cwd = temporaryProject({
      'a.yml': `${AGENT}import:\n  tools: ["./{tools,more}/**/*-t?*.{yml,yaml}"]\n`,
      'more/deep/my-tool.yaml': TOOL,
    });
    expect(await loadManifests(['a.yml'], { env: {}, cwd })).toMatchObject({ ok: true, documents: 2 });
  });

  it('that matches too many files is refused', { timeout: 60_000 }, async () => {
    const cwd = temporaryProject({ 'a.yml': `${AGENT}import:\n  tools: ["./many/*.yml"]\n` });
    mkdirSync(join(cwd, 'many'));
    for (let i = 0; i <= MANIFEST_LIMITS.globMatches; i++)
      closeSync(openSync(join(cwd, `many/${i}.yml`), 'w'));
    const { diagnostics, sources } = await loadManifests(['a.yml'], { env: {}, cwd });
    expect(diagnostics).toMatchObject([{ code: 'glob_too_wide', line: 4 }]);
    expect(sources.length).toBe(1);
  });

  it('that leads through too many entries ends early', async () => {
    const cwd = temporaryProject({ 'a.yml': `${AGENT}import:\n  tools: ["./**/*.yml"]\n` });
    const files = {
      ...createNodeFiles(),
      glob: async () =>
        ({ ok: false, error: { type: 'too_many', limit: MANIFEST_LIMITS.walkEntries } }) as const,
    };
    const { diagnostics } = await loadManifests(['a.yml'], { env: {}, cwd, files });
    expect(diagnostics).toMatchObject([{ code: 'glob_too_wide' }]);
    expect(diagnostics[0]?.message).toContain('100,000 files and folders');
  });
});
