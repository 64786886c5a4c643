import { describe, expect, it } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { temporaryProject } from './temporary-project.ts';

const FILES = {
  'telltale.yml': '',
  'tool.yml': 'kind: Tool\nname: search\nimplementation: { command: [ls] }\n',
  'relic.yml': 'kind: Relic\nname: prefs\ndriver: sql\nconnection: { url: ./a.db }\n',
  'judge.yml':
    'kind: Artifact\nname: judge\nlanguage: js\nsource: "exports.decide = () => true"\nmethods: { decide: { description: x } }\n',
};
const IMPORTS = `import:
  tools: [./tool.yml, { mcp: { name: github, command: npx } }]
  relics: [./relic.yml]
  artifacts: [./judge.yml]
`;

const found = async (agent: string, files: Readonly<Record<string, string>> = {}) => {
  const cwd = temporaryProject({
    ...FILES,
    ...files,
    'a.yml': `kind: Agent\nname: a\nmodel: ollama/x\n${IMPORTS}${agent}`,
  });
  const { diagnostics } = await loadManifests(['a.yml'], { env: {}, cwd });
  return diagnostics.map(
    ({ severity, code, file, line, hint }) => `${severity} ${code} ${file}:${line} ${hint}`,
  );
};
const derived = (trigger: string) =>
  `context_variables:\n  derived:\n    - { name: v, triggers: [${trigger}] }\n`;

describe('a name that is misspelt where a variable uses it is found, with the nearest right one', () => {
  it.each([
    [
      'a tool',
      derived('{ type: tool_response, tool: serach }'),
      'warning unknown_tool a.yml:10 Did you mean "search"?',
    ],
    [
      'an artifact',
      derived('{ type: function, artifact: jugde, method: decide, fallback: false }'),
      'warning unknown_artifact a.yml:10 Did you mean "judge"?',
    ],
    [
      'a method',
      derived('{ type: function, artifact: judge, method: decied, fallback: false }'),
      'warning unknown_method a.yml:10 Did you mean "decide"?',
    ],
    [
      'a relic',
      'context_variables:\n  defined:\n    - { name: v, store: pefs }\n',
      'error unknown_relic a.yml:10 Did you mean "prefs"?',
    ],
  ])('%s', async (_what, agent, expected) => {
    expect(await found(agent)).toEqual([expected]);
  });

  it('and those that are right are not', async () => {
    expect(await found(derived('{ type: tool_response, tool: search }'))).toEqual([]);
    expect(
      await found(derived('{ type: function, artifact: judge, method: decide, fallback: false }')),
    ).toEqual([]);
    expect(await found('context_variables:\n  defined:\n    - { name: v, store: prefs }\n')).toEqual([]);
    // Of variables of a run, and in data, such a key is not a name of ours.
    expect(
      await found('context_variables:\n  runtime:\n    - { name: v, default: { store: pefs } }\n'),
    ).toEqual([]);
  });
});

describe('the MCP server of a tool', () => {
  const remote = (server: string) => ({
    'tool.yml': `kind: Tool\nname: remote\nimplementation:\n  mcp:\n    server: ${server}\n    tool: x\n`,
  });

  it('is one that the agent imports', async () => {
    expect(await found('', remote('github'))).toEqual([]);
    expect(await found('', remote('gihtub'))).toEqual([
      'error unknown_server tool.yml:5 Did you mean "github"?',
    ]);
  });
});
