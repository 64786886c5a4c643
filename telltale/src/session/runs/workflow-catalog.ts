import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { LoadedAgent } from '../loaded-agent.ts';

/** The workflows of an agent by name, in the order of its imports; then those beside it in its own file. */
export function workflowsOf({
  manifest,
  project,
}: Pick<LoadedAgent<unknown>, 'manifest' | 'project'>): ReadonlyMap<string, WorkflowManifest> {
  const found = new Map<string, WorkflowManifest>();
  const own = project.manifests.find(({ kind, name }) => kind === 'Agent' && name === manifest.name);
  if (own === undefined) return found;
  const imported = own.imports.flatMap((entry) =>
    entry.type === 'files' && entry.list === 'workflows' ? entry.manifests : [],
  );
  const byId = new Map(project.manifests.map((each) => [each.id, each]));
  const beside = project.manifests.filter(({ file }) => file === own.file);
  for (const each of [...imported.flatMap((id) => byId.get(id) ?? []), ...beside])
    if (each.manifest.kind === 'Workflow') found.set(each.name, each.manifest);
  return found;
}

/** Whether people and actions may start it: it says so, or nothing else does. */
export function isManual({ trigger, triggers = [] }: WorkflowManifest): boolean {
  const all = trigger === undefined ? triggers : [trigger];
  return all.length === 0 || all.some(({ type }) => type === 'manual');
}
