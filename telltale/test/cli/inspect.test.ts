import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { recordedIo } from './recorded-io.ts';

const PROJECT = {
  'agent.yml': `kind: Agent
name: coder
description: Writes code.
model: scripted:./turns.yml
dialect: tags
limits: { turns: 7, wall: 5m }
metadata: { fields: { status: { type: enum, values: [IDLE, CODING], default: IDLE, description: Mode } } }
prompts: { shorten: { template: "Shorten {text}" } }
import: { tools: [./tools/*.yml, builtin:clock], relics: [./notes.yml] }
`,
  'tools/search.yml': `kind: Tool
name: search
description: Searches the web.
parameters: { type: object, required: [q], properties: { q: { type: string, description: What for. }, n: { type: integer } } }
implementation: { http: { url: "https://api.example.com/?q={q}", headers: { authorization: "\${SEARCH_TOKEN}" } } }
`,
  'notes.yml': 'kind: Relic\nname: notes\ndriver: kv\n',
  'gate.yml':
    'kind: Artifact\nname: gate\nsource: "export const may = () => true"\nmethods: { may: { description: Whether. } }\n',
};

async function inspect(argv: readonly string[], folder = temporaryProject(PROJECT)) {
  const io = recordedIo({ cwd: folder, env: { SEARCH_TOKEN: 'very-secret-indeed' } });
  const code = await main(['inspect', ...argv], io);
  return { code, out: io.out(), err: io.err() };
}

describe('telltale inspect', () => {
  it('says of an agent how it runs and what it may call', async () => {
    const { code, out, err } = await inspect(['agent', 'coder']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const line of [
      'Agent coder\n  Writes code.',
      'file         agent.yml:2',
      'model        scripted:./turns.yml',
      'dialect      tags',
      'limits       7 turns, 300 s of wall time',
      'metadata     status: enum IDLE | CODING; default "IDLE" – Mode',
      'prompts      shorten',
    ])
      expect(out).toContain(line);
  });

  it('says of an agent what stands in its own file, and of that whose it is', async () => {
    const folder = temporaryProject({
      'agent.yml': `kind: Agent
name: solo
model: scripted:x.yml
import: { tools: [builtin:clock] }
permissions: { artifacts: [read, write], environment: [CI] }
---
kind: Tool
name: ring
implementation: { command: [echo] }
---
kind: Workflow
name: nightly
steps: [{ name: s, type: notify, message: x }]
`,
    });
    const { out } = await inspect(['agent', 'solo'], folder);
    expect(out).toContain('tools        builtin:clock\n               ring, in its file\n');
    expect(out).toContain('workflows    nightly, in its file\n');
    expect(out).toContain('artifacts read, write\n               environment CI\n');
    expect(JSON.parse((await inspect(['agent', 'solo', '--json'], folder)).out)[0].beside).toEqual([
      { kind: 'Tool', name: 'ring' },
      { kind: 'Workflow', name: 'nightly' },
    ]);
    expect((await inspect(['tool', 'ring'], folder)).out).toContain('used by      solo\n');
  });

  it('says of an agent what is kept in front of it, and what it remembers', async () => {
    const folder = temporaryProject({
      'agent.yml': `kind: Agent
name: watch
model: scripted:x.yml
memory: { graph: src, inject: 400 }
context_feeds:
  - { id: clock, source: { type: internal, action: system_clock } }
  - { id: load, type: periodic, interval: 30s, inject: reference, source: { type: file, name: load.txt } }
  - { id: off, enabled: false, max_tokens: 9, source: { type: file, name: load.txt } }
  - { id: "builtin:news", enabled: "agent.turn > 1" }
`,
    });
    expect((await inspect(['agent', 'watch'], folder)).out).toContain(`
  feeds        clock: internal system_clock (on_demand)
               load: file "load.txt" (every 30.0 s, reference)
               off: file "load.txt" (on_demand, at most 9 tokens, disabled)
               builtin:news (enabled if agent.turn > 1)
  memory       the graph of src, 400 tokens of it at the start
`);
  });

  it('says of a tool what it takes, what it runs and what it needs', async () => {
    const { out } = await inspect(['search']);
    expect(out).toContain('parameters   q: string – What for.\n               n?: integer\n');
    expect(out).toContain('needs        permissions: { network: [api.example.com] }');
    expect(out).toContain('used by      coder');
  });

  it("lists a relic's operations with their parameters, health among them", async () => {
    const { out } = await inspect(['relic', 'notes']);
    expect(out).toContain('driver       kv\n');
    expect(out).toMatch(/get \(default\): .*\n +key: string\n +set: /);
    expect(out).toMatch(
      /\n +set: .*\n +key: string\n +value: any\n +ttl\?: string \| number – How long .*\n/,
    );
    expect(out).toMatch(/\n +list: .*\n +prefix\?: string – Only keys with this prefix\.\n/);
    expect(out).toMatch(/\n +health: checks whether it works\n(?! +key)/);
    const [{ operations }] = JSON.parse((await inspect(['relic', 'notes', '--json'])).out);
    expect(operations[0]).toEqual({
      name: 'get',
      description: expect.stringMatching(/\w/),
      isDefault: true,
      parameters: [{ name: 'key', type: 'string', required: true, description: '' }],
    });
  });

  it('knows what is built in, wherever it is called', async () => {
    const { out } = await inspect(['tool', 'filesystem'], temporaryProject({}));
    expect(out).toContain('Tool filesystem\n');
    expect(out).toContain('built in');
    expect(out).toMatch(
      /\n +edit: .*\n +path: string\n +old_text: string – Without line numbers\.\n +new_text: string\n/,
    );
    expect(out).toMatch(/ read: .*\n +path: string\n +offset\?: .*\n +limit\?: integer – Lines\.\n/);
    expect(out).toMatch(/\n +list: .*\n +path\?: string\n +tree: /);
  });

  it('shows artifacts, prompts and several names at once', async () => {
    const { out } = await inspect(['gate', 'shorten', 'clock']);
    expect(out).toContain('Artifact gate');
    expect(out).toContain('methods      may: Whether.');
    expect(out).toContain('Prompt shorten\n  Shorten {text}');
    expect(out).toContain('Tool clock');
  });

  it('lists everything, or one kind, where no name is given', async () => {
    expect((await inspect([])).out).toMatch(/^KIND +NAME.*\ntool +search +tools\/search\.yml/s);
    const { out } = await inspect(['relics', '--json']);
    expect(JSON.parse(out)).toMatchObject([
      { kind: 'Relic', name: 'notes', builtin: false, used_by: ['coder'] },
    ]);
  });

  it('never shows the value of a secret', async () => {
    const { out } = await inspect(['search', '--json']);
    expect(out).not.toContain('very-secret');
    expect(JSON.parse(out)[0].manifest.implementation.http.headers.authorization).toBe('<SEARCH_TOKEN>');
  });

  it('suggests the nearest name of that kind', async () => {
    expect(await inspect(['serach'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('Did you mean "search"?'),
    });
    expect((await inspect(['relic', 'search'])).err).toContain('No relic here is named "search".');
  });

  it('shows what is right where other manifests are wrong', async () => {
    const folder = temporaryProject({
      'a.yml': 'kind: Agent\nname: good\nmodel: scripted:x\n',
      'b.yml': 'kind: Tool\nnmae: bad\n',
    });
    const { code, out, err } = await inspect(['agents'], folder);
    expect({ code, out: out.includes('good') }).toEqual({ code: 0, out: true });
    expect(err).toMatch(/mistakes? in the manifests of this folder/);
  });
});
