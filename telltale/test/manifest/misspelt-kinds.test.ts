import { describe, expect, it } from 'vitest';
import { checkManifest } from '../../src/manifest/check-manifest.ts';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { temporaryProject } from './temporary-project.ts';

/** `file:line code`, one for each diagnostic, and what could be loaded. */
async function loaded(files: Readonly<Record<string, string>>) {
  const { diagnostics, projects } = await loadManifests(['a.yml'], {
    env: {},
    cwd: temporaryProject({ 'package.json': '{}', ...files }),
  });
  return {
    said: diagnostics.map(({ file, line, code }) => `${file}:${line} ${code}`),
    ids: projects.flatMap(({ manifests }) => manifests.map(({ id }) => id)),
  };
}

describe('a document whose kind is misspelt', () => {
  it.each(['Agnet', 'agent', 'Agents'])('is checked as what is meant: %s', async (kind) => {
    const { said, ids } = await loaded({
      'a.yml': `kind: ${kind}\nname: a\nmodle: x/y\nlimits: { turns: 0 }\n`,
    });
    expect(said).toEqual(['a.yml:1 not_allowed', 'a.yml:3 unknown_key', 'a.yml:4 not_allowed']);
    expect(ids).toEqual([]);
  });

  it('is checked where the key is misspelt, and the value too', async () => {
    const { said } = await loaded({
      'a.yml': 'knd: Agent\nname: a\nmodle: x/y\n---\nKind: Tol\nname: t\nimplementation: { scrpt: x }\n',
    });
    expect(said).toEqual([
      'a.yml:1 unknown_key',
      'a.yml:3 unknown_key',
      'a.yml:5 unknown_key',
      'a.yml:5 not_allowed',
      'a.yml:7 unknown_key',
    ]);
  });

  it('counts for others as what is meant', async () => {
    const { said } = await loaded({
      'a.yml':
        'kind: Agent\nname: a\nimport: { tools: [./t.yml] }\naction_templates: { f: { type: tool, name: fetch } }\n',
      't.yml': 'kind: Tol\nname: fetch\nimplementation: { script: "1" }\n',
    });
    expect(said).toEqual(['t.yml:1 not_allowed']);
  });

  it('has its imports checked, and the variables of the file beside it', async () => {
    const { said } = await loaded({
      'a.yml':
        'kind: agent\nname: a\nimport: { tools: [./t.yml] }\ncontext_variables: { derived: [{ name: v, expression: "beside > 1" }] }\n',
      't.yml': 'kind: Tool\nname: fetch\nimplementation: { scrpt: "1" }\n',
      'context_variables.json': '{"context_variables":{"runtime_variables":[{"name":"beside"}]}}',
    });
    expect(said).toEqual(['a.yml:1 not_allowed', 't.yml:3 unknown_key']);
  });

  it('that is near to nothing is not guessed at', async () => {
    const { said } = await loaded({ 'a.yml': 'kind: Deployment\nname: a\nmodle: x/y\n' });
    expect(said).toEqual(['a.yml:1 not_allowed']);
  });

  it('is no manifest, however right the rest is', () => {
    const { manifest, issues } = checkManifest({ kind: 'Agnet', name: 'a' });
    expect(manifest).toBeUndefined();
    expect(issues.map(({ code, hint }) => `${code} ${hint}`)).toEqual([
      'not_allowed Did you mean "Agent"? Allowed: Agent, Tool, Relic, Artifact, Workflow.',
    ]);
  });
});
