import { describe, expect, it } from 'vitest';
import { checkManifest, manifestJsonSchema } from '../../src/manifest/check-manifest.ts';
import type { Dialect } from '../../src/parser/dialect-parser.ts';
import { findForeignCalls } from '../../src/parser/foreign-calls.ts';
import { readVerdict } from '../../src/workflows/guided/verify/read-verdict.ts';
import { type RunOptions, runAgent, tool } from '../agent/run-agent.ts';
import { call, step } from '../agent/speak.ts';

/** The constructs of the seed about the alternatives to an agent loop of tool calls. */
const NOTES = 'Read the loop and the runner and wrote down how the two of them work together.';

const FILES = {
  ...tool('Read', 'return { read: input.path };', 'idempotent: true\n'),
  ...tool('Bash', 'return { ran: input.command };'),
};

const led = (steps: string, turns: readonly string[], more: Partial<RunOptions> = {}, workflow = '') =>
  runAgent({
    ...more,
    manifest: `import: { tools: [tools/*.yml], workflows: [flow.yml] }\nworkflow: flow\n${more.manifest ?? ''}`,
    files: { ...FILES, 'flow.yml': `kind: Workflow\nname: flow\n${workflow}steps:\n${steps}`, ...more.files },
    turns,
  });

const LOOK = '  - { name: look, type: task, prompt: Look., requires: { area: { type: string } } }\n';

/** A call of `complete_step` with WorkRail's names, in the two dialects that have one. */
const completes: Readonly<Record<'tags' | 'tools', (input: object) => string>> = {
  tags: (input) =>
    `<action type="internal">${JSON.stringify({ name: 'complete_step', parameters: input })}</action>`,
  tools: (input) => call('complete_step', JSON.stringify(input)),
};

