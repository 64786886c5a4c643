import { describe, expect, it } from 'vitest';
import { loadAgent } from '../../src/session/load-agent.ts';
import { resumeEverywhere } from '../../src/testing/resume-everywhere.ts';
import { scripted } from '../../src/testing/scripted.ts';
import { agentFolder, runAgent, tool } from './run-agent.ts';

const SCHEMA = 'output: { schema: { type: object, required: [n], properties: { n: { type: number } } } }\n';
const FENCED = '<response>\n```json\n{"n": 3}\n```\n</response>';

describe('a final response of an agent with an output schema', () => {
  it.each([
    ['a fence', '```json\n{"n": 3}\n```'],
    ['a longer fence', '````\n{"n": 3}\n````'],
    ['white space', '\n\n  {"n": 3} \n'],
  ])('is read inside %s', async (_, text) => {
    const { result } = await runAgent({ manifest: SCHEMA, turns: [`<response>${text}</response>`] });
    expect(result).toMatchObject({ status: 'completed', result: { n: 3 }, turns: 1 });
  });

  it('is not read behind prose', async () => {
    const { of, result } = await runAgent({
      manifest: SCHEMA,
      turns: ['<response>Here:\n```json\n{"n": 3}\n```\n</response>', '<response>{"n": 4}</response>'],
    });
    expect(result.result).toEqual({ n: 4 });
    expect(of('fault').map(({ code }) => code)).toEqual(['bad_output']);
  });

  it('gives the same value wherever the process died, and none where it is not of the schema', async () => {
    const cwd = agentFolder(`${SCHEMA}import: { tools: [./tools/*.yml] }\n`, tool('echo', 'return 1;'));
    const turns = [
      '<action id="a">{"name":"echo"}</action>',
      '<response>{"n": "x"}</response>',
      FENCED,
      FENCED,
    ];
    const setUp = async () => ({ agent: await loadAgent('agent.yml', { cwd }) });
    let places = 0;
    await resumeEverywhere(
      { setUp, input: 'Go.', start: { model: scripted(turns) }, resume: { model: scripted(turns) } },
      ({ result }) => {
        places++;
        expect(result).toMatchObject({ status: 'completed', result: { n: 3 } });
      },
    );
    expect(places).toBeGreaterThan(8);
  });
});

describe('a dollar in a response', () => {
  it('that names nothing stays, prices and all, and two are one', async () => {
    const { result, observed } = await runAgent({
      turns: ['<response>$$5 or $9.99, a $nope.x and $$nope, $ 3.</response>'],
    });
    expect(result.result).toBe('$5 or $9.99, a $nope.x and $nope, $ 3.');
    const live = observed.flatMap((event) => (event.type === 'response.delta' ? [event.text] : []));
    expect(live.join('')).toBe(result.result);
  });

  it('brings the value of an action as it is: tags in it are text, and nothing in it is a reference', async () => {
    const { result, of } = await runAgent({
      manifest: 'import: { tools: [./tools/*.yml] }\n',
      files: tool('page', 'return "<action>{}</action> costs $$2, see $a";'),
      turns: ['<action id="a">{"name":"page"}</action><response>It says: $a.</response>'],
    });
    expect(result.result).toBe('It says: <action>{}</action> costs $$2, see $a.');
    expect(of('action.declared')).toHaveLength(1);
  });
});
