// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of manifests, not of JavaScript
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MANIFEST_LIMITS } from '../../src/manifest/diagnostic.ts';
import { createNodeFiles } from '../../src/manifest/files.ts';
import { type LoadOptions, loadManifests } from '../../src/manifest/load-manifests.ts';
import { validateManifests } from '../../src/manifest/validate-manifests.ts';
import { temporaryProject } from './temporary-project.ts';

const agent = (name: string, rest = '') => `kind: Agent\nname: ${name}\n${rest}`;
const tool = (name: string) => `kind: Tool\nname: ${name}\nimplementation: { command: [ls] }\n`;
const workflow = (name: string, target: string) =>
  `kind: Workflow\nname: ${name}\nsteps:\n  - { name: s, type: tool, target: ${target} }\n`;

const load = (
  files: Record<string, string>,
  paths: string[] = ['a.yml'],
  options: Partial<LoadOptions> = {},
) => loadManifests(paths, { env: {}, cwd: temporaryProject(files), ...options });
const codes = (result: Awaited<ReturnType<typeof load>>) => result.diagnostics.map(({ code }) => code);

describe('imports', () => {
  it('are relative to the manifest, sorted, and read once however many ways lead to them', async () => {
    const reads: string[] = [];
    const files = createNodeFiles();
    const result = await load(
      {
        'package.json': '{}',
        'agents/a.yml': agent(
          'a',
          'import:\n  tools: [../tools/*.yml, ../tools/b.yml]\n  agents: [./b.yml]\n',
        ),
        'agents/b.yml': agent('b', 'import:\n  agents: [./a.yml]\n  tools: [../tools/a.yml]\n'),
        'tools/b.yml': tool('b'),
        'tools/a.yml': tool('a'),
        'tools/c.txt': 'nothing',
      },
      ['agents/a.yml'],
      {
        files: {
          ...files,
          read: (path, max) => {
            reads.push(path);
            return files.read(path, max);
          },
        },
      },
    );
    expect(result.diagnostics).toEqual([]);
    const manifests = result.projects[0]?.manifests ?? [];
    expect(manifests.map(({ id }) => id)).toEqual(['Agent/a', 'Tool/a', 'Tool/b', 'Agent/b']);
    expect(manifests[0]?.imports).toEqual([
      { type: 'files', list: 'tools', entry: '../tools/*.yml', manifests: ['Tool/a', 'Tool/b'] },
      { type: 'files', list: 'tools', entry: '../tools/b.yml', manifests: ['Tool/b'] },
      { type: 'files', list: 'agents', entry: './b.yml', manifests: ['Agent/b'] },
    ]);
    expect(reads.length).toBe(new Set(reads).size);
  });

  it('take built-in tools and MCP servers by name', async () => {
    const entries = '[builtin:git, { mcp: { name: github, command: npx, args: [server] } }]';
    const { projects } = await load({ 'a.yml': agent('a', `import:\n  tools: ${entries}\n`) });
    expect(projects[0]?.manifests[0]?.imports).toEqual([
      { type: 'builtin', list: 'tools', name: 'git' },
      { type: 'mcp', list: 'tools', name: 'github' },
    ]);
  });

  it('reach a file through a link inside the project once', async () => {
    const cwd = temporaryProject({
      'a.yml': agent('a', 'import:\n  tools: [./t.yml, ./link.yml]\n'),
      't.yml': tool('t'),
    });
    symlinkSync('t.yml', join(cwd, 'link.yml'));
    const { ok, sources } = await loadManifests(['a.yml'], { env: {}, cwd });
    expect({ ok, files: sources.length }).toEqual({ ok: true, files: 2 });
  });

  it('may name a file of several kinds in several lists, but not in one alone', async () => {
    const both = `${tool('t')}---\nkind: Relic\nname: r\ndriver: kv\n`;
    const imports = (lists: string) => agent('a', `import:\n${lists}`);
    expect(
      codes(await load({ 'a.yml': imports('  tools: [./x.yml]\n  relics: [./x.yml]\n'), 'x.yml': both })),
    ).toEqual([]);
    expect(codes(await load({ 'a.yml': imports('  tools: [./x.yml]\n'), 'x.yml': both }))).toEqual([
      'wrong_kind',
    ]);
  });

  it('of an address or with a line break are refused', async () => {
    const result = await load({
      'a.yml': agent('a', 'import:\n  tools: ["https://example.com/t.yml", "a\\nb"]\n'),
    });
    expect(codes(result)).toEqual(['import_not_local', 'import_not_local']);
  });

  it('with a name that a glob would misread find the file of that name', async () => {
    const result = await load({
      'a.yml': agent('a', 'import:\n  tools: ["./t[1].yml"]\n'),
      't[1].yml': tool('t'),
    });
    expect(result.ok).toBe(true);
  });

  it('show all mistakes of all files at once', async () => {
    const result = await load({
      'a.yml': agent('a', 'dialct: tags\nimport:\n  tools: [./t.yml, ./no.yml]\n  workflows: [./w.yml]\n'),
      't.yml': `${tool('t')}aproval: never\n`,
      'w.yml': 'kind: Workflow\nname: "w\n',
    });
    expect(result.diagnostics.map(({ file, code }) => `${file} ${code}`)).toEqual([
      'a.yml unknown_key',
      'a.yml file_missing',
      't.yml unknown_key',
      'w.yml yaml_syntax',
    ]);
    expect(result.documents).toBe(3);
  });

  it('end at the limit of files', { timeout: 60_000 }, async () => {
    const files = {
      ...createNodeFiles(),
      read: async (path: string) =>
        path.endsWith('context_variables.json')
          ? ({ ok: false, error: { type: 'missing', siblings: [] } } as const)
          : ({
              ok: true,
              value: Buffer.from(
                path.endsWith('.yml') && !/\d/.test(path) ? agents(path) : tool(`t${path.match(/\d+/)?.[0]}`),
              ),
            } as const),
      realPath: async (path: string) => path,
      exists: async () => false,
    };
    const names = ['a', 'b', 'c', 'd'];
    const agents = (path: string) => {
      const at = names.findIndex((name) => path.endsWith(`/${name}.yml`));
      const entries = Array.from(
        { length: MANIFEST_LIMITS.importEntries },
        (_, i) => `    - /p/t${at * 1000 + i}.yml\n`,
      );
      return agent(names[at] ?? '', `import:\n  tools:\n${entries.join('')}`);
    };
    const paths = names.map((name) => `/p/${name}.yml`);
    const result = await loadManifests(paths, { env: {}, cwd: '/p', files });
    expect(codes(result)).toEqual(['too_many_files']);
    expect(result.sources.length).toBe(MANIFEST_LIMITS.files);
  });
});

