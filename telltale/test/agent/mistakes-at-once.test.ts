import { describe, expect, it } from 'vitest';
import { openFrame } from '../../src/lib/calls.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { Model } from '../../src/models/model.ts';
import { createScriptedModel, type ScriptedModelOptions } from '../../src/models/scripted/scripted-model.ts';
import { type RunOptions, runAgent, tool } from './run-agent.ts';
import { call, type Deed, speak, step } from './speak.ts';

type ScriptedTurn = ScriptedModelOptions['turns'][number];

const DIALECTS = ['tags', 'tools', 'step'] as const;
const TOOLS = 'import: { tools: [./tools/*.yml] }\n';
const echo = tool('echo', 'return input.text ?? null;');

/** Runs an agent on these turns, and keeps all that its model was sent. */
async function ask(turns: readonly ScriptedTurn[], options: Omit<RunOptions, 'turns'>) {
  const scripted = createScriptedModel({ id: 'scripted:test', turns });
  const requests: string[] = [];
  const model: Model = {
    ...scripted,
    stream(request, sink) {
      const { system, tools, messages } = request;
      const said = messages.map(({ text, answers }) => [text, answers?.map((answer) => answer.text)]);
      requests.push([system, JSON.stringify(tools), ...said.flat(2)].join('\n'));
      return scripted.stream(request, sink);
    },
  };
  const ran = await runAgent({ files: echo, ...options, turns: [], model });
  return { ...ran, prompts: requests };
}

const NOTES =
  'I looked at all there was with care, wrote down what I found, and left everything as it had been before.';

const led = (dialect: (typeof DIALECTS)[number], step: string, turns: readonly string[]) =>
  ask(turns, {
    manifest: `dialect: ${dialect}\nimport: { tools: [./tools/*.yml], workflows: [./flow.yml] }\nworkflow: lead\n`,
    files: {
      ...echo,
      'flow.yml': `kind: Workflow\nname: lead\ndescription: It leads the way.\nsteps: [{ name: look, type: task, prompt: "Look.", ${step} }, { name: tell, type: task, prompt: "Tell." }]\n`,
    },
    clock: createSimulatedClock(),
  });

describe.each(DIALECTS)('in the dialect %s', (dialect) => {
  it('a completed step is told all that is wrong with it at once', async () => {
    const { result, prompts, of } = await led(
      dialect,
      'requires: { risk: { enum: [low, high] }, place: { type: string } }, evidence: [echo]',
      [
        [{ call: 'echo', run: { id: 'done' } }] as const,
        [{ complete: 'Done.', updates: { risk: 'odd', stray: 1 }, evidence: ['gone'] }] as const,
        [{ complete: NOTES, updates: { risk: 'low', place: 'here' }, evidence: ['done'] }] as const,
        [{ complete: `${NOTES} Told.` }] as const,
      ].map((deeds) => speak(dialect, deeds)),
    );
    expect(result).toMatchObject({ status: 'completed', turns: 4 });
    const told = prompts[2] ?? '';
    expect(told).toContain('The step is not completed, for 6 reasons:');
    for (const reason of [
      'Its notes have 5 characters; at least 50 are asked for.',
      'the key "stray", which nobody asks for',
      '"context_updates" lacks "place"',
      '"/risk" is "odd"',
      'No action has the id "gone"',
      'Give "evidence": ["done"]',
    ])
      expect(told).toContain(reason);
    expect(of('task.claimed')).toHaveLength(2);
  });

  it('a step counts as taken only where nobody is still to check it', async () => {
    const { prompts, of } = await led(
      dialect,
      `verify: { command: [sh, -c, "test $(cat | wc -c) -gt 0 && exit 1"], when: completion, max_retries: 1 }, on_error: continue`,
      [[{ complete: NOTES }], [{ complete: `${NOTES} Again.` }], [{ complete: `${NOTES} Told.` }]].map(
        (deeds) => speak(dialect, deeds),
      ),
    );
    const outputs = of('action.completed').map(({ output }) => output);
    expect(outputs[0]).toBe('Received. The step is completed once the check passes.');
    expect(prompts[1]).toContain('The step is not over yet');
    expect(prompts[1]).not.toContain('>Taken');
  });

  it('text in a guided step is told what completes it, once, and the agent cannot start what leads it', async () => {
    const { prompts, result } = await led(dialect, 'max_turns: 5', [
      'I think I am done now.',
      speak(dialect, [{ complete: NOTES }]),
      speak(dialect, [{ complete: `${NOTES} Told.` }]),
    ]);
    expect(result).toMatchObject({ status: 'completed', turns: 3 });
    expect(prompts[1]).toMatch(/what the step needs/);
    expect(prompts[1]).toMatch(/complete_step|"is_complete": true/);
    expect(prompts[1]).not.toContain('Your last turn brought no action');
    expect(prompts[0]).not.toContain('It leads the way.');
  });

  it('the faults of a turn are told together, each with the id of its action', async () => {
    const turn: Record<(typeof DIALECTS)[number], string> = {
      tags: '<action id="one">{"nme": "echo"}</action>\n<action id="two" mode="often">{"name": "echo"}</action>\n<action id="three">{"name": "echo", "depends": []}</action>',
      tools:
        call('echo', { _run: { id: 'one', nme: 1 } }) +
        call('echo', { _run: { id: 'two', mode: 'often' } }) +
        call('echo', { _run: { id: 'three', depends: [] } }),
      step: step({
        tool_calls: [
          { name: 'echo', id: 'one', nme: 1 },
          { name: 'echo', id: 'two', mode: 'often' },
          { name: 'echo', id: 'three', depends: [] },
        ],
      }),
    };
    const { prompts } = await ask([turn[dialect], speak(dialect, [{ respond: 'Done.' }])], {
      manifest: `dialect: ${dialect}\n${TOOLS}`,
    });
    for (const id of ['one', 'two', 'three']) expect(prompts[1]).toContain(`Action "${id}": `);
  });
});