describe('structured output: one object for each turn', () => {
  it('runs its tool calls, sets its variables and completes the step, under the names of the seed', async () => {
    const { of, result } = await led(
      LOOK,
      [
        step({
          notesMarkdown: 'Not yet.',
          isComplete: false,
          toolCalls: [
            { tool: 'Read', params: { path: 'a.ts' } },
            { tool: 'Bash', params: { command: 'ls' } },
          ],
          contextUpdates: {},
        }),
        step({ notesMarkdown: NOTES, contextUpdates: { area: 'loop' }, isComplete: true, toolCalls: [] }),
      ],
      { manifest: 'dialect: step\n' },
    );
    expect(of('action.declared').map(({ action }) => [action.name, action.parameters])).toEqual([
      ['Read', { path: 'a.ts' }],
      ['Bash', { command: 'ls' }],
      ['complete_step', expect.anything()],
    ]);
    expect(of('fault')).toEqual([]);
    expect(of('task.claimed')).toMatchObject([{ notes: NOTES, context_updates: { area: 'loop' } }]);
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
  });

  it.each(['tags', 'tools'] as const)('completes a step in the dialect %s', async (dialect) => {
    const { of, prompts } = await led(
      LOOK,
      [
        completes[dialect]({
          notesMarkdown: NOTES,
          notes: `${NOTES} Or not.`,
          contextUpdates: { area: 'x' },
        }),
        completes[dialect]({ notesMarkdown: NOTES, notes: NOTES, contextUpdates: { area: 'x' } }),
      ],
      { manifest: `dialect: ${dialect}\n` },
    );
    expect(prompts[1]).toContain('"notes" is given under two names, with different values');
    expect(of('task.claimed')).toMatchObject([{ notes: NOTES, context_updates: { area: 'x' } }]);
  });

  it.each<[string, object]>([
    ['isComplete', { isComplete: true, is_complete: false, notes: NOTES }],
    ['notesMarkdown', { notes: 'Nothing.', notesMarkdown: NOTES, is_complete: true }],
    [
      'contextUpdates',
      { context_updates: { area: 'a' }, contextUpdates: { area: 'b' }, is_complete: true, notes: NOTES },
    ],
    [
      'toolCalls',
      {
        tool_calls: [{ name: 'Read', input: { path: 'a' } }],
        toolCalls: [{ tool: 'Read', params: { path: 'b' } }],
        is_complete: true,
        notes: NOTES,
      },
    ],
  ])('is not complete where %s has two values', async (_, input) => {
    const { of } = await runAgent({
      manifest:
        'import: { tools: [tools/*.yml] }\ndialect: step\ncontext_variables: { runtime: [{ name: area }] }\n',
      files: FILES,
      turns: [step(input as never), step({ is_complete: true, notes: 'Done.' })],
    });
    expect(of('fault').map(({ code, message }) => [code, message])).toEqual([
      ['bad_action', expect.stringContaining('is given too and differs')],
    ]);
    expect(of('response').filter(({ final }) => final)).toHaveLength(1);
    expect(of('action.started').length).toBeLessThan(2);
  });

  it('does nothing twice where both names say the same', async () => {
    const { of } = await runAgent({
      manifest: 'import: { tools: [tools/*.yml] }\ndialect: step\n',
      files: FILES,
      turns: [
        step({
          tool_calls: [{ name: 'Read', input: { path: 'a' } }],
          toolCalls: [{ name: 'Read', input: { path: 'a' } }],
        }),
        step({ is_complete: true, isComplete: true, notes: 'Done.' }),
      ],
    });
    expect(of('fault')).toEqual([]);
    expect(of('action.started')).toHaveLength(1);
  });

  it.each<[Dialect, string]>([
    ['tags', '<action>{"tool": "Read", "params": {"path": "a.ts"}}</action>'],
    ['tags', '<action>{"action": "Read", "action_input": {"path": "a.ts"}}</action>'],
    ['step', step({ tool_calls: [{ tool: 'Read', params: { path: 'a.ts' } }] })],
    ['step', step({ tool_calls: [{ action: 'Read', action_input: { path: 'a.ts' } }] })],
  ])('names the tool and its parameters in its own way (%s: %s)', async (dialect, turn) => {
    const done =
      dialect === 'tags' ? '<response>Done.</response>' : step({ is_complete: true, notes: 'Done.' });
    const { of } = await runAgent({
      manifest: `import: { tools: [tools/*.yml] }\ndialect: ${dialect}\n`,
      files: FILES,
      turns: [turn, done],
    });
    expect(of('action.completed').map(({ output }) => output)).toEqual([{ read: 'a.ts' }]);
  });

  it('is in doubt about a call with two names', async () => {
    const { of } = await runAgent({
      manifest: 'import: { tools: [tools/*.yml] }\n',
      files: FILES,
      turns: [
        '<action>{"name": "Bash", "tool": "Read", "params": {}}</action>',
        '<action>{"tool": "Read", "params": {"path": "a"}, "parameters": {"path": "b"}}</action>',
        '<response>Done.</response>',
      ],
    });
    expect(
      of('fault')
        .filter(({ code }) => code === 'bad_action')
        .map(({ message }) => message),
    ).toEqual([
      expect.stringContaining('"name" and "tool" are both given and differ'),
      expect.stringContaining('"parameters" and "params" are both given and differ'),
    ]);
    expect(of('action.started')).toEqual([]);
  });
});

describe('reasoning and acting in one object', () => {
  it('is a step of one action', async () => {
    const { of, result } = await led(
      LOOK,
      [
        step({
          thought: 'The step asks me to read a file.',
          action: 'Read',
          action_input: { path: 'src/daemon/agent-loop.ts' },
          is_step_complete: false,
          notes_so_far: 'Nothing yet.',
        }),
        step({
          thought: 'That is all.',
          action: null,
          context_updates: { area: 'loop' },
          is_step_complete: true,
          notes_so_far: NOTES,
        }),
      ],
      { manifest: 'dialect: step\n' },
    );
    expect(of('thought').map(({ text }) => text)).toEqual([
      'The step asks me to read a file.',
      'That is all.',
    ]);
    expect(of('action.completed')[0]?.output).toEqual({ read: 'src/daemon/agent-loop.ts' });
    expect(of('task.claimed')).toMatchObject([{ notes: NOTES }]);
    expect(result).toMatchObject({ status: 'completed', turns: 2 });
  });

  it('runs as text, too, in the other dialects', () => {
    const text = JSON.stringify({
      thought: 'Look.',
      action: 'Read',
      action_input: { path: 'a' },
      is_step_complete: false,
      notes_so_far: '',
    });
    expect(findForeignCalls(text, { names: new Set(['Read']) })).toMatchObject({
      alone: true,
      calls: [{ name: 'Read', parameters: { path: 'a' } }],
    });
    const output = {
      notesMarkdown: '',
      toolCalls: [{ tool: 'Read', params: { path: 'a' } }],
      isComplete: false,
    };
    expect(findForeignCalls(JSON.stringify(output)).calls).toMatchObject([
      { name: 'Read', parameters: { path: 'a' } },
    ]);
  });
});

