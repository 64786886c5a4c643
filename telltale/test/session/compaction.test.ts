import { describe, expect, it } from 'vitest';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { runAgent, tool } from './run-agent.ts';

const files = {
  ...tool('echo', 'return input;'),
  ...tool('page', 'return "x".repeat(2500);'),
};

/** A model with a small window, and a session that is too long for it. */
const turns = [
  '<action id="first" mode="sync">{"name":"echo","parameters":{"n":42}}</action>',
  ...[1, 2, 3, 4].map((n) => `<action id="page${n}" mode="sync">{"name":"page"}</action>`),
  '<action id="last" mode="sync">{"name":"echo","parameters":{"n":"$first.n"}}</action><response>$last.n</response>',
];
const model = createScriptedModel({ id: 'scripted:small', contextWindow: 4_000, turns });

describe('a session that outgrows its window', () => {
  it('goes on, its old results can still be named, and the reused part is told as it is', async () => {
    const { result, of } = await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files,
      turns: [],
      model,
    });
    expect(result).toMatchObject({ status: 'completed', result: '42' });
    const compacted = of('prompt.compacted')[0];
    expect(compacted?.through).toBeGreaterThan(0);
    const [before, after] = [
      of('turn.started').filter(({ seq }) => seq < (compacted?.seq ?? 0)),
      of('turn.started').find(({ seq }) => seq > (compacted?.seq ?? 0)),
    ];
    expect(before.every(({ prompt }) => prompt.reused_prefix === 1)).toBe(true);
    expect(after?.prompt.reused_prefix).toBeLessThan(1);
  });

  it('is not ended by a fast model that cannot be had: a script writes the summary', async () => {
    const { result, of } = await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\nmodels: { fast: scripted:missing.yml }\n',
      files,
      turns: [],
      model,
    });
    expect(result).toMatchObject({ status: 'completed', result: '42' });
    expect(of('prompt.compacted').length).toBeGreaterThan(0);
    expect(of('audit')[0]?.what).toContain('scripted:missing.yml wrote no summary');
  });
});
