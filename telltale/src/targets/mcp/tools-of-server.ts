import type { LoadedManifest, Project } from '../../manifest/project/project.ts';

/** A server's tools, by its own names, that the Tool manifests of an agent stand for. */
export function toolsOfServer(agent: LoadedManifest, project: Project, server: string): ReadonlySet<string> {
  const imported = new Set(agent.imports.flatMap((entry) => (entry.type === 'files' ? entry.manifests : [])));
  return new Set(
    project.manifests.flatMap(({ id, file, manifest }) => {
      if (manifest.kind !== 'Tool' || !(imported.has(id) || file === agent.file)) return [];
      const { implementation } = manifest;
      return 'mcp' in implementation && implementation.mcp.server === server ? [implementation.mcp.tool] : [];
    }),
  );
}
