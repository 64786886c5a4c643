export interface ProjectChoice {
  /** Of the agent and of the package. */
  readonly name: string;
  /** What it runs on: `scripted:` needs no key. */
  readonly model: string;
  /** The version of this package. */
  readonly version: string;
}

export interface ProjectFile {
  /** With `/`, on every system. */
  readonly path: string;
  readonly text: string;
}

export const TRANSCRIPT = 'scripted:./transcripts/first-run.yml';
const QUESTION = 'How long is README.md?';

/** The package that speaks to a provider, and the versions of it that the runtime takes. */
const PROVIDER_PACKAGES: Readonly<Record<string, readonly [name: string, range: string]>> = {
  anthropic: ['@ai-sdk/anthropic', '>=4'],
  openai: ['@ai-sdk/openai', '>=4'],
  google: ['@ai-sdk/google', '>=4'],
  ollama: ['@ai-sdk/openai-compatible', '>=3'],
  'openai-compatible': ['@ai-sdk/openai-compatible', '>=3'],
};

/** A project that runs as it is: an agent, a tool, a workflow, a transcript in place of a model, and a test. */
export const projectFiles = (choice: ProjectChoice): readonly ProjectFile[] => [
  { path: 'package.json', text: packageJson(choice) },
  { path: 'agent.yml', text: agentYml(choice) },
  { path: 'tools/count_words.yml', text: TOOL_YML },
  { path: 'tools/count-words.js', text: TOOL_JS },
  { path: 'workflows/reading_log.yml', text: WORKFLOW_YML },
  { path: 'reading-log.md', text: READING_LOG },
  { path: 'transcripts/first-run.yml', text: TRANSCRIPT_YML },
  { path: 'test/agent.test.js', text: TEST_JS },
  { path: 'README.md', text: readme(choice) },
  { path: '.gitignore', text: 'node_modules/\n.telltale/\n' },
];

