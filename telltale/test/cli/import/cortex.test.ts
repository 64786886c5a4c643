import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import { main } from '../../../src/cli/main.ts';
import type { Entry } from '../../../src/importers/report.ts';
import type { Model } from '../../../src/models/model.ts';
import { temporaryProject } from '../../manifest/temporary-project.ts';
import { recordedIo } from '../recorded-io.ts';
import { silentMaps } from './unknown-keys.ts';

const AGENT = `kind: Agent
version: "1.2"
name: gardener
summary: Looks after the beds.
grade: rare
moon_phase: full
persona: { agent: ./prompts/gardener.md }
iteration_cap: 7
cognitive_engine:
  primary: { provider: google, model: gemini-2.5-flash, parameters: { temperature: 0.3, max_tokens: 900, temperature_decay: 2 } }
  fallback: { provider: ollama, model: "llama3.1:8b", parameters: { temperature: 0, top_p: 7 } }
import:
  tools: [./tools/count/tool.yml, fs_read, no_such_tool]
  relics: [../../relics/shed.yml]
  workflows: [../../workflows/water.yml, ../../workflows/weekly.yml]
  metadata: [../../metadata/season.yml]
context_feeds:
  - { id: now, type: on_demand, source: { type: internal, action: system_clock } }
  - { id: moon, type: periodic, interval: 60, source: { type: internal, action: moon_phase } }
environment: { variables: { BED: "\${HOME}/bed" } }
`;

const TOOL = `kind: Tool
version: "1.0"
name: count
summary: Counts plants.
returns: JSON object with a number
implementation:
  type: script
  runtime: bash
  entrypoint: ./scripts/count.sh
  resources: { timeout: 5, memory: 64M }
parameters:
  - { name: bed, type: string, required: true, validation: { max_length: 20 } }
  - { name: rows, type: int, default: 2, color: green }
`;

const RELIC = `kind: Relic
version: "1.0"
name: shed
summary: Keeps the tools.
interface:
  type: rest_api
  base_url: "\${SHED_URL:-http://localhost:8123}"
  endpoints:
    - { name: put_back, method: POST, path: "/tools/{tool}", parameters: { tool: { type: string }, state: { type: string } } }
`;

const WORKFLOW = `kind: Workflow
version: "1.0"
name: water
summary: Waters a bed.
trigger: { type: manual, parameters: { bed: { type: string, required: true } } }
steps:
  - name: look
    type: tool
    target: count
    parameters: { bed: "$(trigger.bed)" }
    retry_policy: { max_attempts: 3, backoff: exponential }
    on_failure: abort
  - name: hope
    type: tool
    target: no_such_tool
    on_failure: continue
  - name: tell
    type: emit
    event: garden.watered
    payload: { plants: "$(steps.look.plants)" }
    condition: "$(steps.look.plants) > 3"
outputs:
  plants: { source: steps.look.plants }
  bed: { source: steps.look.bed }
`;

const WEEKLY = `kind: Workflow
version: "1.0"
name: weekly
trigger: { type: scheduled, schedule: "0 9 * * MON" }
steps:
  - id: ask
    type: human
    prompt: "Prune the roses? [y/n]"
    response_var: roses
  - id: gate
    type: switch
    on: "\${roses}"
    cases:
      - { value: n, steps: [{ id: stop, type: return, value: { pruned: false } }] }
  - { id: read, type: tool, tool: builtin/fs_read, params: { path: notes.md, start_line: 3, color: green } }
  - id: put
    type: relic
    target: shed
    params: { tool: shears, state: used }
  - id: done
    type: return
    value: { pruned: true }
`;

const METADATA = `kind: Metadata
version: "1.0"
name: season
fields:
  season: { type: enum, values: [SPRING, WINTER], default: WINTER }
metadata_hooks:
  - id: thaw
    when: { metadata: { season: SPRING } }
    actions: [{ type: tool, target: count, params: { bed: "\${metadata.season}" } }]
injection: { method: auto, template: "Season: {season}" }
`;

const PROJECT = {
  'package.json': '{}',
  'old/agents/gardener/agent.yml': AGENT,
  'old/agents/gardener/prompts/gardener.md': 'You are a gardener. A bed costs ${price}.\n',
  'old/agents/gardener/tools/count/tool.yml': TOOL,
  'old/agents/gardener/tools/count/scripts/count.sh':
    'echo "{\\"plants\\": 4, \\"given\\": $1, \\"input\\": $(cat)}"\n',
  'old/relics/shed.yml': RELIC,
  'old/workflows/water.yml': WORKFLOW,
  'old/workflows/weekly.yml': WEEKLY,
  'old/metadata/season.yml': METADATA,
  'old/docker-compose.yml': 'services: {}\n',
};

interface ReportFile {
  readonly file: string;
  readonly ok: boolean;
  readonly entries: readonly Entry[];
  readonly diagnostics: readonly { readonly code: string; readonly message: string }[];
}