describe('a verifier', () => {
  it('needs no more than a model and a threshold, under either name', async () => {
    const judged = (verdict: object) =>
      led(
        '  - { name: look, type: task, prompt: Look., verifier: { model: haiku, threshold: high } }\n',
        [completes.tags({ notes: NOTES }), '<response>What now?</response>'],
        {
          manifest: 'models: { haiku: "scripted:judge.yml" }\nlimits: { turns: 2 }\n',
          files: { 'judge.yml': `turns:\n  - ${JSON.stringify(JSON.stringify(verdict))}\n` },
        },
      );
    const passed = await judged({ assessment: 'pass', confidence: 'high', reasoning: 'Seen.' });
    expect(passed.result).toMatchObject({ status: 'completed', turns: 1 });
    const instruction = 'Run npm test again.';
    const again = await judged({ assessment: 'retry', reasoning: 'No.', retry_instruction: instruction });
    expect(again.prompts[1]).toContain(instruction);
  });

  it('is heard with its own name for what to do again, and not with two that differ', () => {
    const said = (verdict: object) => readVerdict(JSON.stringify({ reasoning: 'Seen.', ...verdict }), '');
    expect(said({ assessment: 'retry', retryInstruction: 'Again.' })).toMatchObject({
      value: { assessment: 'retry', instruction: 'Again.' },
    });
    expect(said({ assessment: 'escalate' }).ok).toBe(true);
    expect(said({ assessment: 'pass' })).toMatchObject({ error: expect.stringContaining('confidence') });
    expect(said({ assessment: 'retry', instruction: 'A.', retry_instruction: 'B.' }).ok).toBe(false);
  });
});

const check = (step: object) => checkManifest({ kind: 'Workflow', name: 'flow', steps: [step] });

describe('a step of a workflow', () => {
  it('has its type and its verifier under the names of the seed', () => {
    const step = { name: 's', prompt: 'Do it.', stepType: 'planned', verifier: { model: 'haiku' } };
    expect(check(step)).toMatchObject({
      issues: [],
      manifest: { steps: [{ type: 'plan', verify: { model: 'haiku', threshold: 'medium' } }] },
    });
    expect(check({ name: 's', stepType: 'scripted', command: ['npm', 'test'] })).toMatchObject({
      issues: [],
      manifest: { steps: [{ type: 'script' }] },
    });
    const inner = { name: 'p', type: 'parallel', branches: [step, [{ ...step, name: 'q' }]] };
    expect(check({ name: 'w', type: 'loop', max: 2, while: 'true', body: [inner] }).issues).toEqual([]);
  });

  it.each([
    [{ name: 's', prompt: 'Do it.', type: 'task', stepType: 'planned' }, 'stepType'],
    [
      { name: 's', prompt: 'Do it.', type: 'task', verify: { model: 'a' }, verifier: { model: 'b' } },
      'verifier',
    ],
  ])('with two names that differ is a mistake: %j', (step, key) => {
    expect(check(step).issues).toMatchObject([
      {
        code: 'exclusive',
        path: ['steps', 0, key],
        message: expect.stringContaining('two names of one key'),
      },
    ]);
  });

  it('is in the schema that editors use', () => {
    const { $defs } = manifestJsonSchema('Workflow') as unknown as {
      $defs: { Step: { anyOf: readonly { properties: Record<string, unknown>; required: string[] }[] } };
    };
    const planned = $defs.Step.anyOf.find(({ properties }) => properties.stepType !== undefined);
    expect(planned?.properties).toMatchObject({ verifier: { $ref: '#/$defs/Verifier' } });
    expect(planned?.required).toEqual(['name']);
  });
});

