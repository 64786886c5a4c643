import { describe, expect, it } from 'vitest';
import { runAgent, tool } from './run-agent.ts';

const manifest = 'import: { tools: [./tools/*.yml] }\n';
const files = { ...tool('boom', 'throw new Error("no");'), ...tool('echo', 'return input;') };
const loop = (list: string) =>
  `<foreach in="${list}" as="n"><action id="f">{"name":"echo","parameters":{"n":"$n"}}</action></foreach>`;

describe('a <foreach> that cannot run', () => {
  it('undoes a final response of its turn, and the model hears of it', async () => {
    const { result, of, prompts } = await runAgent({
      manifest,
      files,
      turns: [
        '<action id="list">{"name":"boom"}</action>',
        `${loop('$list')}<response>All done.</response>`,
        '<response>It could not be done.</response>',
      ],
    });
    expect(result.result).toBe('It could not be done.');
    expect(of('response')[0]).toMatchObject({ text: 'All done.', final: false });
    expect(prompts[2]).toContain('bad_list: A &lt;foreach> did not run');
    expect(prompts[2]).toContain('its list needs "list"');
    expect(prompts[2]).not.toContain('<result');
  });

  it('waits for a list that is declared later in the turn, be it an action or metadata', async () => {
    const { result, of } = await runAgent({
      manifest: `${manifest}metadata: { fields: { n: { type: array, items: { type: number } } } }\n`,
      files: { ...files, ...tool('three', 'return [1, 2, 3];') },
      turns: [
        `${loop('$list')}<parallel id="g"><foreach in="$n" as="m"><action id="e">{"name":"echo","parameters":{"m":"$m"}}</action></foreach><metadata>{"n":[7]}</metadata></parallel><action id="list">{"name":"three"}</action><response>$f and $e</response>`,
      ],
    });
    expect(result.result).toBe('[{"n":1},{"n":2},{"n":3}] and [{"m":7}]');
    expect(of('fault')).toEqual([]);
  });

  it('for want of a list does the same', async () => {
    const { result, prompts } = await runAgent({
      manifest,
      files,
      turns: [`${loop('$nothing')}<response>All done.</response>`, '<response>Not done.</response>'],
    });
    expect(result.result).toBe('Not done.');
    expect(prompts[1]).toContain('final_undone');
    expect(prompts[1]).toContain('names nothing');
  });
});
