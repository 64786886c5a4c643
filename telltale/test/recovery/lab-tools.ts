import { agentFolder } from '../agent/run-agent.ts';

/** A tool whose effect is two lines in `journal.txt`: one when it starts, one when it is done. */
export interface LabTool {
  readonly name: string;
  readonly idempotent: boolean;
  readonly kind: 'module' | 'command';
  /** How long it takes. */
  readonly ms: number;
  readonly start?: 'on_turn_end';
  /** What it gives, where that is not its name and the text it was called with. */
  readonly gives?: readonly string[];
  /** Always, or the first time it is called in this folder. */
  readonly fails?: 'always' | 'once';
}

const JOURNAL = 'journal.txt';
export const journalIn = (folder: string): string => `${folder}/${JOURNAL}`;

/** The folder of an agent with these tools, whose model says `turns`. */
export function labFolder(
  tools: readonly LabTool[],
  script: { readonly turns: readonly string[]; readonly tokens_per_second?: number },
  manifest = '',
): string {
  const files: Record<string, string> = { 'script.yml': JSON.stringify(script) };
  for (const tool of tools) {
    files[`tools/${tool.name}.yml`] = toolManifest(tool);
    if (tool.kind === 'module') files[`tools/${tool.name}.mjs`] = toolModule(tool);
  }
  const agent = [
    'kind: Agent',
    'name: lab',
    'model: scripted:script.yml',
    'metadata: { fields: { stage: { values: [NEW, BEGUN, HALF, LATE], default: NEW }, count: { type: number } } }',
    'import: { tools: [./tools/*.yml] }',
    ...(/^protocol:/m.test(manifest) ? [] : ['protocol: { final_with_actions: accept }']),
    manifest,
  ].join('\n');
  return agentFolder('', { ...files, 'agent.yml': agent });
}

const PARAMETERS = '{ type: object, properties: { text: { type: string } } }';

function toolManifest(tool: LabTool): string {
  const implementation =
    tool.kind === 'module' ? { module: `./${tool.name}.mjs` } : { command: ['sh', '-c', shell(tool)] };
  return [
    'kind: Tool',
    `name: ${tool.name}`,
    `idempotent: ${tool.idempotent}`,
    ...(tool.start === undefined ? [] : [`start: ${tool.start}`]),
    `parameters: ${PARAMETERS}`,
    `implementation: ${JSON.stringify(implementation)}`,
    '',
  ].join('\n');
}

const shell = ({ name, ms }: LabTool) =>
  [
    `echo "start ${name} $TELLTALE_IDEMPOTENCY_KEY" >> ${JOURNAL}`,
    `sleep ${ms / 1000}`,
    `echo "done ${name} $TELLTALE_IDEMPOTENCY_KEY" >> ${JOURNAL}`,
    `echo ${name}:`,
  ].join('; ');

const failing = ({ fails }: LabTool) => {
  if (fails === undefined) return '';
  const first = "readFileSync(journal, 'utf8').split(idempotencyKey).length <= 3";
  return `if (${fails === 'always' ? 'true' : first}) throw new Error('no luck');`;
};

const toolModule = (tool: LabTool) => `
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
const journal = join(import.meta.dirname, '..', ${JSON.stringify(JOURNAL)});
export async function run({ text = '' }, { idempotencyKey }) {
  appendFileSync(journal, \`start ${tool.name} \${idempotencyKey}\\n\`);
  await new Promise((resolve) => setTimeout(resolve, ${tool.ms}));
  appendFileSync(journal, \`done ${tool.name} \${idempotencyKey}\\n\`);
  ${failing(tool)}
  return ${tool.gives === undefined ? `\`${tool.name}:\${text}\`` : JSON.stringify(tool.gives)};
}
`;