describe('the root of a project', () => {
  const files = {
    'repo/package.json': '{}',
    'repo/agents/a.yml': agent('a', 'import:\n  tools: [../tools/t.yml]\n'),
    'repo/tools/t.yml': tool('t'),
    'repo/nested/telltale.yml': agent('n', 'import:\n  tools: [../tools/t.yml]\n'),
  };

  it('is the nearest folder with package.json, .git or telltale.yml', async () => {
    expect(codes(await load(files, ['repo/agents/a.yml']))).toEqual([]);
    expect(codes(await load(files, ['repo/nested/telltale.yml']))).toEqual(['outside_project']);
  });

  it('can be given', async () => {
    expect(codes(await load(files, ['repo/nested/telltale.yml'], { root: 'repo' }))).toEqual([]);
    expect(codes(await load(files, ['repo/agents/a.yml'], { root: 'repo/agents' }))).toEqual([
      'outside_project',
    ]);
    expect(codes(await load(files, ['repo/agents/a.yml'], { root: 'repo/tools' }))).toEqual([
      'outside_project',
    ]);
  });

  it('is the folder one stands in where nothing marks a project', async () => {
    const bare = {
      'agents/a.yml': agent('a', 'import:\n  tools: [../tools/t.yml]\n'),
      'tools/t.yml': tool('t'),
    };
    expect(codes(await load(bare, ['agents/a.yml']))).toEqual([]);
  });

  it('separates names: two projects may use the same ones, one may not', async () => {
    const two = {
      'p/package.json': '{}',
      'p/t.yml': tool('t'),
      'q/package.json': '{}',
      'q/t.yml': tool('t'),
    };
    const apart = await load(two, ['p/t.yml', 'q/t.yml']);
    expect(apart.ok).toBe(true);
    expect(apart.projects.length).toBe(2);
    const together = await load(two, ['p/t.yml', 'q/t.yml'], { root: '.' });
    expect(together.diagnostics).toMatchObject([
      {
        code: 'name_taken',
        file: 'q/t.yml',
        line: 2,
        message: 'Another Tool is already named "t": p/t.yml:2.',
      },
    ]);
  });
});