function packageJson({ name, model, version }: ProjectChoice): string {
  const provider = PROVIDER_PACKAGES[model.split('/')[0] ?? ''];
  const manifest = {
    name: name.toLowerCase().replace(/_/g, '-').replace(/^-+/, ''),
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=22.15' },
    scripts: {
      start: `telltale run agent.yml "${QUESTION}"`,
      chat: 'telltale chat agent.yml',
      check: 'telltale validate',
      test: 'node --test',
    },
    dependencies: {
      ...(provider === undefined ? {} : { [provider[0]]: provider[1] }),
      telltale: `^${version}`,
    },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

const agentYml = ({ name, model }: ProjectChoice): string => `kind: Agent
name: ${name}
description: Answers questions about the files of this folder.
${
  model === TRANSCRIPT
    ? `# A transcript in place of a model: no key, and the same answer every time. With a key of your own, for example:
# model: anthropic/claude-sonnet-4-5     (npm install @ai-sdk/anthropic, then set ANTHROPIC_API_KEY)
model: ${TRANSCRIPT}`
    : `model: ${JSON.stringify(model)}`
}
instructions: |
  You answer questions about the files of this folder. Count words with count_words rather than by guessing.
limits: { turns: 10, wall: 5m }

metadata:
  fields:
    status: { type: enum, values: [IDLE, READING], default: IDLE, description: What you are doing }
    file: { type: string, description: The file that it is about }

import:
  tools: [./tools/*.yml, builtin:filesystem]
  workflows: [./workflows/*.yml]
permissions: { paths: [reading-log.md] }
`;

const TOOL_YML = `kind: Tool
name: count_words
description: Counts the lines and words of a text file.
parameters:
  type: object
  required: [path]
  properties:
    path: { type: string, description: "The file, relative to the agent's folder." }
  additionalProperties: false
implementation: { module: ./count-words.js }
idempotent: true
`;

const TOOL_JS = `import { readFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('..', import.meta.url));

/**
 * What it returns is the result of the action; what it throws is the action's error, and the model reads it.
 * @param {{ path: string }} parameters checked against the schema in count_words.yml
 * @param {{ signal: AbortSignal }} context
 */
export async function run({ path }, { signal }) {
  const file = resolve(folder, path);
  if (relative(folder, file).startsWith('..')) throw new Error(\`\${path} is outside of the project.\`);
  const text = await readFile(file, { encoding: 'utf8', signal });
  return { lines: text.split('\\n').length, words: text.split(/\\s+/).filter(Boolean).length };
}
`;

const WORKFLOW_YML = `kind: Workflow
name: reading_log
description: Notes in reading-log.md what the agent reads. It goes off by itself, beside the agent, which does not wait for it.
trigger:
  type: metadata_match
  conditions: { status: READING, file: { exists: true } }
  fire: on_change # for each file
  concurrency: { max: 1, when_busy: queue } # one after the other
steps:
  - name: note
    type: tool
    target: filesystem
    parameters:
      operation: edit
      path: reading-log.md
      old_text: "the newest first\\n\\n"
      new_text: "the newest first\\n\\n- \${agent.metadata.file}, in turn \${agent.iteration_count}\\n"
`;

const READING_LOG = '# What the agent has read, the newest first\n\n';

const TRANSCRIPT_YML = `# What a model would have said. "telltale run agent.yml … --record FILE" writes such a file from a real one.
tokens_per_second: 60
turns:
  - |
    <thought>I am asked how long a file is. count_words starts as soon as I have closed its tag.</thought>
    <metadata>{"status": "READING", "file": "README.md"}</metadata>
    <action id="count">{"name": "count_words", "parameters": {"path": "README.md"}}</action>
    <response final="true">README.md has $count.words words on $count.lines lines.</response>
`;

const TEST_JS = `import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createRuntime, loadAgent } from 'telltale';
import { run } from '../tools/count-words.js';

const project = fileURLToPath(new URL('..', import.meta.url));

/** A copy: the workflow really writes a file. */
async function copied() {
  const folder = await mkdtemp(join(tmpdir(), 'agent-'));
  const needed = ['agent.yml', 'tools', 'workflows', 'transcripts', 'README.md', 'reading-log.md', 'package.json'];
  for (const name of needed) await cp(join(project, name), join(folder, name), { recursive: true });
  return folder;
}

test('the agent counts the words before it answers, and the workflow notes what it read', async () => {
  const folder = await copied();
  const runtime = await createRuntime({ store: 'memory', cwd: folder });
  const session = runtime.start(await loadAgent('agent.yml', { cwd: folder }), {
    input: '${QUESTION}',
    model: '${TRANSCRIPT}',
  });
  const events = await Array.fromAsync(session.events);
  const { status, result } = await session.result;
  await runtime.workflows.idle(); // the agent does not wait for its workflows; this test does
  await runtime.close();
  const log = await readFile(join(folder, 'reading-log.md'), 'utf8');
  await rm(folder, { recursive: true });

  const counted = events.find(({ type }) => type === 'action.completed');
  assert.equal(status, 'completed');
  assert.ok(counted.output.words > 0);
  assert.equal(result, \`README.md has \${counted.output.words} words on \${counted.output.lines} lines.\`);
  assert.match(log, /^- README\\.md, in turn 1$/m);
});

test('count_words stays inside the project', async () => {
  const { signal } = new AbortController();
  await assert.rejects(run({ path: '../secret.txt' }, { signal }), /outside of the project/);
});
`;

const readme = ({ name, model }: ProjectChoice): string => `# ${name}

An agent that runs on Telltale.

\`\`\`
npm install
npm start            # runs the agent once${model === TRANSCRIPT ? '; a transcript stands in for the model, so no key is needed' : ''}
npm test             # the same, checked
npm run chat         # talk to it
npx telltale sessions
npx telltale logs last
npx telltale workflow
\`\`\`

- \`agent.yml\`: the agent: its model, its instructions, what it may call
- \`tools/\`: a tool: its manifest and the module that it runs
- \`workflows/\`: a workflow: it goes off when the agent declares that it reads, and notes that in \`reading-log.md\`
- \`transcripts/\`: what the model says in tests
- \`test/\`: a test of all of them
`;