it('a step without notes is told only that', async () => {
  const { prompts } = await led('step', 'max_turns: 5', [
    step({ is_complete: true, response: 'Done.' }),
    step({ is_complete: true, notes: NOTES }),
    step({ is_complete: true, notes: `${NOTES} Told.` }),
  ]);
  expect(prompts[1]).toContain('it needs "notes"');
  expect(prompts[1]).not.toContain('the step in hand is still open');
  expect(prompts[1]).not.toContain('Your last turn brought no action');
  const plain = await ask([step({ is_complete: true }), step({ is_complete: true, notes: 'Done.' })], {
    manifest: `dialect: step\n${TOOLS}`,
  });
  expect(plain.prompts[1]).toContain('it needs "notes"');
  expect(plain.prompts[1]).not.toContain('Nothing in your last turn took effect');
});

describe('the output limit of a provider', () => {
  const long = `{"name": "echo", "parameters": {"text": "${'word '.repeat(400)}`;
  const cut: Record<(typeof DIALECTS)[number], string> = {
    tags: `<thought>I write it.</thought>\n<action id="big">${long}`,
    tools: `${openFrame('c1', 'echo')}{"text": "${'word '.repeat(400)}`,
    step: `${openFrame('c1', 'step')}{"thought": "I write it.", "tool_calls": [${long}`,
  };
  const run = (dialect: (typeof DIALECTS)[number], turns: readonly ScriptedTurn[]) =>
    ask(turns, { manifest: `dialect: ${dialect}\n${TOOLS}` });
  const done: Deed[] = [{ respond: 'Done.' }];

  it.each(DIALECTS)('is told once, with what it cut and the size to stay under: %s', async (dialect) => {
    const { prompts, result, of } = await run(dialect, [
      { text: cut[dialect], finish: 'length' },
      { text: speak(dialect, done) },
    ]);
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
    expect(of('action.declared')).toEqual([]);
    const told = prompts[1] ?? '';
    const [, tokens = '', size = ''] =
      /reached the output limit of (\d+) tokens.*under about (\d+) characters: write long files in parts/.exec(
        told,
      ) ?? [];
    expect(Number(tokens)).toBe(of('turn.completed')[0]?.usage.output);
    expect(Number(size)).toBeGreaterThan(1000);
    expect(Number(size)).toBeLessThan(cut[dialect].length);
    expect(told).toContain(
      {
        tags: 'inside "big"; nothing of it ran',
        tools: 'inside "echo"; nothing of it ran',
        step: 'inside "step"',
      }[dialect],
    );
    expect(told).not.toContain('The turn ended before');
  });

  it.each(DIALECTS)('that ends three turns in a row stops the session: %s', async (dialect) => {
    const text = { text: cut[dialect], finish: 'length' } as const;
    const { result } = await run(dialect, [text, text, text, text, text]);
    expect(result).toMatchObject({ status: 'stalled', turns: 3 });
  });
});