async function imported(files: Readonly<Record<string, string>>, ...argv: readonly string[]) {
  const cwd = temporaryProject(files);
  const io = recordedIo({ cwd });
  const code = await main(['import', 'cortex', 'old', '--out', 'new', ...argv], io);
  const manifest = (path: string) => parse(readFileSync(join(cwd, 'new', path), 'utf8'));
  return { cwd, code, out: io.out(), err: io.err(), manifest };
}

it('imports agents, tools, relics, workflows and metadata of Cortex', async () => {
  const { cwd, code, manifest } = await imported(PROJECT);
  expect(code).toBe(0);
  const root = `\${CORTEX_ROOT:-${join(cwd, 'old')}}`;
  expect(manifest('agents/gardener/agent.yml')).toEqual({
    kind: 'Agent',
    name: 'gardener',
    version: '1.2',
    description: 'Looks after the beds.',
    model: 'google/gemini-2.5-flash',
    model_options: { temperature: 0.3, max_output_tokens: 900 },
    models: { fallback: { model: 'ollama/llama3.1:8b', temperature: 0 } },
    fallback_models: ['fallback'],
    limits: { turns: 7 },
    instructions: 'You are a gardener. A bed costs $${price}.\n',
    protocol: { actions_in: ['outside', 'thought', 'response'] },
    metadata: {
      fields: { season: { type: 'enum', values: ['SPRING', 'WINTER'], default: 'WINTER' } },
      injection: { method: 'auto', template: 'Season: {values.season}' },
    },
    context_feeds: [{ id: 'now', source: { type: 'internal', action: 'system_clock' } }],
    import: {
      tools: ['./tools/count/tool.yml', 'builtin:filesystem'],
      relics: ['../../relics/shed.yml'],
      workflows: [
        '../../workflows/water.yml',
        '../../workflows/weekly.yml',
        '../../metadata/season/thaw.yml',
      ],
    },
    permissions: { paths: ['.', root], environment: ['BED'] },
  });
  expect(manifest('agents/gardener/tools/count/tool.yml')).toEqual({
    kind: 'Tool',
    name: 'count',
    version: '1.0',
    description: 'Counts plants.\n\nReturns: JSON object with a number',
    parameters: {
      type: 'object',
      required: ['bed'],
      properties: { bed: { type: 'string', maxLength: 20 }, rows: { type: 'integer', default: 2 } },
    },
    implementation: {
      command: ['bash', `${root}/agents/gardener/tools/count/scripts/count.sh`, '{*}'],
      stdin: '{*}',
    },
    timeout: 5,
    output: { schema: {} },
  });
  expect(manifest('relics/shed.yml')).toMatchObject({
    driver: 'http',
    connection: '${SHED_URL:-http://localhost:8123}',
    description: expect.stringContaining(
      '- put_back: {"operation":"post","path":"tools/{tool}","body":{"state":"{state}"}}',
    ),
  });
  expect(manifest('workflows/weekly.yml')).toMatchObject({
    trigger: { type: 'schedule', cron: '0 9 * * MON' },
    steps: [
      { name: 'ask', type: 'approval', prompt: 'Prune the roses? [y/n]', options: ['y', 'n'] },
      {
        type: 'switch',
        cases: [
          {
            if: 'has(steps.ask.output.choice) && steps.ask.output.choice == "n"',
            body: [{ type: 'set_variable', values: { returned: true, result: { pruned: false } } }],
          },
        ],
      },
      { target: 'filesystem', parameters: { operation: 'read', path: 'notes.md', offset: 3 } },
      {
        if: 'returned != true',
        target: 'shed',
        parameters: { operation: 'post', path: 'tools/shears', body: { state: 'used' } },
      },
      { if: 'returned != true', type: 'script', parameters: { value: { pruned: true } } },
    ],
  });
  expect(manifest('metadata/season/thaw.yml')).toMatchObject({
    name: 'season-thaw',
    trigger: { type: 'metadata_match', conditions: { season: 'SPRING' } },
    steps: [{ type: 'tool', target: 'count', parameters: { bed: '${agent.metadata.season ?? null}' } }],
  });
});

