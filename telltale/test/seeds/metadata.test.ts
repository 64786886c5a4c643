import { expect, it } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';

/** The constructs of the seed about metadata that the model sets, and workflows that it triggers. */
const AGENT = `kind: Agent
name: coding_agent
version: "1.0"
metadata:
  fields:
    status:
      type: "enum"
      values: ["IDLE", "CODING"]
      default: "IDLE"
import:
  workflows: ["./workflows/*.yml"]
`;

it('a trigger on a value that the enum does not list is an error that says what to add', async () => {
  const { diagnostics } = await loadManifests(['agent.yml'], {
    env: {},
    cwd: temporaryProject({
      'telltale.yml': '# the project\n',
      'agent.yml': AGENT,
      'workflows/alert.yml':
        'kind: Workflow\nname: alert\ntrigger:\n  type: "metadata_match"\n  conditions:\n    status: "ERROR"\nsteps: [{ name: s, type: emit, event: alert }]\n',
    }),
  });
  expect(diagnostics).toMatchObject([
    {
      severity: 'error',
      code: 'never_matches',
      hint: 'Write one of its values, or add "ERROR" to the "values" of the metadata field "status" of the agent "coding_agent".',
    },
  ]);
});
