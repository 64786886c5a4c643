import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';

const examples = fileURLToPath(new URL('../../../examples', import.meta.url));

describe('examples/manifests', () => {
  it('has no mistake, with and without the environment it reads', async () => {
    const envs = [
      {},
      { TELLTALE_MODEL: 'openai/gpt-5', TELLTALE_TURNS: '7', TELLTALE_NOTES: 'no', WORKSPACE: '/src' },
    ];
    for (const env of envs) {
      const { diagnostics, projects } = await loadManifests(['manifests/telltale.yml'], {
        env,
        cwd: examples,
      });
      expect(diagnostics).toEqual([]);
      expect(projects[0]?.manifests.map(({ id }) => id)).toEqual([
        'Agent/coding_agent',
        'Tool/open_issues',
        'Tool/recent_commits',
        'Relic/notes',
        'Agent/reviewer',
        'Workflow/finalize',
        'Workflow/release',
        'Artifact/release_gate',
      ]);
    }
  });
});
