import { expect, it } from 'vitest';
import { formatDiagnostic } from '../../src/manifest/format-diagnostic.ts';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { agentFolder } from '../agent/run-agent.ts';
import { finish, ofType, openExample, path } from '../examples/workflow-example.ts';

/** The constructs of the seed about workflows whose decisions are taken by artifacts. */
const ship = (fallback: string) => `kind: Workflow
name: ship
initial: reflecting
states:
  reflecting:
    steps:
      - name: strategic_reflect
        type: transition
        transition_source:
          invoke: "strategy_artifact"
          method: "decide_next_state"
          fallback: ${fallback}
        transition_map:
          continue: "implementing"
          true: "shipping"
          false: "observing"
          3: "implementing"
  implementing: { final: true }
  observing: { final: true }
  shipping: { final: true }
`;

const project = (fallback: string, body: string, workflow = ship(fallback)) =>
  agentFolder('import: { workflows: [ship.yml], artifacts: [strategy.yml] }\n', {
    'telltale.yml': '# the project\n',
    'ship.yml': workflow,
    'strategy.yml': `kind: Artifact
name: strategy_artifact
language: js
methods: { decide_next_state: {} }
source: |
  export function decide_next_state() { ${body} }
`,
  });

async function shipped(body: string, fallback = '"observing"') {
  const example = await openExample(project(fallback, body), { workflow: 'ship' });
  try {
    const { events } = await finish(example);
    const [asked] = ofType(events, 'invoke');
    return [path(events), asked?.fallback?.reason];
  } finally {
    await example.close();
  }
}

it.each([
  ['return true;', 'shipping'],
  ['return { decision: false };', 'observing'],
  ['return { success: true, data: "continue" };', 'implementing'],
  ['return 3;', 'implementing'],
])('a map leads from what an artifact returns to a state: %s', async (body, state) => {
  expect(await shipped(body)).toEqual([['reflecting', state], undefined]);
});

it('the fallback, a state or an answer of the map, counts where the map lacks what the artifact returns', async () => {
  expect(await shipped('return "pivot";')).toEqual([['reflecting', 'observing'], 'wrong_type']);
  expect(await shipped('return "shipping";', 'true')).toEqual([['reflecting', 'shipping'], 'wrong_type']);
});

it('a state that there is not is an error, as a fallback and behind a boolean', async () => {
  const cwd = project('4', 'return true;', ship('4').replace('true: "shipping"', 'true: "shiping"'));
  const { diagnostics } = await loadManifests(['agent.yml'], { env: {}, cwd });
  const errors = diagnostics
    .filter(({ severity }) => severity === 'error')
    .map((each) => formatDiagnostic(each))
    .join('\n');
  expect(errors.match(/There is no state .*/g)).toEqual([
    'There is no state "4". [unknown_state]',
    'There is no state "shiping". [unknown_state]',
  ]);
  expect(errors).toContain('true: "shiping"\n          ^^^^^^^^^');
});

const DECIDER = (name: string, method: string, body: string) => ({
  [`artifacts/${name}.yml`]: `kind: Artifact
name: ${name}
language: js
methods: { ${method}: {} }
source: |
  export function ${method}(...args) { const context = args.at(-1); ${body} }
`,
});

async function walked(
  workflow: string,
  files: Readonly<Record<string, string>> = {},
  says: readonly string[] = [],
) {
  const folder = agentFolder(
    'import: { workflows: [flow.yml], artifacts: [artifacts/*.yml] }\nbudget: { balance: 75 }\n',
    {
      'telltale.yml': '# the project\n',
      'flow.yml': `kind: Workflow\nname: flow\n${workflow}`,
      'none.yml': `turns: ${JSON.stringify(says)}\n`,
      ...DECIDER('nobody', 'unused', 'return 1;'),
      ...files,
    },
  );
  const example = await openExample(folder, { workflow: 'flow' });
  try {
    return (await finish(example)).events;
  } finally {
    await example.close();
  }
}

/** The transition of the plan: from a state with a step that sets what the static condition reads. */
const REFLECT = (condition: string) => `initial: reflecting
context_variables: { runtime: [{ name: should_continue, default: false }] }
states:
  reflecting:
    steps: [{ name: decide, type: set_variable, values: { should_continue: true } }]
  implementing: { final: true }
  shipping: { final: true }
transitions:
  - from: "reflecting"
    to: "implementing"
    condition: ${condition}
  - from: "reflecting"
    to: "shipping"
`;
const INVOKED = '{ invoke: "my_decision_artifact", method: "should_continue", args: [], fallback: true }';