describe('a name that stands for something in another file', () => {
  it('is checked in steps however deep they are', async () => {
    const steps = `kind: Workflow
name: w
steps:
  - name: all
    type: parallel
    branches:
      - - { name: x, type: tool, target: tt }
      - { name: y, type: relic, target: rr, parameters: { type: tool, target: fine } }
  - name: many
    type: foreach
    in: [1]
    body:
      - { name: z, type: agent, target: aa }
      - { name: v, type: task, agent: bb, prompt: Do it., verify: { model: fsat, instructions: Look. } }
  - { name: q, type: llm, target: sumarize }
  - { name: u, type: workflow, target: v, compensate: { target: undo } }
`;
    const result = await load({
      'a.yml': agent('a', 'models: { fast: a/b }\nimport:\n  workflows: [./w.yml]\n'),
      'w.yml': steps,
    });
    expect(
      result.diagnostics.map(({ code, message }) => `${code} ${message.match(/"([^"]+)"\.$/)?.[1]}`).sort(),
    ).toEqual([
      'unknown_agent aa',
      'unknown_agent bb',
      'unknown_model fsat',
      'unknown_prompt sumarize',
      'unknown_relic rr',
      'unknown_tool tt',
      'unknown_tool undo',
      'unknown_workflow v',
    ]);
  });

  it('may be a document beside the agent in its own file', async () => {
    const text = [
      agent('a', 'workflow: w\naction_templates: { x: { name: t } }\n'),
      tool('t'),
      workflow('w', 't'),
    ].join('---\n');
    expect(codes(await load({ 'a.yml': text }))).toEqual([]);
  });

  it('that another file defines is told where, and what to import', async () => {
    const result = await load(
      { 'a.yml': agent('a', 'action_templates: { x: { name: t } }\n'), 't.yml': tool('t') },
      ['a.yml', 't.yml'],
    );
    expect(result.diagnostics).toMatchObject([
      { code: 'unknown_tool', hint: 't.yml:2 defines it: add that file to "import.tools" of a.yml.' },
    ]);
  });

  it('of a tool is only doubtful where an MCP server may bring it', async () => {
    const imports = 'import:\n  tools: [{ mcp: { name: gh, command: npx } }]\n';
    const templates = (name: string) => agent('a', `${imports}action_templates: { x: { name: ${name} } }\n`);
    expect((await load({ 'a.yml': templates('create_issue') })).diagnostics).toMatchObject([
      { severity: 'warning' },
    ]);
    expect((await load({ 'a.yml': templates('gh.create_issue') })).diagnostics).toEqual([]);
  });

  it('is not held against an import that failed', async () => {
    const result = await load({
      'a.yml': agent('a', 'import:\n  tools: [./missing.yml]\naction_templates: { x: { name: other } }\n'),
    });
    expect(codes(result)).toEqual(['file_missing']);
  });

  it('of an artifact is a warning: it may be written later', async () => {
    const text = agent(
      'a',
      'components:\n  - { name: c, prompt: Hi., inject_into: [{ step: s, if: { invoke: mine, method: m, fallback: true } }] }\n',
    );
    const found = (await load({ 'a.yml': text })).diagnostics.find(({ code }) => code === 'unknown_artifact');
    expect(found).toMatchObject({ severity: 'warning', hint: 'Until it exists, the fallback is used.' });
  });

  it('is a warning in a workflow that is checked without its agent', async () => {
    expect((await load({ 'a.yml': workflow('w', 'lint') })).diagnostics).toMatchObject([
      { severity: 'warning', code: 'unknown_tool' },
    ]);
  });

  it('from the environment is not shown', async () => {
    const { diagnostics } = await load({ 'a.yml': agent('a', 'workflow: ${W}\n') }, ['a.yml'], {
      env: { W: 'zq7_hidden' },
    });
    expect(diagnostics).toMatchObject([
      { code: 'unknown_workflow', message: 'The agent "a" imports no workflow named "${W}".' },
    ]);
  });
});

