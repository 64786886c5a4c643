import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { recordedIo } from './recorded-io.ts';

const ONE = 'kind: Workflow\nname: one\nsteps: [{ name: a, type: emit, event: x }]\n';
const TWO = `${ONE}---\nkind: Workflow\nname: two\nsteps: [{ name: b, type: emit, event: y }]\n`;
const AGENT = 'kind: Agent\nname: bot\nmodel: scripted:t.yml\nimport: { workflows: [two.yml] }\n';

async function graph(argv: readonly string[], files: Readonly<Record<string, string>>) {
  const cwd = temporaryProject({ 'package.json': '{}', ...files });
  const io = recordedIo({ cwd });
  const code = await main(['graph', ...argv], io);
  return { code, out: io.out(), err: io.err(), cwd };
}

describe('telltale graph', () => {
  it('prints Mermaid, or SVG when asked to', async () => {
    const { code, out } = await graph(['one.yml'], { 'one.yml': ONE });
    expect(code).toBe(0);
    expect(out).toBe(
      'flowchart TD\n  n1((" "))\n  n2["a<br/>emit x"]\n  n3(((" ")))\n  n1 --> n2\n  n2 --> n3\n',
    );
    expect((await graph(['one.yml', '--format', 'svg'], { 'one.yml': ONE })).out).toMatch(
      /^<svg .*<\/svg>\n$/s,
    );
  });

  it('shows where a person is asked, and who judges', async () => {
    const steps = [
      '{ name: a, type: task, prompt: x, confirm: true, verify: { command: [npm, test] } }',
      '{ name: b, type: task, prompt: x, verify: { instructions: x, model: fast } }',
      '{ name: c, type: plan, prompt: x, approval: always }',
    ];
    const flow = `kind: Workflow\nname: w\nsteps: [${steps.join(', ')}]\n`;
    const { out } = await graph(['w.yml'], { 'w.yml': flow });
    expect(out).toContain('"a<br/>task<br/>asks a person first<br/>verified by npm test"');
    expect(out).toContain('"b<br/>task<br/>verified by fast"');
    expect(out).toContain('"c<br/>plan<br/>asks a person#58; approve / reject"');
  });

  it('takes the form of a file from its name, and says where it is', async () => {
    const { code, out, cwd } = await graph(['one.yml', '-o', 'one.svg'], { 'one.yml': ONE });
    expect({ code, out }).toEqual({ code: 0, out: 'one was written to one.svg.\n' });
    expect(readFileSync(join(cwd, 'one.svg'), 'utf8')).toContain('<title>Workflow one</title>');
    const json = await graph(['one.yml', '-o', 'one.mmd', '--json'], { 'one.yml': ONE });
    expect(JSON.parse(json.out)).toEqual({
      workflow: 'one',
      format: 'mermaid',
      file: join(json.cwd, 'one.mmd'),
    });
  });

  it('prints the graph itself with --json', async () => {
    const { out } = await graph(['one.yml', '--json'], { 'one.yml': ONE });
    expect(JSON.parse(out)).toMatchObject({
      workflow: 'one',
      edges: [{ from: 'n1' }, { from: 'n2' }],
      groups: [],
    });
  });

  it('finds a workflow by name, also behind an agent', async () => {
    const files = { 'agent.yml': AGENT, 'two.yml': TWO };
    expect((await graph(['agent.yml', 'two'], files)).out).toContain('emit y');
    const several = await graph(['agent.yml'], files);
    expect(several.code).toBe(2);
    expect(several.err).toContain('Add the name of one: one, two.');
    const unknown = await graph(['two.yml', 'tow'], files);
    expect(unknown.code).toBe(2);
    expect(unknown.err).toContain('Did you mean "two"?');
  });

  it('shows what is wrong with a manifest, and that one has no workflow', async () => {
    const wrong = await graph(['one.yml'], { 'one.yml': ONE.replace('emit', 'omit') });
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain('one.yml:3');
    const none = await graph(['a.yml'], { 'a.yml': 'kind: Agent\nname: bot\nmodel: scripted:t.yml\n' });
    expect(none.code).toBe(2);
    expect(none.err).toContain('contains no Workflow');
  });

  it('says why a file could not be written', async () => {
    const { code, err } = await graph(['one.yml', '-o', 'no/such/one.svg'], { 'one.yml': ONE });
    expect(code).toBe(1);
    expect(err).toContain("'no/such/one.svg' could not be written");
  });
});
