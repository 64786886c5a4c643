import { KNOWN_PROVIDERS } from '../../models/providers/known-providers.ts';
import { type ChosenModel, SCRIPT } from './choose-model.ts';

export interface ProjectChoice extends ChosenModel {
  /** The name of the agent and of the package. */
  readonly name: string;
  /** Manifests only: no TypeScript, no build step. */
  readonly yaml: boolean;
  /** Where package.json gets Telltale from: a version, a tarball or a folder. */
  readonly dependency: string;
  /** JSON Schemas by kind of manifest, for editors. */
  readonly schemas: Readonly<Record<string, string>>;
}

export interface ProjectFile {
  /** Separated by `/` on every system. */
  readonly path: string;
  readonly text: string;
  /** Only the owner may read it. */
  readonly secret?: true;
}

/** The kinds of manifests in a project. */
export const PROJECT_KINDS = ['Agent', 'Tool', 'Workflow'] as const;

const QUESTION = 'How many words are in README.md?';
const SCHEMAS = '.telltale/schemas';
/** The first Node that runs TypeScript directly. */
const NODE_FOR_TYPESCRIPT = '>=22.18';
const NODE = '>=22.15';

/** A project that runs as it is: an agent, a tool, a workflow, a script in place of a model, and a test. */
export function projectFiles(choice: ProjectChoice): readonly ProjectFile[] {
  const { yaml, keyVariable, key, schemas } = choice;
  return [
    { path: 'package.json', text: packageJson(choice) },
    { path: 'agent.yml', text: agentYml(choice) },
    { path: 'tools/count_words.yml', text: toolYml(yaml) },
    ...(yaml ? [] : [{ path: 'tools/count_words.ts', text: TOOL_TS }]),
    { path: 'workflows/reading_log.yml', text: WORKFLOW_YML },
    { path: 'reading-log.md', text: READING_LOG },
    { path: 'transcripts/chat.yml', text: CHAT_YML },
    ...(yaml
      ? [{ path: 'transcripts/test.yml', text: TEST_YML }]
      : [
          { path: 'test/agent.test.ts', text: TEST_TS },
          { path: 'tsconfig.json', text: TSCONFIG },
        ]),
    { path: 'README.md', text: readme(choice) },
    { path: 'AGENTS.md', text: agentsMd(choice) },
    { path: '.env.example', text: envExample() },
    ...(keyVariable === undefined || key === undefined
      ? []
      : [{ path: '.env', text: `${keyVariable}=${key}\n`, secret: true as const }]),
    { path: '.gitignore', text: GITIGNORE },
    ...Object.entries(schemas).map(([kind, text]) => ({ path: `${SCHEMAS}/${kind}.json`, text })),
  ];
}