describe('the result', () => {
  it('is frozen to the ground', async () => {
    const result = await load({ 'a.yml': agent('a', 'import:\n  tools: [./t.yml]\n'), 't.yml': tool('t') });
    const frozen = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(frozen));
    expect(frozen(result.projects)).toBe(true);
    expect(frozen(result.sources)).toBe(true);
  });

  it('has a hash that follows the meaning, not the writing', async () => {
    const hash = async (text: string, env = {}) =>
      (await load({ 'a.yml': text }, ['a.yml'], { env })).projects[0]?.manifests[0]?.hash;
    const first = await hash('kind: Agent\nname: a\nlimits: { turns: 5 }\n');
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(await hash('# a comment\n"name": a\nkind: "Agent"\nlimits:\n  turns: ${N}\n', { N: '5' })).toBe(
      first,
    );
    expect(await hash('kind: Agent\nname: a\nlimits: { turns: 6 }\n')).not.toBe(first);
  });

  it('leaves out manifests with errors, and keeps the others', async () => {
    const { projects } = await load({ 'a.yml': `${agent('a', 'dialct: x\n')}---\n${tool('t')}` });
    expect(projects[0]?.manifests.map(({ id }) => id)).toEqual(['Tool/t']);
  });

  it('takes text that is not a file, with imports relative to a folder', async () => {
    const cwd = temporaryProject({ 'tools/t.yml': tool('t') });
    const bytes = Buffer.from(agent('a', 'import:\n  tools: [./t.yml]\ndialct: x\n'));
    const result = await loadManifests([{ label: 'buffer', bytes, folder: join(cwd, 'tools') }], {
      env: {},
      cwd,
    });
    expect(result.diagnostics).toMatchObject([{ code: 'unknown_key', file: 'buffer', line: 5 }]);
    expect(result.sources.length).toBe(2);
  });

  it('rejects only when it is aborted', async () => {
    const signal = AbortSignal.abort(new Error('stop'));
    await expect(load({ 'a.yml': agent('a') }, ['a.yml'], { signal })).rejects.toThrow('stop');
  });
});

describe('a folder', () => {
  it('is walked for manifests, and for nothing else', async () => {
    const cwd = temporaryProject({
      'a.yml': agent('a'),
      'deep/er/t.yaml': tool('t'),
      'j.json': JSON.stringify({ kind: 'Tool', name: 'j', implementation: { command: ['ls'] } }),
      'misspelt.yml': 'kind: Agnet\nname: x\n',
      'package.json': '{"kind": "module"}',
      'compose.yml': 'services: {}\n',
      'k8s.yml': 'apiVersion: argoproj.io/v1\nkind: Workflow\n',
      'node_modules/x/a.yml': agent('hidden'),
      '.hidden/a.yml': agent('hidden'),
      'notes.md': 'kind: Agent\n',
    });
    symlinkSync('.', join(cwd, 'loop'));
    const result = await validateManifests(['.'], { env: {}, cwd });
    expect(result.found).toMatchObject({ looked: 7, cut: false, denied: [] });
    expect(result.found.files.map((file) => file.slice(cwd.length + 1))).toEqual([
      'a.yml',
      'j.json',
      'misspelt.yml',
      'deep/er/t.yaml',
    ]);
    expect(result.diagnostics).toMatchObject([{ file: 'misspelt.yml', code: 'not_allowed' }]);
  });
});