describe('plan, then execute', () => {
  it('takes a plan whose parameters stand beside the action, with an outcome in words, and an end', async () => {
    const plan = {
      plan: [
        { step: 1, action: 'Read', path: 'a.ts', expected_outcome: 'understand loop structure' },
        { step: 2, action: 'Read', path: 'b.ts', expected_outcome: "result.read == 'b.ts'" },
        { step: 3, action: 'complete_step', notes: '…' },
      ],
    };
    let plans: readonly unknown[] = [];
    let asked: readonly string[] = [];
    const run = await led(
      '  - { name: plan, stepType: planned, prompt: Read both files. }\n',
      [JSON.stringify(plan), NOTES],
      {
        async after(session, runtime) {
          const events = await runtime.workflows.events(`${session}~lead`);
          plans = events.filter(({ type }) => type === 'plan.made' || type === 'plan.acted');
        },
      },
    );
    asked = run.prompts;
    expect(plans).toMatchObject([
      {
        plan: [
          { action: 'Read', parameters: { path: 'a.ts' }, expected: 'understand loop structure' },
          { action: 'Read', parameters: { path: 'b.ts' }, expect: "result.read == 'b.ts'" },
        ],
      },
      { held: true, output: { read: 'a.ts' } },
      { held: true, output: { read: 'b.ts' } },
    ]);
    expect(plans[0]).not.toHaveProperty('problem');
    expect(asked.at(-1)).toContain('understand loop structure');
    expect(run.result.status).toBe('completed');
  });

  it.each([
    [
      { action: 'Read', path: 'a', expect: 'result.ok', expected_outcome: 'result.fine' },
      'two names of one key',
    ],
    [{ action: 'Read', path: 'a', depends_on: ['b'] }, 'it has the key "path"'],
  ])('refuses %j', async (action, problem) => {
    const { prompts } = await led('  - { name: plan, type: plan, prompt: Read. }\n', [
      JSON.stringify([action]),
      JSON.stringify([{ action: 'Read', parameters: { path: 'a' } }]),
      NOTES,
    ]);
    expect(prompts[1]).toContain(problem);
  });
});

describe('a loop over a list that nobody has set', () => {
  const LOOP = `  - { name: choose, type: task, prompt: Choose. }
  - name: each
    type: foreach
    in: $slices
    body: [{ name: build, type: task, prompt: "Build \${item}." }]
`;
  const VARIABLES = 'context_variables: { runtime: [{ name: slices, description: parts of the work }] }\n';
  const claim = (slices?: unknown) =>
    completes.tags({ notes: NOTES, ...(slices === undefined ? {} : { context_updates: { slices } }) });

  it('is told to the agent, who sets it', async () => {
    const { prompts, result } = await led(
      LOOP,
      [claim(), claim('a, b'), claim(['a', 'b']), claim(), claim()],
      {},
      VARIABLES,
    );
    expect(prompts[1]).toContain('the list "slices" (parts of the work), but nobody has set it');
    expect(prompts[2]).toContain('The step is not completed.');
    expect(prompts.slice(3).map((prompt) => /Build \w/.exec(prompt)?.[0])).toEqual(['Build a', 'Build b']);
    expect(result.status).toBe('completed');
  });

  it('is told to the agent where it is no list', async () => {
    const { prompts, result } = await led(LOOP, [claim('a, b'), claim([])], {}, VARIABLES);
    expect(prompts[1]).toContain('its value is a string, not a list');
    expect(result.status).toBe('completed');
  });

  it('goes on after a restart where the agent has set it', async () => {
    let then: string | undefined;
    await led(
      LOOP,
      [claim(), claim(['a'])],
      {
        manifest: 'limits: { turns: 2 }\n',
        async after(id, runtime) {
          const { scripted } = await import('../../src/testing/scripted.ts');
          const model = scripted(['', '', claim()]);
          const session = await runtime.resume(id, { model, maxTurns: 5 });
          then = `${(await session.result).status} ${model.prompts.length}`;
        },
      },
      VARIABLES,
    );
    expect(then).toBe('completed 1');
  });

  it('ends the run where no agent may set it', async () => {
    const { result } = await led(
      LOOP,
      [claim()],
      {},
      'context_variables: { runtime: [{ name: slices, writers: [workflow] }] }\n',
    );
    expect(result).toMatchObject({ status: 'failed', error: { code: 'workflow_failed' } });
  });
});
