import { expect, it } from 'vitest';
import { formatDiagnostic } from '../../src/manifest/format-diagnostic.ts';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { finish, ofType, openExample, path } from '../examples/workflow-example.ts';
import { agentFolder } from '../session/run-agent.ts';

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