function packageJson({ name, provider, yaml, dependency }: ProjectChoice): string {
  const ofProvider = PROVIDER_PACKAGES[provider];
  const manifest = {
    name: name.toLowerCase().replace(/_/g, '-').replace(/^-+/, ''),
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: yaml ? NODE : NODE_FOR_TYPESCRIPT },
    scripts: {
      start: `telltale run agent.yml "${QUESTION}"`,
      chat: 'telltale chat agent.yml',
      dev: 'telltale dev',
      test: yaml
        ? `telltale validate && telltale run agent.yml "${QUESTION}" --model scripted:./transcripts/test.yml --store memory --quiet`
        : 'telltale test',
      check: yaml ? 'telltale validate' : 'tsc && telltale validate',
      schemas: `telltale schema --out ${SCHEMAS}`,
    },
    dependencies: {
      ...(ofProvider === undefined ? {} : { [ofProvider[0]]: ofProvider[1] }),
      telltale: dependency,
    },
    ...(yaml ? {} : { devDependencies: { '@types/node': '>=22.18', typescript: '^7.0.2' } }),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** Each provider's package, and the versions that the runtime supports. */
const PROVIDER_PACKAGES: Readonly<Record<string, readonly [name: string, range: string]>> = {
  anthropic: ['@ai-sdk/anthropic', '>=4'],
  openai: ['@ai-sdk/openai', '>=4'],
  google: ['@ai-sdk/google', '>=4'],
  ollama: ['@ai-sdk/openai-compatible', '>=3'],
  'openai-compatible': ['@ai-sdk/openai-compatible', '>=3'],
};

const agentYml = ({
  name,
  model,
}: ProjectChoice): string => `# yaml-language-server: $schema=${SCHEMAS}/Agent.json
kind: Agent
name: ${name}
description: Answers questions about the files in this folder.
${
  model === SCRIPT
    ? `# A script stands in for the model, so no key is needed. For a real one:
#   npm install @ai-sdk/anthropic, ANTHROPIC_API_KEY in .env, and
# model: anthropic/claude-sonnet-4-5
model: ${SCRIPT}`
    : `model: ${JSON.stringify(model)}`
}
instructions: |
  You answer questions about the files in this folder. Read a file before you talk about it.
  Set status and file when you start to read a file. Count words with count_words. Do not guess.
limits: { turns: 20 } # for each message

# What the agent is doing. You see it live, and it triggers workflows.
metadata:
  fields:
    status: { type: enum, values: [IDLE, READING, ANSWERING], default: IDLE, description: What you are doing }
    file: { type: string, description: The file you are reading }

import:
  tools: [builtin:filesystem, ./tools/*.yml]
  workflows: [./workflows/*.yml]
permissions: { paths: { allow: ["."], deny: [.env] } }
`;

const toolYml = (yaml: boolean): string => `# yaml-language-server: $schema=../${SCHEMAS}/Tool.json
kind: Tool
name: count_words
description: Counts the words and lines of a text.
parameters:
  type: object
  required: [text]
  properties:
    text: { type: string }
  additionalProperties: false
idempotent: true # it may run twice, for example after a crash
implementation:
${
  yaml
    ? `  script: | # JavaScript in a sandbox: no files, no network
    const { text } = parameters;
    return { words: text.split(/\\s+/).filter(Boolean).length, lines: text.trimEnd().split('\\n').length };
`
    : '  module: ./count_words.ts\n'
}`;

const TOOL_TS = `/** The model sees what this returns as the action's result, and what it throws as the action's error. */
export function run({ text }: { text: string }) {
  return { words: text.split(/\\s+/).filter(Boolean).length, lines: text.trimEnd().split('\\n').length };
}
`;

const WORKFLOW_YML = `# yaml-language-server: $schema=../${SCHEMAS}/Workflow.json
kind: Workflow
name: reading_log
description: Adds a line to reading-log.md for each file that the agent reads.
trigger: # the agent sets its status and continues; it does not wait for this workflow
  type: metadata_match
  conditions: { status: READING, file: { exists: true } }
  fire: on_change
steps:
  - name: note
    type: tool
    target: filesystem
    parameters:
      operation: edit
      path: reading-log.md
      old_text: "newest first\\n\\n"
      new_text: "newest first\\n\\n- \${agent.metadata.file}\\n"
`;

const READING_LOG = '# Files that the agent read, newest first\n\n';

const FIRST_TURN = `    <metadata>{"status": "READING", "file": "README.md"}</metadata>
    <action id="file">{"name": "filesystem", "parameters": {"operation": "read", "path": "README.md"}}</action>
    <action id="count">{"name": "count_words", "parameters": {"text": "$file.content"}}</action>`;

const CHAT_YML = `# What the script says in place of a model: one turn per message, then again from the top.
# Record a real model: npx telltale run agent.yml "..." --record transcripts/mine.yml
loop: true
tokens_per_second: 200
turns:
  # Two actions and the answer in one request: count waits for file, and the answer waits for count.
  - |
${FIRST_TURN}
    <metadata>{"status": "ANSWERING"}</metadata>
    <response final="true">README.md has $count.words words on $count.lines lines.</response>
  - |
    <response final="true">I am a script, so I cannot read your message. Choose a model in agent.yml and put its key into .env. Then ask again.</response>
`;

const TEST_YML = `# "npm test" plays this in place of a model. The second turn checks what the first one got back.
turns:
  - |
    <action id="file">{"name": "filesystem", "parameters": {"operation": "read", "path": "README.md"}}</action>
    <action id="count">{"name": "count_words", "parameters": {"text": "$file.content"}}</action>
  - expect:
      - contains: '"words":'
      - not_contains: 'status="error"'
    text: <response final="true">The agent read README.md and counted its words.</response>
`;

const TEST_TS = `import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadAgent } from 'telltale';
import { expectEvents, runAgent } from 'telltale/testing';
import { run } from '../tools/count_words.ts';

const project = join(import.meta.dirname, '..');
const copied = ['agent.yml', 'tools', 'workflows', 'transcripts', 'README.md', 'reading-log.md', 'package.json'];

test('count_words counts words and lines', () => {
  assert.deepEqual(run({ text: 'one two\\nthree\\n' }), { words: 3, lines: 2 });
});

test('the agent counts the words of README.md, and the workflow logs the file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-')); // a copy, because the workflow writes a file
  for (const name of copied) await cp(join(project, name), join(folder, name), { recursive: true });
  const agent = await loadAgent(join(folder, 'agent.yml'));
  const { result, events } = await runAgent(agent, {
    input: '${QUESTION}',
    model: '${SCRIPT}', // no key, no network
    after: (_, runtime) => runtime.workflows.idle(),
  });
  const log = await readFile(join(folder, 'reading-log.md'), 'utf8');
  await rm(folder, { recursive: true });

  const { words, lines } = run({ text: await readFile(join(project, 'README.md'), 'utf8') });
  assert.equal(result.result, \`README.md has \${words} words on \${lines} lines.\`);
  expectEvents(events)
    .inOrder('metadata.changed', { type: 'action.completed', id: 'count' }, 'session.completed')
    .never('action.failed');
  assert.match(log, /^- README\\.md$/m);
});
`;

const TSCONFIG = `${JSON.stringify(
  {
    compilerOptions: {
      target: 'es2023',
      module: 'nodenext',
      types: ['node'],
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      erasableSyntaxOnly: true,
      verbatimModuleSyntax: true,
      skipLibCheck: true,
    },
    include: ['tools', 'test'],
  },
  null,
  2,
)}\n`;

function envExample(): string {
  const keys = Object.values(KNOWN_PROVIDERS).flatMap(({ keyVariable, needsKey }) =>
    needsKey && keyVariable !== undefined ? [`${keyVariable}=`] : [],
  );
  return `# Copy this file to .env and fill in the key of your provider. Git ignores .env.\n${keys.join('\n')}\n`;
}

const GITIGNORE = `node_modules/
.env
.telltale/*
!.telltale/schemas/
`;

const readme = ({ name, model, yaml }: ProjectChoice): string => `# ${name}

An agent that runs on [Telltale](node_modules/telltale/README.md). It answers questions about the files in this folder.

\`\`\`sh
npm install
npm start            # run the agent once
npm run chat         # talk to it
npm test             # check it, without a key and without network
npm run dev          # open the console in your browser
\`\`\`
${
  model === SCRIPT
    ? `
A script stands in for the model, so you need no key. To use a real model, change \`model\` in \`agent.yml\`,
install the provider's package and put its key into \`.env\` (copy \`.env.example\`).
`
    : `
The model is \`${model}\`. Its key comes from the environment or from \`.env\` (copy \`.env.example\`).
`
}
| file | what it is |
| --- | --- |
| \`agent.yml\` | the agent: its model, its instructions, and what it may use |
| \`tools/\` | a tool${yaml ? ', with its code' : ': its manifest and its code in TypeScript'} |
| \`workflows/\` | a workflow that runs in the background when the agent declares that it reads a file |
| \`transcripts/\` | scripts that play the model, so you need no key |
${yaml ? '' : '| `test/` | a test of all of them |\n'}| \`AGENTS.md\` | instructions for coding assistants |

\`npx telltale logs last\` shows every event of the last session, and \`npx telltale help all\` lists all commands.
`;