it('reports every key of Cortex, those that nothing corresponds to among them', async () => {
  const { code, out } = await imported(PROJECT, '--json');
  expect(code).toBe(0);
  const files = JSON.parse(out).files as readonly ReportFile[];
  const entries = (file: string) => files.find((each) => each.file === `old/${file}`)?.entries ?? [];
  const left = (file: string) =>
    entries(file)
      .filter(({ outcome }) => outcome === 'left')
      .map(({ step, construct, how, line }) => `${line} ${step ?? ''} ${construct}: ${how}`);
  expect(left('agents/gardener/agent.yml')).toEqual([
    '12  import.tools: no_such_tool: not among the imported files',
    '19 moon source: there is no internal "moon_phase": the feed is left out',
    '9  cognitive_engine.primary.parameters.temperature_decay: model_options has no such option',
    '9  cognitive_engine.fallback.parameters.top_p: 7 is out of range',
    '6  moon_phase: nothing here corresponds to it',
  ]);
  expect(left('agents/gardener/tools/count/tool.yml')).toEqual([
    '11  parameters: rows: JSON Schema has no "color"',
    '6  implementation.resources.memory: limits of commands stand in the agent: permissions.limits',
  ]);
  expect(left('workflows/water.yml')).toEqual([
    '15 hope target: no_such_tool: not among the imported files; the step fails when it runs',
  ]);
  expect(left('workflows/weekly.yml')).toEqual(['15 read params: color: filesystem has no such parameter']);
  const silent = Object.entries({
    'agents/gardener/agent.yml': AGENT,
    'workflows/water.yml': WORKFLOW,
  }).flatMap(([file, text]) =>
    Object.keys(parse(text)).filter(
      (key) => key !== 'kind' && !entries(file).some(({ construct }) => construct.split('.')[0] === key),
    ),
  );
  expect(silent).toEqual([]);
});

it('runs an imported agent: an action in a response, a workflow, a script with its parameters', async () => {
  const { cwd } = await imported(PROJECT, '--model', 'openai/gpt-4.1');
  const model: Model = {
    id: 'scripted:gardener',
    async stream({ turn }, sink) {
      sink.text(
        turn === 1
          ? '<response>First I look.\n<action type="tool" name="count" id="c1" mode="sync" timeout="9">{"bed": "roses"}</action>\n' +
              '<action type="workflow" name="water" id="w1" depends_on="c1">{"bed": "lilies"}</action></response>'
          : '<response final="true">Done.</response>',
      );
      return { finish: 'stop', usage: { input: 1, output: 1 } };
    },
  };
  const folder = join(cwd, 'new');
  const runtime = await createRuntime({ store: 'memory', cwd: folder });
  try {
    const session = runtime.start(await loadAgent('agents/gardener/agent.yml', { cwd: folder }), {
      input: 'Look after the beds.',
      model,
    });
    expect(await session.result).toMatchObject({ status: 'completed' });
    const events = await runtime.events(session.id);
    const results = events.flatMap((event) => (event.type === 'action.completed' ? [event.output] : []));
    expect(results).toMatchObject([
      { plants: 4, given: { bed: 'roses', rows: 2 }, input: { bed: 'roses', rows: 2 } },
      { plants: 4, bed: null },
    ]);
  } finally {
    await runtime.close();
  }
});

it('refuses what it cannot import, and never replaces a source', async () => {
  const files = {
    'package.json': '{}',
    'old/built-in/sleep/tool.yml': 'kind: Tool\nname: sleep\nsummary: Waits.\n',
    'old/odd.yml': 'kind: Feed\nname: [\n',
    'old/a/agent.yml': 'kind: Agent\nname: twin\n',
    'old/b/agent.yml': 'kind: Agent\nname: twin\n',
  };
  const { code, out, manifest } = await imported(files, '--json');
  expect(code).toBe(2);
  const report = JSON.parse(out).files as readonly ReportFile[];
  expect(report.map(({ file, diagnostics }) => [file, diagnostics[0]?.code])).toEqual([
    ['old/odd.yml', 'yaml_syntax'],
    ['old/built-in/sleep/tool.yml', 'built_in'],
    ['old/a/agent.yml', undefined],
    ['old/b/agent.yml', undefined],
  ]);
  expect([manifest('a/agent.yml').name, manifest('b/agent.yml').name]).toEqual(['twin', 'twin-2']);
  const inPlace = await imported({ 'old/agent.yml': 'kind: Agent\nname: one\n' }, '--out', 'old', '--force');
  expect(inPlace.code).toBe(2);
  expect(inPlace.out).toContain('The manifest would replace its source. [same_folder]');
});

it('drops no unknown key silently, in whatever map of a file it is', async () => {
  const files = Object.keys(PROJECT).filter((file) => /^old\/.*\/.*\.yml$/.test(file));
  expect(await silentMaps('cortex', PROJECT, files)).toEqual([]);
}, 120_000);

it('reads no file that is neither in the imported folder nor in the current one', async () => {
  const secret = temporaryProject({ 'secret.md': 'The password is mellon.\n' });
  const persona = `persona: { agent: ${join(secret, 'secret.md')} }`;
  const agent = AGENT.replace('persona: { agent: ./prompts/gardener.md }', persona);
  const { out, manifest } = await imported({ ...PROJECT, 'old/agents/gardener/agent.yml': agent });
  expect(out).toContain('secret.md cannot be read');
  expect(manifest('agents/gardener/agent.yml').instructions).not.toContain('mellon');
});
