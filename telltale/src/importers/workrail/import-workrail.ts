import { dirname, join } from 'node:path';
import type { ImportedFile, Importer, ImportOptions, MadeFile, SourceFile } from '../importer.ts';
import { yamlOf } from '../made.ts';
import { createNames, type Names, nameOf } from '../names.ts';
import { readSource } from '../sources.ts';
import { agentOf, tierAgent } from './agent-of.ts';
import { convertWorkflow } from './convert-workflow.ts';
import { templateIdOf } from './expand-template.ts';
import { readWorkrail, type WorkrailFile } from './read-workrail.ts';
import { stepsOf } from './steps-of.ts';
import { workflowYaml } from './write-yaml.ts';

export const workrail: Importer = {
  pattern: '**/*.json',
  detect: ({ source }) => /"steps"\s*:/.test(source.text),
  import: importWorkrail,
};

async function importWorkrail(
  files: readonly SourceFile[],
  options: ImportOptions,
): Promise<readonly ImportedFile[]> {
  const read = files.map(({ path, file, source }) => {
    const { read: found, diagnostics } = readWorkrail(source);
    return { path, file, found, diagnostics };
  });
  const routines = await knownRoutines(read, options);
  const names = createNames();
  return read.map(({ file, found, diagnostics }) => {
    options.signal.throwIfAborted();
    return {
      file,
      diagnostics,
      ...(found === undefined ? {} : { made: make(found, names, routines, options) }),
    };
  });
}

/** Routines by the ids of their templates: those among the files, and those that lie beside one that calls them. */
async function knownRoutines(
  read: readonly { readonly found: WorkrailFile | undefined; readonly path: string }[],
  options: ImportOptions,
): Promise<ReadonlyMap<string, WorkrailFile['workflow']>> {
  const known = new Map<string, WorkrailFile['workflow']>();
  const add = ({ workflow }: WorkrailFile) => known.set(templateIdOf(workflow.id), workflow);
  for (const { found } of read) if (found !== undefined) add(found);
  for (const { found, path } of read)
    for (const templateId of found === undefined ? [] : calledIn(found)) {
      const name = templateId.split('.').at(-1) ?? templateId;
      for (const folder of ['routines', '.']) {
        if (known.has(templateId) || !/^[\w-]+$/.test(name)) continue;
        const beside = await readSource(join(dirname(path), folder, `${name}.json`), options);
        const routine = 'source' in beside ? readWorkrail(beside.source).read : undefined;
        if (routine !== undefined) add(routine);
      }
    }
  return known;
}

const calledIn = ({ workflow }: WorkrailFile): readonly string[] =>
  [...stepsOf(workflow)].flatMap(({ step }) =>
    step.type === undefined && step.templateCall !== undefined ? [step.templateCall.templateId] : [],
  );

function make(
  found: WorkrailFile,
  names: Names,
  routines: ReadonlyMap<string, WorkrailFile['workflow']>,
  { confirm, agent: wantsAgent, model }: ImportOptions,
): NonNullable<ImportedFile['made']> {
  const name = names.take(nameOf(found.workflow.id));
  const converted = convertWorkflow(found, name, {
    confirm,
    routine: (id) => routines.get(id),
    tierAgent: (tier) => (wantsAgent && model === undefined ? `${name}-${tier}` : undefined),
  });
  const { checks, entries } = converted;
  const paths = { workflow: `${name}.yml`, checks: `${name}-checks.yml`, agent: `${name}-agent.yml` };
  const base = found.file.split('/').at(-1) ?? found.file;
  const agent: MadeFile = {
    path: paths.agent,
    text: yamlOf(agentOf(converted, paths, found.workflow.modelTier, model), [
      `Is led through ${name}: telltale run ${paths.agent} "what is to be done"`,
      'Give it the tools that the procedure needs, and choose its model.',
    ]),
  };
  const files: readonly MadeFile[] = [
    { path: paths.workflow, text: workflowYaml(converted, base) },
    ...(checks === undefined
      ? []
      : [{ path: paths.checks, text: yamlOf(checks, [`Made from ${base} for ${name}.`]) }]),
  ];
  const tiers = [...converted.tiers].map(([tier, named]) => ({
    path: `${named}.yml`,
    text: yamlOf(tierAgent(named, tier), [`Works on the steps of ${name} that ask for this tier.`]),
  }));
  return { kind: 'workflow', name, files: wantsAgent ? [...files, agent, ...tiers] : files, entries };
}