const agentsMd = ({ yaml }: ProjectChoice): string => `# Instructions for coding assistants

This project is an agent that runs on Telltale. The docs of the installed version are in
\`node_modules/telltale/docs/\`: \`README.md\` lists all pages, \`manifests.md\` has every kind and key, \`tools.md\`,
\`workflows.md\` and \`triggers.md\` explain them${yaml ? '' : ', `library.md` has the TypeScript API and testing'}, and \`cli.md\` has every command.
Read the page before you use a key. Do not guess keys: unknown keys are errors.

## Commands

| command | does |
| --- | --- |
| \`npm test\` | ${yaml ? 'validates the manifests and runs the agent on `transcripts/test.yml`' : 'runs `test/**/*.test.ts` with the test runner of Node'}; needs no key and no network |
| \`npm run check\` | ${yaml ? '' : 'checks types with `tsc` and '}validates all manifests; run it after each change |
| \`npm start\` | runs the agent once |
| \`npx telltale run agent.yml "TASK"\` | runs it on a task of your own |
| \`npx telltale logs last\`, \`npx telltale why last SEQ\` | the events of the last session; what caused one of them |
| \`npx telltale prompt last\` | what the model was sent |

## Manifests

- \`agent.yml\`, \`tools/*.yml\` and \`workflows/*.yml\` are YAML 1.2. Each has \`kind\` and \`name\`. \`agent.yml\` imports the other two folders by a glob, so a new file there is used at once.
- \`\${NAME}\` and \`\${NAME:-default}\` read environment variables when a manifest is loaded.
- \`permissions\` limits what the agent may do. Do not allow more than the task needs, and keep \`.env\` denied.
- \`metadata.fields\` is what the agent declares about itself. A workflow's \`trigger\` matches these fields; the agent does not wait for the workflow.

## Tools

${
  yaml
    ? `A tool is one file, \`tools/NAME.yml\`. \`parameters\` is a JSON Schema. \`implementation\` is one of \`script\` (JavaScript in
a sandbox that sees \`parameters\` and returns the result), \`command\`, \`http\` or \`mcp\`.`
    : `A tool is two files. \`tools/NAME.yml\` has its name, its description, \`parameters\` (a JSON Schema) and
\`implementation: { module: ./NAME.ts }\`. \`tools/NAME.ts\` exports the function:

\`\`\`ts
export async function run({ path }: { path: string }, { signal }: { signal: AbortSignal }) {
  return { ok: true }; // JSON: the action's result. What it throws is the action's error.
}
\`\`\`

Node runs these files as they are. Use only TypeScript that can be erased (no \`enum\`, no parameter properties), and
write the ending \`.ts\` in relative imports.`
}

## Tests

${
  yaml
    ? `\`transcripts/test.yml\` is the test. Each entry of \`turns\` is what the model says in that turn, and \`expect\` lists what
the prompt of the turn must contain. The test fails if the prompt does not contain it.`
    : `\`runAgent(agent, { input, model })\` from \`telltale/testing\` runs an agent in memory. \`model\` is
\`scripted([...])\` from the same entry, or \`'scripted:FILE'\` with what the model says turn by turn. \`expectEvents(events)\`
checks the log. Tests never call a provider.`
}

In a transcript the model acts with tags: \`<action id="x">{"name": "TOOL", "parameters": {…}}</action>\`,
\`<metadata>{"FIELD": …}</metadata>\` and \`<response final="true">…</response>\`. \`"$x.key"\` is a value from the result of
action x. An action that uses it waits for x.

## Do not

- Do not write a key anywhere but into \`.env\`, and do not commit \`.env\`.
- Do not edit \`.telltale/\`: it holds the log of every session. \`npm run schemas\` updates the schemas in it.
`;
