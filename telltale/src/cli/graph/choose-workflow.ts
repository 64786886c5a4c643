import { resolve } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { type EnvValue, envOf, hideEnv } from '../../manifest/environment.ts';
import type { LoadedManifest } from '../../manifest/project/project.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Io } from '../io.ts';
import { usage } from '../options.ts';
import { checkedManifests } from '../validate/print-result.ts';

/**
 * The workflow in a file, or one that the file imports. It runs nothing. If the file is invalid, it prints every
 * mistake as `telltale validate` does and returns undefined.
 */
export async function chooseWorkflow(
  path: string,
  name: string | undefined,
  io: Io,
  options: { readonly json?: true },
): Promise<WorkflowManifest | undefined> {
  const checked = await checkedManifests(path, io, options);
  if (checked === undefined) return undefined;
  const all = checked.projects.flatMap(({ manifests }) => {
    const fromEnv = envOf(manifests);
    return manifests.flatMap((each) => workflowIn(each, fromEnv));
  });
  const own = all
    .filter(({ file }) => resolve(file) === resolve(io.cwd, path))
    .map(({ workflow }) => workflow);
  const known = all.map(({ workflow }) => workflow);
  if (name !== undefined) {
    const found = [...own, ...known].find((each) => each.name === name);
    if (found === undefined) throw workflowUnknown(path, name, names(known));
    return found;
  }
  const candidates = own.length > 0 ? own : known;
  if (candidates.length > 1) throw severalWorkflows(path, names(candidates));
  const [only] = candidates;
  if (only === undefined) throw noWorkflow(path);
  return only;
}

/** For a drawing that others may see: values from the environment appear as the names of their variables. */
const workflowIn = ({ manifest, file }: LoadedManifest, fromEnv: readonly EnvValue[]) =>
  manifest.kind === 'Workflow'
    ? [{ workflow: hideEnv(manifest as unknown as Json, fromEnv) as unknown as WorkflowManifest, file }]
    : [];

const names = (workflows: readonly WorkflowManifest[]): readonly string[] => [
  ...new Set(workflows.map((each) => each.name)),
];

const noWorkflow = (path: string) =>
  new RuntimeError('no_workflow', `${path} contains no Workflow and imports none.`, {
    hint: 'Name a file that contains "kind: Workflow", or an agent that imports one.',
  });

const workflowUnknown = (path: string, asked: string, known: readonly string[]) =>
  known.length === 0
    ? noWorkflow(path)
    : new RuntimeError('no_workflow', `${path} has no workflow named "${asked}".`, {
        hint: suggest(asked, known, 'Workflows'),
      });

const severalWorkflows = (path: string, known: readonly string[]) =>
  usage(`'${path}' knows ${known.length} workflows.`, `Add the name of one: ${known.join(', ')}.`);