it.each([
  ['"should_continue"', {}, 'implementing'],
  [INVOKED, DECIDER('my_decision_artifact', 'should_continue', 'return false;'), 'shipping'],
  [
    INVOKED,
    DECIDER('my_decision_artifact', 'should_continue', 'return { success: true, data: false };'),
    'shipping',
  ],
  [INVOKED, DECIDER('my_decision_artifact', 'should_continue', 'throw new Error("no");'), 'implementing'],
  [INVOKED, DECIDER('my_decision_artifact', 'should_continue', 'return { success: false };'), 'implementing'],
  [INVOKED, {}, 'implementing'],
])('a transition goes by a variable, an artifact or its fallback: %s', async (condition, files, state) => {
  expect(path(await walked(REFLECT(condition), files))).toEqual(['reflecting', state]);
});

it('an invocation without a fallback is a mistake, and a missing artifact is none', async () => {
  const cwd = agentFolder('import: { workflows: [flow.yml] }\n', {
    'telltale.yml': '# the project\n',
    'flow.yml': `kind: Workflow\nname: flow\n${REFLECT('{ invoke: later, method: decide }')}`,
  });
  const { diagnostics } = await loadManifests(['agent.yml'], { env: {}, cwd });
  expect(diagnostics.filter(({ severity }) => severity === 'error').map(({ code }) => code)).toEqual([
    'missing',
  ]);
});

const STEPS = `steps:
  - { name: observe, type: llm, prompt: "Look around." }
  - { name: reflect, type: llm, prompt: { invoke: "prompt_generator", method: "generate_observe_prompt", args: [], fallback: "Default prompt." } }
`;
const COMPONENT = (into: string) =>
  `components: [{ name: breaker, prompt: Change your approach., inject_into: ${into} }]\n`;

it.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
  ['[observe, reflect]', {}, ['observe', 'reflect']],
  [
    '[{ step: observe, always: true }, { step: reflect, if: { invoke: "context_analyzer", method: "needs", fallback: true } }]',
    DECIDER('context_analyzer', 'needs', 'return context.step_name !== "reflect";'),
    ['observe'],
  ],
  [
    '{ invoke: "my_injection_decider", method: "get_injection_steps", fallback: ["observe", "reflect"] }',
    DECIDER('my_injection_decider', 'get_injection_steps', 'return ["reflect"];'),
    ['reflect'],
  ],
  [
    '{ invoke: "my_injection_decider", method: "get_injection_steps", fallback: ["observe", "reflect"] }',
    {},
    ['observe', 'reflect'],
  ],
  [
    '[{ step: observe, if: { invoke: genesis_balance_checker, method: check, args: [{ threshold: 50 }], fallback: true } }]',
    {},
    ['observe'],
  ],
])('a component joins the prompts of the steps that %s gives', async (into, files, joined) => {
  const events = await walked(COMPONENT(into) + STEPS, files, ['Seen.', 'Thought.']);
  expect(ofType(events, 'component.injected').map(({ step }) => step)).toEqual(joined);
});

it('a prompt is generated by an artifact that sees the context, and by its fallback without one', async () => {
  const body = 'return `Observe as ${context.agent_id} with ${context.balance} in ${context.step_name}.`;';
  const made = await walked(STEPS, DECIDER('prompt_generator', 'generate_observe_prompt', body), [
    'A.',
    'B.',
  ]);
  const input = (events: Awaited<ReturnType<typeof walked>>) =>
    JSON.stringify(ofType(events, 'step.started').find(({ step }) => step === 'reflect')?.input);
  expect(input(made)).toContain('Observe as tester with 75 in reflect.');
  const [asked] = ofType(made, 'invoke');
  expect(asked).toMatchObject({ artifact: 'prompt_generator', cached: false });
  expect(input(await walked(STEPS, {}, ['A.', 'B.']))).toContain('Default prompt.');
});

it('a prompt may stand in an artifact', async () => {
  const events = await walked(
    'steps: [{ name: observe, type: llm, prompt_artifact_id: my_prompt_artifact }]\n',
    {
      'artifacts/my_prompt_artifact.yml':
        'kind: Artifact\nname: my_prompt_artifact\nlanguage: js\nmethods: { prompt: {} }\nsource: "export const prompt = () => \'Look closely.\';"\n',
    },
    ['Seen.'],
  );
  expect(ofType(events, 'step.completed').map(({ output }) => output)).toEqual(['Seen.']);
});

it('the genesis decisions are there without an import, and a random one is never cached', async () => {
  const steps = ['a', 'b'].map(
    (name) =>
      `  - { name: ${name}, type: notify, message: x, if: { invoke: genesis_random_decider, method: decide, args: [0.5], fallback: true } }\n`,
  );
  const asked = ofType(await walked(`steps:\n${steps.join('')}`), 'invoke');
  expect(asked.map(({ cached, fallback }) => [cached, fallback])).toEqual([
    [false, undefined],
    [false, undefined],
  ]);
});
