import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { RuntimeError } from '../../lib/errors.ts';
import type { WorkflowGraph } from '../../workflows/graph/graph-of.ts';
import { EXIT, type ExitCode, type RegisterCommand } from '../command.ts';
import type { Io } from '../io.ts';
import { startProgress } from '../progress.ts';
import { jsonText } from '../view/json-text.ts';

type GraphFormat = 'mermaid' | 'svg';

interface GraphOptions {
  readonly format?: GraphFormat;
  readonly out?: string;
  readonly json?: true;
}

const EXAMPLES = `
MANIFEST is a workflow, or an agent that imports workflows. Name the WORKFLOW if there are
several. Nothing is run.

Examples:
  $ telltale graph workflows/release.yml
  $ telltale graph agent.yml release -o release.svg
  $ telltale graph workflows/release.yml --json | jq -r '.edges[].label'
`;

export const registerGraph: RegisterCommand = (program, { io, run }) => {
  program
    .command('graph')
    .summary('draw a workflow as Mermaid or SVG')
    .description(
      'Draws a workflow: its states and transitions, or its steps in order, and what happens when one fails.',
    )
    .argument('<manifest>', "the workflow's manifest, or an agent's")
    .argument('[workflow]', 'which workflow, if there are several')
    .addOption(
      new Option('--format <format>', 'the output format (default: mermaid, or from the file name)').choices([
        'mermaid',
        'svg',
      ]),
    )
    .option('-o, --out <file>', 'write it to a file')
    .option('--json', 'print the graph as JSON: nodes, groups, edges')
    .addHelpText('after', EXAMPLES)
    .action(
      run((manifest: string, workflow: string | undefined, options: GraphOptions) =>
        graph(manifest, workflow, options, io),
      ),
    );
};

async function graph(
  path: string,
  name: string | undefined,
  options: GraphOptions,
  io: Io,
): Promise<ExitCode> {
  const stopProgress = startProgress(io, () => 'Reading manifests…');
  let drawn: WorkflowGraph | undefined;
  let text = '';
  const format = options.format ?? (options.out?.toLowerCase().endsWith('.svg') ? 'svg' : 'mermaid');
  try {
    const { chooseWorkflow } = await import('../graph/choose-workflow.ts');
    const workflow = await chooseWorkflow(path, name, io, options);
    if (workflow === undefined) return EXIT.usage;
    const { graphOf } = await import('../../workflows/graph/graph-of.ts');
    drawn = graphOf(workflow);
    if (options.json !== true || options.out !== undefined) text = await formatted(drawn, format);
  } finally {
    await stopProgress();
  }
  if (options.out === undefined) {
    await io.stdout.write(options.json === true ? jsonText(drawn, 2) : text);
    return EXIT.ok;
  }
  const file = resolve(io.cwd, options.out);
  await writeFile(file, text).catch((thrown: unknown) => {
    throw notWritten(options.out ?? file, thrown);
  });
  const json = { workflow: drawn.workflow, format, file };
  await io.stdout.write(
    options.json === true ? jsonText(json, 2) : `${drawn.workflow} was written to ${options.out}.\n`,
  );
  return EXIT.ok;
}

async function formatted(drawn: WorkflowGraph, format: GraphFormat): Promise<string> {
  switch (format) {
    case 'mermaid':
      return (await import('../../workflows/graph/mermaid-of.ts')).mermaidOf(drawn);
    case 'svg':
      return (await import('../../workflows/graph/svg/svg-of.ts')).svgOf(drawn);
  }
}

const notWritten = (file: string, cause: unknown) =>
  new RuntimeError('not_written', `'${file}' could not be written: ${(cause as Error).message}`, {
    hint: 'Name a file in a folder that exists and that you may write to.',
    cause,
  });
